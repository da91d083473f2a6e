package sqlite

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// A cursor of whatever text is refused, or the list goes on behind it in its order and comes to its
// end; those it gives out lead through all of the list.
func FuzzListCursors(f *testing.F) {
	const runs = 7
	db, err := Open(f.Context(), filepath.Join(f.TempDir(), "test.db"), Options{Clock: enginetest.AtMilli(1000), Random: fixedRandom{}, Sync: dbfile.SyncOff})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { db.Close() })
	for i := range runs {
		thread := fmt.Sprint("thr_", i)
		h := core.Head{Identity: core.Identity{Tenant: "t", Thread: thread, Run: core.RunID(thread, 0), Agent: "a", Version: "v", Schema: core.SchemaVersion},
			Origin: core.Origin{Born: int64(i / 2)},
			Calls:  map[string]core.Call{"c": {Status: core.CallSuspended}}, Waits: core.Waits{Oldest: fmt.Sprintf("%013d#", i/2)}}
		if _, err := db.Start(f.Context(), engine.StartRequest{Head: h}); err != nil {
			f.Fatal(err)
		}
	}
	f.Add("", "", false, 1)
	f.Add(`{"l":"r","n":2,"s":"run_3_0"}`, `{"l":"a","s":"0000000000001#","t":"thr_3"}`, true, 2)
	f.Add(`{"l":"a"}`, `{"l":"r"}`, true, -1)
	f.Add("null", "[]", true, 100)
	f.Add(`{"l":"r","n":9223372036854775807,"s":"\ud800\u0000"}`, `{"l":"a","s":1}`, true, 3)
	f.Add("not base64!", "MS4xLjE=", false, 3)
	f.Fuzz(func(t *testing.T, ofRuns, ofApprovals string, encode bool, limit int) {
		if encode {
			ofRuns, ofApprovals = base64.RawURLEncoding.EncodeToString([]byte(ofRuns)), base64.RawURLEncoding.EncodeToString([]byte(ofApprovals))
		}
		listRunIDs := func(cursor string) ([]string, string, error) {
			records, next, err := db.Runs(t.Context(), "t", "", cursor, limit)
			return named(records, func(r core.Record) string { return r.Run }), next, err
		}
		listThreads := func(cursor string) ([]string, string, error) {
			heads, next, err := db.Approvals(t.Context(), "t", cursor, limit)
			return named(heads, func(h core.Head) string { return h.Thread }), next, err
		}
		checkList(t, listRunIDs, ofRuns, runs)
		checkList(t, listThreads, ofApprovals, runs)
		checkList(t, listRunIDs, "", runs)
	})
}

type fixedRandom struct{}

func (fixedRandom) Text(n int) string { return fmt.Sprintf("%0*d", n, 0) }

func named[T any](rows []T, name func(T) string) (names []string) {
	for _, row := range rows {
		names = append(names, name(row))
	}
	return names
}

// checkList reads a list of most entries from a cursor to its end.
func checkList(t *testing.T, page func(cursor string) ([]string, string, error), cursor string, most int) {
	t.Helper()
	seen := map[string]bool{}
	begin := cursor
	for n := 0; ; n++ {
		names, next, err := page(cursor)
		if err != nil {
			if n > 0 || !errors.Is(err, engine.ErrRefused) {
				t.Fatalf("page %d, cursor %q: %v", n, cursor, err)
			}
			return
		}
		for _, name := range names {
			if seen[name] {
				t.Fatalf("%s is there twice", name)
			}
			seen[name] = true
		}
		if n > most || next == "" && begin == "" && len(seen) != most {
			t.Fatalf("%d of %d entries on %d pages", len(seen), most, n+1)
		}
		if next == "" {
			return
		}
		cursor = next
	}
}
