// Package dbfile opens the files of SQLite, and looks after the log that a killed process left
// behind. It knows no table.
package dbfile

import (
	"fmt"
	"net/url"
	"time"
)

// Sync says when a commit is on the disk.
type Sync int

const (
	SyncFull Sync = iota // before it is answered: survives the loss of power
	// when the system likes: survives the end of the process only. For tests and replay
	SyncOff
)

// BusyTimeout is how long a statement waits for another process.
const BusyTimeout = 5 * time.Second

// logKept is how many bytes are left of the file of a longer log once it is copied.
const logKept = 16 << 20

// DataSource names a file for database/sql, with the parameters of the driver.
func DataSource(path string, query url.Values) string {
	u := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	return u.String()
}

// WritePragmas are those of a connection that writes. It copies the log only when it is asked to.
func WritePragmas(sync Sync) []string {
	mode := "synchronous(full)"
	if sync == SyncOff {
		mode = "synchronous(off)"
	}
	return append(ReadPragmas(), "journal_mode(wal)", "wal_autocheckpoint(0)", fmt.Sprintf("journal_size_limit(%d)", logKept), mode)
}

// ReadPragmas are those of a connection that reads.
func ReadPragmas() []string {
	return []string{fmt.Sprintf("busy_timeout(%d)", BusyTimeout.Milliseconds())}
}
