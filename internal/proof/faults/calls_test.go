//go:build linux

package faults

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/proof/effort"
)

// ending says whether a server ends by itself.
type ending int

const (
	goesOn ending = iota
	ends          // since a flush failed while the log was copied
	mayEnd        // if the flush that fails is one of those
)

// TestFailingCalls: whichever call of the store fails, however often: nothing that was acknowledged
// is lost, errors that last are in the log and turn /healthz to 503, and where going on could lose
// something the server ends.
func TestFailingCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, inject string
		lasts        bool   // so that it has to be noticed
		ends         ending // of the server
	}{
		"flushes of the log fail for ever":        {"dormouse.db-wal", "fsync,fdatasync:error=EIO:when=40+", true, mayEnd},
		"one flush of the log fails":              {"dormouse.db-wal", "fsync,fdatasync:error=EIO:when=40", false, mayEnd},
		"every seventh flush of the log fails":    {"dormouse.db-wal", "fsync,fdatasync:error=EIO:when=40+7", true, mayEnd},
		"a flush of the database fails":           {"dormouse.db", "fsync,fdatasync:error=EIO:when=4", true, ends},
		"writes to the log fail for ever":         {"dormouse.db-wal", "pwrite64:error=EIO:when=400+", true, goesOn},
		"every seventh write to the log fails":    {"dormouse.db-wal", "pwrite64:error=EIO:when=400+7", true, goesOn},
		"the log finds no room":                   {"dormouse.db-wal", "pwrite64:error=ENOSPC:when=400+", true, goesOn},
		"writes to the database fail for ever":    {"dormouse.db", "pwrite64:error=EIO:when=20+", true, goesOn},
		"the database finds no room":              {"dormouse.db", "pwrite64:error=ENOSPC:when=20+", true, goesOn},
		"cutting the database fails":              {"dormouse.db", "ftruncate:error=EIO:when=1+", false, goesOn},
		"reads of the database fail now and then": {"dormouse.db", "pread64:error=EIO:when=60+60", false, goesOn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "one flush of the log fails" {
				effort.Long(t, "a server under strace, until it has noticed the fault")
			}
			dir := prepare(t)
			enough := 150
			switch {
			case c.ends == ends:
				enough = math.MaxInt32 // until it ends
			case c.lasts:
				enough = 0 // until that is noticed
			}
			l := live(t, dir, enough, "-P", filepath.Join(dir, "data", c.file), "-o", filepath.Join(dir, "trace"), "-e", "trace="+strings.SplitN(c.inject, ":", 2)[0],
				"-e", "inject="+c.inject)
			acks := acked(t, dir)
			lost, err := missing(t.Context(), filepath.Join(dir, "data", "dormouse.db"), acks)
			if err != nil || len(lost) > 0 {
				t.Errorf("%d of %d acknowledged are lost, as %v; %v", len(lost), len(acks), lost[:min(3, len(lost))], err)
			}
			said, refused := strings.Contains(l.log, "level=ERROR"), l.exit == exitStore || slices.ContainsFunc(acks, func(line string) bool {
				return strings.HasPrefix(line, "health 503") || line == "health 200 full"
			})
			if c.lasts && (!said || !refused) {
				t.Errorf("errors in the log: %v; /healthz refuses: %v: %s", said, refused, tail(l.log))
			}
			if ended := l.exit == exitStore; c.ends != mayEnd && ended != (c.ends == ends) {
				t.Errorf("the server ended by itself: %v: %s", l.exit == exitStore, tail(l.log))
			}
			t.Logf("%d acknowledged", len(acks))
		})
	}
}

// TestShortWrites: a limit of the size of files makes writes short, and then fails them.
func TestShortWrites(t *testing.T) {
	dir := prepare(t)
	t.Setenv(childLimit, "3000000")
	l := live(t, dir, 0, "-o", filepath.Join(dir, "trace"), "-e", "trace=fsync")
	acks := acked(t, dir)
	lost, err := missing(t.Context(), filepath.Join(dir, "data", "dormouse.db"), acks)
	if err != nil || len(lost) > 0 || len(acks) < 20 || !strings.Contains(l.log, "level=ERROR") {
		t.Errorf("%d of %d acknowledged are lost, as %v; %v: %s", len(lost), len(acks), lost[:min(3, len(lost))], err, tail(l.log))
	}
}
