package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// A row that cannot be read is listed as itself, the others are listed as they are, and the pages
// go on behind it.
func TestAnUnreadableRowHidesNoOther(t *testing.T) {
	for _, damage := range []string{
		"UPDATE heads SET body = 'x'", "UPDATE heads SET calls = '[]'", "UPDATE heads SET timed = ''", "UPDATE heads SET st = 9",
		"UPDATE heads SET body = '{\"out\":3}'", "INSERT INTO inbox (tenant, thread, key, value) SELECT tenant, thread, 'm:1', '{' FROM heads", "UPDATE heads SET epoch = 'many'",
		"UPDATE heads SET v = 99, body = '{\"out\":3}'",
	} {
		t.Run(damage, func(t *testing.T) {
			clock := enginetest.AtMilli(1000)
			path := filepath.Join(t.TempDir(), "damaged.db")
			db := open(t, path, options(t, clock))
			front := callers(t, db, clock)
			worker := frontendtest.Worker{Test: t, Store: db, Clock: clock, Random: &frontendtest.Random{}, Tenant: tenant}
			var runs []wire.Run
			for range 5 {
				started, err := front.Start(t.Context(), frontend.Caller{Tenant: tenant}, "", wire.StartRequest{Agent: "a", Input: core.Encode("go")})
				if err != nil {
					t.Fatal(err)
				}
				worker.Suspend(started.Run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval})
				runs = append(runs, started.Run)
			}
			bad := runs[2]
			if _, err := rawFile(t, path).Exec(damage+" WHERE thread = ?", bad.ThreadID); err != nil {
				t.Fatal(err)
			}
			_, err := db.Load(t.Context(), tenant, bad.ThreadID)
			if !errors.Is(err, engine.ErrUnreadable) && !errors.Is(err, engine.ErrNewerSchema) || !strings.Contains(err.Error(), bad.ThreadID) {
				t.Errorf("reading the row itself: %v", err)
			}
			wantAll(t, db, runs, bad)
			page, err := front.Approvals(t.Context(), frontend.Caller{Tenant: tenant}, query.List{})
			if err != nil || len(page.Items) != len(runs) {
				t.Errorf("%d approvals, %v", len(page.Items), err)
			}
			for _, a := range page.Items {
				if (a.Error != nil) != (a.RunID == bad.ID) || a.Agent != "a" || a.ThreadID == "" {
					t.Errorf("approval %+v", a)
				}
			}
		})
	}
}

// wantAll reads both lists two by two and demands every run in them, the unreadable one without
// calls.
func wantAll(t *testing.T, db *sqlite.DB, runs []wire.Run, bad wire.Run) {
	t.Helper()
	found, waiting := map[string]int{}, map[string]int{}
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := db.Runs(t.Context(), tenant, "", cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			found[r.Run]++
		}
		cursor = next
	}
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := db.Approvals(t.Context(), tenant, cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page {
			if waiting[h.Run]++; (len(h.Calls) == 0) != (h.Run == bad.ID) {
				t.Errorf("head %+v", h)
			}
		}
		cursor = next
	}
	for _, run := range runs {
		if found[run.ID] != 1 || waiting[run.ID] != 1 {
			t.Errorf("run %s is listed %d times and waits %d times", run.ID, found[run.ID], waiting[run.ID])
		}
	}
}

func TestAnUnreadableRecordHidesNoOther(t *testing.T) {
	clock := enginetest.AtMilli(1000)
	path := filepath.Join(t.TempDir(), "damaged.db")
	db := open(t, path, options(t, clock))
	for _, name := range []string{"run_a_1", "run_b_1", "run_c_1"} {
		if _, err := rawFile(t, path).Exec("INSERT INTO archive (tenant, run, thread, born, body) VALUES (?, ?, ?, 1000, ?)", tenant, name, "thr_"+name[4:5],
			string(core.Encode(core.Record{Run: name, Thread: "thr_" + name[4:5], Agent: "a", Born: 1000, Status: core.RunDone}))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rawFile(t, path).Exec("UPDATE archive SET body = '{' WHERE run = 'run_b_1'"); err != nil {
		t.Fatal(err)
	}
	page, _, err := db.Runs(t.Context(), tenant, "", "", 10)
	if err != nil || len(page) != 3 {
		t.Fatalf("%+v, %v", page, err)
	}
	if r := page[1]; r.Run != "run_b_1" || r.Thread != "thr_b" || r.Born != 1000 || r.Status != core.RunDone || page[0].Agent != "a" {
		t.Errorf("records %+v", page)
	}
	if _, err := db.Archived(t.Context(), tenant, "run_b_1"); !errors.Is(err, engine.ErrUnreadable) {
		t.Errorf("the record itself: %v", err)
	}
}

func TestAnUnreadableRecordOfANoticeHidesNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "damaged.db")
	db := open(t, path, options(t, enginetest.AtMilli(1000)))
	for event, body := range []string{`{"st":"dead","k":"done","at":1000}`, "{", `{"st":"dead","k":"done","at":1002}`} {
		if _, err := rawFile(t, path).Exec("INSERT INTO notice_records (tenant, thread, endpoint, event, at, dead, body) VALUES (?, 'thr_a', 'ops', ?, ?, 1, ?)",
			tenant, event, 1000+event, body); err != nil {
			t.Fatal(err)
		}
	}
	page, _, err := db.Records(t.Context(), tenant, engine.RecordQuery{Limit: 10, Dead: true})
	if err != nil || len(page) != 3 {
		t.Fatalf("%+v, %v", page, err)
	}
	if r := page[1]; r.Event != 1 || r.Thread != "thr_a" || r.Endpoint != "ops" || r.State != notice.StateDead || r.At != 1001 || len(r.Attempts) != 1 || page[0].Kind != notice.Done {
		t.Errorf("records %+v", page)
	}
	if _, err := db.Record(t.Context(), page[1].Key, 1); !errors.Is(err, engine.ErrUnreadable) {
		t.Errorf("the record itself: %v", err)
	}
}
