// Package iocount counts what SQLite does in a process that measures itself: statements, flushes
// and bytes written. It puts itself between SQLite and the system's files, so that a store which is
// counted runs the code that every store runs. Nothing changes in a process that does not call
// [Install].
package iocount

import (
	"errors"
	"sync"
	"sync/atomic"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Counts is what the connections of the process have done.
type Counts struct {
	Statements int64 // begun, those that only read included
	Syncs      int64 // flushes of a file to the disk
	LogBytes   int64 // written to write-ahead logs
	FileBytes  int64 // written to databases and other files
}

var statements, syncs, logBytes, fileBytes atomic.Int64

// Read returns the counts since [Install].
func Read() Counts {
	return Counts{statements.Load(), syncs.Load(), logBytes.Load(), fileBytes.Load()}
}

// Install counts for connections that are opened from now on, as long as the process lasts. A
// second call does nothing.
var Install = sync.OnceValue(install)

var errInstall = errors.New("SQLite does not accept the hooks that count")

func install() error {
	tls := libc.NewTLS()
	defer tls.Close()
	system := sqlite3.Xsqlite3_vfs_find(tls, 0)
	if system == 0 {
		return errInstall
	}
	name, err := libc.CString("counted")
	if err != nil {
		return err
	}
	ours := allocated(tls, *at[sqlite3.Tsqlite3_vfs](system))
	vfs := at[sqlite3.Tsqlite3_vfs](ours)
	systemOpen = vfs.FxOpen
	vfs.FzName, vfs.FpNext, vfs.FxOpen = name, 0, pointer(&open)
	if sqlite3.Xsqlite3_vfs_register(tls, ours, 1) != sqlite3.SQLITE_OK || sqlite3.Xsqlite3_auto_extension(tls, pointer(&connect)) != sqlite3.SQLITE_OK {
		return errInstall
	}
	return nil
}
