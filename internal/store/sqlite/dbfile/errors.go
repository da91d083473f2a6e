package dbfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Busy reports whether err says that another connection holds a lock.
func Busy(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == codes.SQLITE_BUSY
}

// Unavailable translates an error of SQLite or of the context.
func Unavailable(err error) error {
	if errors.Is(err, engine.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", Reason(err), err)
}

// Reason is the error of the protocol for an error of SQLite.
func Reason(err error) error {
	e, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return engine.ErrUnavailable
	}
	switch {
	case e.Code() == codes.SQLITE_READONLY_DBMOVED:
		return engine.ErrGone
	case e.Code() == codes.SQLITE_IOERR_CORRUPTFS:
		return engine.ErrDamaged
	}
	switch e.Code() & 0xff {
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return engine.ErrDamaged
	case codes.SQLITE_IOERR, codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY:
		return engine.ErrDisk
	}
	return engine.ErrUnavailable
}

// DiskFull reports whether err is that of a full disk; dir is the directory of the file. SQLite has
// one code for it, but returns several others if the files cannot grow while they are opened; then
// a small write shows whether the disk is full.
func DiskFull(err error, dir string) bool {
	if noSpace(err) {
		return true
	}
	e, ok := errors.AsType[*driver.Error](err)
	switch {
	case !ok:
		return false
	case e.Code() == codes.SQLITE_FULL:
		return true
	case e.Code()&0xff == codes.SQLITE_IOERR, e.Code()&0xff == codes.SQLITE_CANTOPEN:
		return filled(dir)
	}
	return false
}

// filled reports whether a small file cannot be written because the disk is full.
func filled(dir string) bool {
	f, err := os.CreateTemp(dir, ".room-*")
	if err == nil {
		defer os.Remove(f.Name())
		// the most by which the index of the log grows
		_, err = f.Write(make([]byte, 64<<10))
		err = errors.Join(err, f.Close())
	}
	return noSpace(err)
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// FlushFailed reports whether the flush of any file failed while the log was copied.
func FlushFailed(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && (e.Code() == codes.SQLITE_IOERR_FSYNC || e.Code() == codes.SQLITE_IOERR_DIR_FSYNC)
}

// Fatal reports whether err may have ended the entire transaction, so that no result of it can be
// trusted.
func Fatal(err error) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case codes.SQLITE_ERROR, codes.SQLITE_CONSTRAINT, codes.SQLITE_MISMATCH, codes.SQLITE_TOOBIG:
		return false
	}
	return true
}
