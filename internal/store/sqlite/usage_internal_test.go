package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// What the triggers have counted is what is there, and what a file that was written without them is
// counted as.
func TestTheCountOfWhatIsStoredIsWhatIsThere(t *testing.T) {
	db, _ := openTemp(t)
	exercise(t, db)
	db.PutPayload(t.Context(), "b", "thr_b", "digest", []byte("twelve bytes"))
	counted, there := usage(t, db, "SELECT tenant, bytes, runs FROM usage"), usage(t, db, countUsage)
	if diff := cmp.Diff(there, counted); diff != "" || len(counted) != 2 || counted["b"] != "12 bytes, 0 runs" {
		t.Errorf("counted %v (-there +counted):\n%s", counted, diff)
	}
	if err := exec(t.Context(), db, func(t *tx) error {
		for _, statement := range []string{"DELETE FROM usage", "INSERT INTO usage (tenant, bytes, runs) " + countUsage} {
			if _, err := t.Exec(statement); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(counted, usage(t, db, "SELECT tenant, bytes, runs FROM usage")); diff != "" {
		t.Errorf("counted anew:\n%s", diff)
	}
}

func usage(t *testing.T, db *DB, query string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := db.read(t.Context(), func(s dbfile.Scanner) error {
		var tenant string
		var bytes, runs int64
		err := s.Scan(&tenant, &bytes, &runs)
		all[tenant] = fmt.Sprintf("%d bytes, %d runs", bytes, runs)
		return err
	}, query)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// BenchmarkUsage measures what counting costs a commit with a segment: with the triggers and
// without, in turn in the same run.
func BenchmarkUsage(b *testing.B) {
	var dbs [2]*DB
	for i := range dbs {
		db, err := Open(b.Context(), filepath.Join(b.TempDir(), fmt.Sprint(i, ".db")), Options{Clock: enginetest.AtMilli(1000), Random: enginetest.NewRandom(b, 1)})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		dbs[i] = db
	}
	for _, trigger := range []string{"head", "status", "segment", "segment_again", "payload", "archive", "archive_again"} {
		if err := exec(b.Context(), dbs[1], func(t *tx) error { _, err := t.Exec("DROP TRIGGER usage_" + trigger); return err }); err != nil {
			b.Fatal(err)
		}
	}
	var heads [2]core.Head
	for i, db := range dbs {
		w, err := db.Start(b.Context(), engine.StartRequest{Head: core.Head{Identity: core.Identity{Tenant: "a", Thread: "thr_a", Run: "run_a_0", Schema: 1},
			Position: core.Position{Epoch: 1}}})
		if err != nil {
			b.Fatal(err)
		}
		heads[i] = w.Head
	}
	var took [2]time.Duration
	for b.Loop() {
		for i, db := range dbs {
			h := &heads[i]
			h.Rev, h.Seq, h.CID = h.Rev+1, h.Seq+1, core.NewStamp(h.Epoch, int(h.Rev+1)&0xfff)
			segment := &core.Segment{Seq: h.Seq, W: h.CID, Messages: []core.Message{{Role: core.RoleAssistant, Parts: core.TextParts("I look it up for you."), At: 1}}}
			began := time.Now()
			w, err := db.Commit(b.Context(), engine.CommitRequest{Next: *h, Segment: segment, Wake: &engine.Delay{}})
			took[i] += time.Since(began)
			if err != nil {
				b.Fatal(err)
			}
			*h = w.Head
		}
	}
	b.ReportMetric(float64(took[0])/float64(took[1]), "ratio")
	b.ReportMetric(float64(took[0].Microseconds())/float64(b.N), "with-µs")
}
