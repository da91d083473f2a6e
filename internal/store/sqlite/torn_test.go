package sqlite_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
)

const (
	tornCopies = 240
	copied     = 60 // runs that are in the main file
	logged     = 20 // runs that are in the log alone
)

// killedStore is a store as a kill leaves it, file by file: sixty runs in the main file, twenty in
// the log.
func killedStore(t *testing.T) map[string][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	o := options(t, enginetest.AtMilli(1000))
	o.Sync = dbfile.SyncFull
	write := func(db *sqlite.DB, from, to int) {
		for i := from; i < to; i++ {
			h := start(t, db, newHead(threadNumber(i)))
			h = claim(t, db, h.Thread, "c", 2000)
			for seq := range int64(3) {
				h.Rev, h.CID, h.Seq = h.Rev+1, core.NewStamp(h.Epoch, int(seq)+1), seq+1
				prev := h.Seg
				h.Seg = h.CID
				w, err := db.Commit(t.Context(), engine.CommitRequest{Next: h, Segment: &core.Segment{Seq: h.Seq, W: h.CID, Prev: prev,
					Messages: []core.Message{{Role: core.RoleUser, Parts: []core.Part{{Type: core.TextPart, Text: strings.Repeat(fmt.Sprint(i), 900)}}}}}})
				if err != nil {
					t.Fatal(err)
				}
				h = w.Head
			}
		}
	}
	db := open(t, path, o)
	write(db, 0, copied)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, path, o)
	write(db, copied, copied+logged)
	files := map[string][]byte{}
	for _, ending := range []string{"", "-wal", "-shm", ".mark"} {
		text, err := os.ReadFile(path + ending)
		if err != nil {
			t.Fatal(err)
		}
		files[ending] = text
	}
	return files
}

func threadNumber(i int) string { return fmt.Sprintf("thr_%02d", i) }

const noLog = "the log is gone"

// harms are the ways to damage a copy. Changed letters within a text are not among them: SQLite
// keeps no sums of what it stores.
var harms = []struct {
	name string
	do   func(r *rand.Rand, files map[string][]byte) (what string)
}{
	{"the database is cut", func(r *rand.Rand, f map[string][]byte) string {
		n := 1 + r.IntN(len(f[""])-1)
		f[""] = f[""][:n]
		return fmt.Sprint("to ", n)
	}},
	{"the database is cut at a page, and there is no log", func(r *rand.Rand, f map[string][]byte) string {
		n := 4096 * (1 + r.IntN(len(f[""])/4096-1))
		f[""] = f[""][:n]
		delete(f, "-wal")
		delete(f, "-shm")
		return fmt.Sprint("to ", n)
	}},
	{"a page is zero", func(r *rand.Rand, f map[string][]byte) string {
		at := 4096 * r.IntN(len(f[""])/4096)
		clear(f[""][at : at+4096])
		return fmt.Sprint("at ", at)
	}},
	{"a page is another one's", func(r *rand.Rand, f map[string][]byte) string {
		at, from := 4096*r.IntN(len(f[""])/4096), 4096*r.IntN(len(f[""])/4096)
		copy(f[""][at:at+4096], f[""][from:from+4096])
		return fmt.Sprint("at ", at, " from ", from)
	}},
	{"a page is noise", func(r *rand.Rand, f map[string][]byte) string {
		at := 4096 * r.IntN(len(f[""])/4096)
		for i := range 4096 {
			f[""][at+i] = byte(r.Uint32())
		}
		return fmt.Sprint("at ", at)
	}},
	{"the head of a page has a wrong bit", func(r *rand.Rand, f map[string][]byte) string {
		at := 4096*r.IntN(len(f[""])/4096) + r.IntN(8)
		f[""][at] ^= 1 << r.IntN(8)
		return fmt.Sprint("at ", at)
	}},
	{"the log is cut", func(r *rand.Rand, f map[string][]byte) string {
		n := r.IntN(len(f["-wal"]))
		f["-wal"] = f["-wal"][:n]
		return fmt.Sprint("to ", n)
	}},
	{"the log has a wrong bit", func(r *rand.Rand, f map[string][]byte) string {
		at := r.IntN(len(f["-wal"]))
		f["-wal"][at] ^= 1 << r.IntN(8)
		return fmt.Sprint("at ", at)
	}},
	{noLog, func(_ *rand.Rand, f map[string][]byte) string { delete(f, "-wal"); return "" }},
	{"the index is noise", func(r *rand.Rand, f map[string][]byte) string {
		for i := range f["-shm"] {
			f["-shm"][i] = byte(r.Uint32())
		}
		return ""
	}},
	{"the index is gone", func(_ *rand.Rand, f map[string][]byte) string { delete(f, "-shm"); return "" }},
	{"the database is empty", func(_ *rand.Rand, f map[string][]byte) string { f[""] = nil; return "" }},
}

// A damaged copy is refused with what to do, or served whole: everything that was copied to the
// main file is there, with its journal.
func TestATornCopyIsServedWholeOrRefused(t *testing.T) {
	t.Parallel()
	whole := killedStore(t)
	served, refused := 0, 0
	for n := range effort.Of(tornCopies, 2*len(harms)) {
		harm := harms[n%len(harms)]
		r := rand.New(rand.NewPCG(17, uint64(n)))
		files := map[string][]byte{}
		for ending, text := range whole {
			files[ending] = append([]byte(nil), text...)
		}
		what := harm.do(r, files)
		path := filepath.Join(t.TempDir(), "x.db")
		for ending, text := range files {
			if err := os.WriteFile(path+ending, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o := options(t, enginetest.AtMilli(1000))
		o.Sync, o.Examine = dbfile.SyncFull, time.Minute
		db, err := sqlite.Open(t.Context(), path, o)
		if err != nil {
			refused++
			if !errors.Is(err, engine.ErrDamaged) && !errors.Is(err, mark.ErrLost) {
				t.Errorf("copy %d, %s %s: refused without a reason: %v", n, harm.name, what, err)
			}
			continue
		}
		if served++; harm.name == noLog {
			t.Errorf("copy %d: %s, and what was in it is forgotten", n, harm.name)
		}
		if err := wholeStore(t, db); err != nil {
			t.Errorf("copy %d, %s %s: served, and %v", n, harm.name, what, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d copies were served whole, %d refused", served, refused)
}

// wholeStore reads every run that was in the main file.
func wholeStore(t *testing.T, db *sqlite.DB) error {
	for i := range copied {
		h, err := db.Load(t.Context(), tenant, threadNumber(i))
		if err != nil {
			return fmt.Errorf("run %d: %w", i, err)
		}
		segments, err := db.Segments(t.Context(), tenant, h.Thread, 1, h.Seq)
		if err == nil {
			err = core.CheckChain(h, 1, segments)
		}
		if err != nil || h.Seq != 3 || segments[2].Messages[0].Parts[0].Text != strings.Repeat(fmt.Sprint(i), 900) {
			return fmt.Errorf("run %d: segment %d, %w", i, h.Seq, err)
		}
	}
	return nil
}
