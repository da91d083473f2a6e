package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// Diagnosis is what an examination of a data directory found, and what to do about it.
type Diagnosis struct {
	State    string           `json:"state"` // [Whole], [Damaged], [Newer] or [Unfinished]
	Findings []sqlite.Finding `json:"findings"`
	Advice   []string         `json:"advice"`
	Threads  int              `json:"threads"` // that were examined
	Records  int              `json:"records"` // of runs that are over
	LogBytes int64            `json:"log_bytes"`
}

// The states of a data directory.
const (
	Whole      = "whole"
	Damaged    = "damaged"
	Newer      = "newer"      // a newer version of the program wrote it, or runs in it
	Unfinished = "unfinished" // nothing was found in the time that was given
)

// Examine looks at the store in a data directory and changes nothing; a server may be at work on
// it. It takes as long as ctx gives it.
func Examine(ctx context.Context, data string, progress func(threads int)) (Diagnosis, error) {
	if _, err := os.Stat(data); err != nil {
		return Diagnosis{}, err
	}
	r, err := sqlite.Examine(ctx, filepath.Join(data, databaseFile), progress)
	if errors.Is(err, fs.ErrNotExist) {
		return Diagnosis{}, fmt.Errorf("there is no store in %s: %w", data, fs.ErrNotExist)
	}
	if err != nil {
		return Diagnosis{}, fmt.Errorf("%w. If the disk is full, or the directory cannot be written to, copy all of it elsewhere and examine the copy", err)
	}
	if r.Empty && !r.Damaged() {
		return Diagnosis{}, fmt.Errorf("%s in %s is empty: %w", databaseFile, data, fs.ErrNotExist)
	}
	d := Diagnosis{State: Whole, Findings: r.Findings, Advice: []string{}, Threads: r.Threads, Records: r.Records, LogBytes: r.LogBytes}
	if d.Findings == nil {
		d.Findings = []sqlite.Finding{}
	}
	switch {
	case r.Newer():
		d.State = Newer
	case r.Damaged():
		d.State = Damaged
	case slices.ContainsFunc(r.Findings, func(f sqlite.Finding) bool { return f.Code == sqlite.FindNewerHead }):
		d.State = Newer
	case len(r.Findings) > 0:
		d.State = Unfinished
	}
	for _, a := range advices {
		if slices.ContainsFunc(r.Findings, func(f sqlite.Finding) bool { return slices.Contains(a.about, f.Code) }) {
			d.Advice = append(d.Advice, a.text)
		}
	}
	return d, nil
}

// advices are what to do about findings, in the order in which it is done.
var advices = []struct {
	about []sqlite.FindingCode
	text  string
}{
	{[]sqlite.FindingCode{sqlite.FindMalformed, sqlite.FindLog, sqlite.FindHead, sqlite.FindJournal, sqlite.FindRecord},
		"Stop the server, and copy the whole directory elsewhere before you try anything: what is damaged can get worse."},
	{[]sqlite.FindingCode{sqlite.FindMalformed, sqlite.FindLog, sqlite.FindHead, sqlite.FindJournal, sqlite.FindRecord},
		"Look at the disk and at the system's log; a damaged store is most often a failing disk, or a copy that was made while the server ran."},
	{[]sqlite.FindingCode{sqlite.FindMalformed},
		"If you have a backup, put its dormouse.db and link.keys into an empty directory, and start on that. Without one, `sqlite3 dormouse.db .recover | sqlite3 new/dormouse.db` saves what can be read, in a new directory; examine that, and copy link.keys beside it."},
	{[]sqlite.FindingCode{sqlite.FindLog},
		"If a copy of dormouse.db-wal is to be had, put it back. If not, a server with --serve-damaged goes on with what was committed before the damage: what was committed behind it is lost. A backup may have it."},
	{[]sqlite.FindingCode{sqlite.FindForeign},
		"Name the server's data directory with --data; in this one dormouse.db is another program's."},
	{[]sqlite.FindingCode{sqlite.FindHead, sqlite.FindJournal, sqlite.FindRecord},
		"Only the runs that are named are affected. A server with --serve-damaged serves the others, if the start can read what it needs itself; /healthz stays at 503. A backup brings the named ones back as they were."},
	{[]sqlite.FindingCode{sqlite.FindMissing, sqlite.FindOlder},
		"Bring the database back from where it was moved. If a backup was put here on purpose, remove dormouse.db.mark and start: what was stored after the backup is lost."},
	{[]sqlite.FindingCode{sqlite.FindNewer},
		"Use the newer version of the program: this one does not change what it does not know."},
	{[]sqlite.FindingCode{sqlite.FindNewerHead},
		"Start the newer version of the program again to continue the runs that are named. This version serves the others; decisions on the named runs are stored, and take effect once the newer version runs."},
	{[]sqlite.FindingCode{sqlite.FindUnfinished},
		"Give it more time with --for."},
}
