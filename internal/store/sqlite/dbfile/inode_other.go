//go:build !linux

package dbfile

import "os"

// inode identifies the file at a path.
type inode struct{ info os.FileInfo }

func inodeAt(path string) (inode, error) {
	info, err := os.Stat(path)
	return inode{info}, err
}

func (n inode) same(as inode) bool { return os.SameFile(n.info, as.info) }
