package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/store/sqlite/examine"
)

// Diagnosis is what an examination of a data directory found, and what to do about it.
type Diagnosis struct {
	State    string            `json:"state"` // [Whole], [Damaged], [Newer] or [Unfinished]
	Findings []examine.Finding `json:"findings"`
	Advice   []string          `json:"advice"`
	Threads  int               `json:"threads"` // that were examined
	Records  int               `json:"records"` // of runs that are over
	LogBytes int64             `json:"log_bytes"`
}

// The states of a data directory.
const (
	Whole      = "whole"
	Damaged    = "damaged"
	Newer      = "newer"      // a newer version of the program wrote it, or runs in it
	Unfinished = "unfinished" // nothing was found in the time that was given
)

// Examine checks the store in a data directory and changes nothing. A server may use the store at
// the same time. Examine runs until it is finished or ctx ends.
func Examine(ctx context.Context, data string, progress func(threads int)) (Diagnosis, error) {
	if _, err := os.Stat(data); err != nil {
		return Diagnosis{}, err
	}
	r, err := examine.File(ctx, filepath.Join(data, databaseFile), progress)
	if errors.Is(err, fs.ErrNotExist) {
		return Diagnosis{}, fmt.Errorf("there is no store in %s: %w", data, fs.ErrNotExist)
	}
	if err != nil {
		return Diagnosis{}, fmt.Errorf("%w. If the disk is full or the directory is read-only, copy the whole directory elsewhere and examine the copy", err)
	}
	if r.Empty && !r.Damaged() {
		return Diagnosis{}, fmt.Errorf("%s in %s is empty: %w", databaseFile, data, fs.ErrNotExist)
	}
	d := Diagnosis{State: Whole, Findings: r.Findings, Advice: []string{}, Threads: r.Threads, Records: r.Records, LogBytes: r.LogBytes}
	if d.Findings == nil {
		d.Findings = []examine.Finding{}
	}
	switch {
	case r.Newer():
		d.State = Newer
	case r.Damaged():
		d.State = Damaged
	case slices.ContainsFunc(r.Findings, func(f examine.Finding) bool { return f.Code == examine.FindNewerHead }):
		d.State = Newer
	case len(r.Findings) > 0:
		d.State = Unfinished
	}
	for _, a := range advices {
		if slices.ContainsFunc(r.Findings, func(f examine.Finding) bool { return slices.Contains(a.about, f.Code) }) {
			d.Advice = append(d.Advice, a.text)
		}
	}
	return d, nil
}

// advices lists what to do about findings, in the order of the steps.
var advices = []struct {
	about []examine.FindingCode
	text  string
}{
	{[]examine.FindingCode{examine.FindMalformed, examine.FindLog, examine.FindHead, examine.FindJournal, examine.FindRecord},
		"Stop the server, and copy the whole directory elsewhere before you try anything: the damage can get worse."},
	{[]examine.FindingCode{examine.FindMalformed, examine.FindLog, examine.FindHead, examine.FindJournal, examine.FindRecord},
		"Check the disk and the system log; the usual causes are a failing disk and a copy that was made while the server ran."},
	{[]examine.FindingCode{examine.FindMalformed},
		"If you have a backup, put its dormouse.db and link.keys into an empty directory, and start the server there. Without a backup, run `sqlite3 dormouse.db .recover | sqlite3 new/dormouse.db` to save the readable data in a new directory; examine the result, and copy link.keys next to it."},
	{[]examine.FindingCode{examine.FindLog},
		"If you have a copy of dormouse.db-wal, put it back. Without one, a server with --serve-damaged continues with what was committed before the damage; later commits are lost, unless a backup has them."},
	{[]examine.FindingCode{examine.FindForeign},
		"Set --data to the server's data directory; dormouse.db in this one belongs to another program."},
	{[]examine.FindingCode{examine.FindHead, examine.FindJournal, examine.FindRecord},
		"Only the named runs are affected. A server with --serve-damaged serves the others, if it can read the data that it needs to start; /healthz keeps returning 503. To restore the named runs, use a backup."},
	{[]examine.FindingCode{examine.FindMissing, examine.FindOlder},
		"Move the database back to this directory. If you restored a backup here on purpose, remove dormouse.db.mark and start the server; data stored after the backup is lost."},
	{[]examine.FindingCode{examine.FindNewer},
		"Use the newer version of the program: this version does not change a store that it cannot fully read."},
	{[]examine.FindingCode{examine.FindNewerHead},
		"Start the newer version of the program again to continue the named runs. This version serves the others; decisions on the named runs are stored, and take effect once the newer version runs."},
	{[]examine.FindingCode{examine.FindUnfinished},
		"Give it more time with --for."},
}
