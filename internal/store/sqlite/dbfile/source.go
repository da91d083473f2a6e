// Package dbfile opens SQLite files, identifies them while they are open, recovers the log that a
// killed process left behind, and translates the errors of SQLite. It knows no tables.
package dbfile

import (
	"fmt"
	"net/url"
	"time"
)

// Sync says when a commit is on disk.
type Sync int

const (
	SyncFull Sync = iota // before it is answered: survives a power loss
	// SyncOff leaves it to the system: survives only the end of the process. For tests and
	// replay.
	SyncOff
)

// BusyTimeout is how long a statement waits for another process.
const BusyTimeout = 5 * time.Second

// logKept is the size in bytes to which the file of a longer log is truncated after a copy.
const logKept = 16 << 20

// DataSource returns the name of a file for database/sql, with the parameters of the driver.
func DataSource(path string, query url.Values) string {
	u := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	return u.String()
}

// WritePragmas are the pragmas of a connection that writes. It copies the log only on request.
func WritePragmas(sync Sync) []string {
	mode := "synchronous(full)"
	if sync == SyncOff {
		mode = "synchronous(off)"
	}
	return append(ReadPragmas(), "journal_mode(wal)", "wal_autocheckpoint(0)", fmt.Sprintf("journal_size_limit(%d)", logKept), mode)
}

// ReadPragmas are the pragmas of a connection that reads.
func ReadPragmas() []string {
	return []string{fmt.Sprintf("busy_timeout(%d)", BusyTimeout.Milliseconds())}
}
