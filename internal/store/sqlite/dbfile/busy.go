package dbfile

import (
	"errors"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// Busy reports whether err says that another connection holds a lock.
func Busy(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == codes.SQLITE_BUSY
}
