package local

import (
	"io/fs"
	"maps"
	"os"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// contents are the digests of agent files and of what they name, by path.
type contents map[string]string

func contentsOf(files []agentfile.File) contents {
	all := contents{}
	for _, f := range files {
		maps.Copy(all, f.From)
	}
	return all
}

// agentFiles are the files of a directory of agents and those that they name. They are read again
// only if something about them changed.
type agentFiles struct {
	dir   string
	clock engine.Clock

	stats map[string]fs.FileInfo // just before they were read; nil for what was not there
	at    time.Time              // when they were read
}

// coarse bounds the resolution of file times: two writes within it may have the same time. A file
// written so shortly before it was read may have been written again since.
const coarse = 2 * time.Second

// touched says whether the files may have changed since they were read.
func (a *agentFiles) touched() bool {
	paths, err := agentfile.Paths(a.dir)
	if err != nil || a.stats == nil {
		return true
	}
	for _, path := range paths {
		if _, known := a.stats[path]; !known {
			return true
		}
	}
	for path, before := range a.stats {
		now := stat(path)
		switch {
		case now == nil && before == nil:
		case now == nil || before == nil || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime()) || !os.SameFile(now, before):
			return true
		case now.ModTime().After(a.at.Add(-coarse)):
			return true
		}
	}
	return false
}

// read reads all of them.
func (a *agentFiles) read() ([]agentfile.File, error) {
	before := a.stats
	a.stats = nil
	paths, err := agentfile.Paths(a.dir)
	if err != nil {
		return nil, err
	}
	at, stats := a.clock.Now(), map[string]fs.FileInfo{}
	for _, path := range paths {
		stats[path] = stat(path)
	}
	for path := range before {
		stats[path] = stat(path)
	}
	files, err := agentfile.ReadFiles(a.dir)
	if err != nil {
		return nil, err
	}
	read := contentsOf(files)
	for path := range read {
		if _, known := stats[path]; !known { // an agent names it since it was changed
			stats[path] = nil
		}
	}
	maps.DeleteFunc(stats, func(path string, _ fs.FileInfo) bool { _, still := read[path]; return !still })
	a.stats, a.at = stats, at
	return files, nil
}

// stat is nil for what is not there, or cannot be looked at.
func stat(path string) fs.FileInfo {
	found, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return found
}
