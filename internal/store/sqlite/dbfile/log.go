package dbfile

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// The write-ahead log in SQLite's file format: a header, and a frame for each page, with a running
// checksum. Numbers are big-endian.
const (
	logHead   = 32
	frameHead = 24
	logMagic  = 0x377f0682 // the last bit says in which order checksums read words
)

// BrokenLog reports whether the log contains commits after an unreadable frame. SQLite uses what
// comes before that frame and silently forgets the rest. A power loss leaves at most one commit
// after such a frame, because each commit was flushed before the next was written. If a process
// adds to the log meanwhile, the log is checked twice.
func BrokenLog(ctx context.Context, path string) (broken bool, err error) {
	for range 2 {
		f, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		commits, err := commitsBehind(ctx, bufio.NewReaderSize(f, 1<<20))
		f.Close()
		if err != nil || commits < 2 {
			return false, err
		}
	}
	return true, nil
}

// commitsBehind counts consecutive commits in or after an unreadable frame; two are enough. Frames
// of an earlier log have other salts. A commit that was refused because its flush failed is
// overwritten by the next one, which may be shorter: its remainder is one commit, and nothing
// follows it.
func commitsBehind(ctx context.Context, r io.Reader) (commits int, err error) {
	head := make([]byte, logHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, whole(err)
	}
	magic, size := binary.BigEndian.Uint32(head), int(binary.BigEndian.Uint32(head[8:]))
	s := sums{order: binary.LittleEndian}
	if magic&1 == 1 {
		s.order = binary.BigEndian
	}
	if s.add(head[:24]); magic&^1 != logMagic || size < 512 || size > 64<<10 || !s.are(head[24:]) {
		return 0, nil // no valid header: the log is not used
	}
	salts := string(head[16:24])
	frame := make([]byte, frameHead+size)
	for broken := false; commits < 2; {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if _, err := io.ReadFull(r, frame); err != nil {
			return commits, whole(err)
		}
		ours, commit := string(frame[8:16]) == salts, binary.BigEndian.Uint32(frame[4:]) != 0
		s.add(frame[:8])
		s.add(frame[frameHead:])
		if !ours || !s.are(frame[16:24]) { // the next frame continues from its checksum
			broken, commits = true, 0
			s.s0, s.s1 = binary.BigEndian.Uint32(frame[16:]), binary.BigEndian.Uint32(frame[20:])
		}
		if broken && ours && commit {
			commits++
		}
	}
	return commits, nil
}

// whole treats the end of a file as success.
func whole(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// sums is the running checksum of a log.
type sums struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (s *sums) add(text []byte) {
	for ; len(text) >= 8; text = text[8:] {
		s.s0 += s.order.Uint32(text) + s.s1
		s.s1 += s.order.Uint32(text[4:]) + s.s0
	}
}

func (s *sums) are(text []byte) bool {
	return binary.BigEndian.Uint32(text) == s.s0 && binary.BigEndian.Uint32(text[4:]) == s.s1
}
