//go:build unix

package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// lock is this process's share of a data directory. The process holds it until it ends, including
// by a crash.
type lock struct {
	f     *os.File
	alone bool // no other process held a share when this one was taken
}

// lockData takes a share. If no other process holds one, it runs before while that is certain, so
// that before can clean up after a crashed process. Otherwise the mark must equal that of the other
// processes, or the error is [errMarked].
//
//	A: exclusive ── before ── share ─────────────── works
//	B:      refused ── waits for a share ── works
//
// Turning the exclusive lock into a share may release it for a moment; B may then be alone as well,
// while A holds nothing yet.
func lockData(dir, mark string, before func() error) (*lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the data directory: %w", err)
	}
	l := &lock{f: f}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		l.alone = true
		if err := errors.Join(before(), l.mark(mark)); err != nil {
			l.release()
			return nil, err
		}
	case !errors.Is(err, syscall.EWOULDBLOCK):
		l.release()
		return nil, fmt.Errorf("locking the data directory: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		l.release()
		return nil, fmt.Errorf("sharing the data directory: %w", err)
	}
	if there, err := l.read(); err != nil || there != mark { // of B, too, if both were alone
		l.release()
		return nil, errors.Join(errMarked, err)
	}
	return l, nil
}

// mark writes the mark over the one that is there. It does not truncate the file first: on a full
// disk the new mark replaces the old one, or the old one stays.
func (l *lock) mark(mark string) error {
	if there, err := l.read(); err != nil || there == mark {
		return err
	}
	if _, err := l.f.WriteAt([]byte(mark), 0); err != nil {
		return err
	}
	return l.f.Truncate(int64(len(mark)))
}

func (l *lock) read() (mark string, err error) {
	text, err := io.ReadAll(io.NewSectionReader(l.f, 0, 1<<10))
	return string(text), err
}

func (l *lock) release() { l.f.Close() }
