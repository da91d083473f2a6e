package dbfile

import (
	"errors"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// Busy says whether err is SQLite's word that another connection is in the way.
func Busy(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == codes.SQLITE_BUSY
}
