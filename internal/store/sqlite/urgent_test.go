package sqlite_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/waits"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/examine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

// asBefore turns a file into what the program before left: with the table of heads that the first
// migration made, whose rows have texts as keys, and bodies that are not packed.
func asBefore(t *testing.T, path string) {
	t.Helper()
	raw := rawFile(t, path)
	run := func(statement string, args ...any) {
		t.Helper()
		if _, err := raw.Exec(statement, args...); err != nil {
			t.Fatal(statement, err)
		}
	}
	const same = `tenant, thread, run, agent, v, st, epoch, rev, cid, seq, seg, ev, sigs, lease, claim, tries, dl, not_before, nsus,
		has_end, born, due, calls, timed, body`
	run("ALTER TABLE heads RENAME TO later")
	for _, index := range []string{"due", "oldest", "born", "urgent"} {
		run("DROP INDEX heads_" + index)
	}
	_, heads, _ := strings.Cut(tables.Migrations[0], "CREATE TABLE heads (")
	heads, _, _ = strings.Cut(heads, "CREATE TABLE inbox")
	run("CREATE TABLE heads (" + heads)
	run("INSERT INTO heads (rowid, " + same + ", oldest) SELECT rowid, " + same + `, CASE typeof(oldest) WHEN 'text' THEN oldest
		ELSE iif(oldest = 0, '', printf('%013d#%s', oldest, run)) END FROM later ORDER BY rowid`)
	run("DROP TABLE later")
	rows, err := raw.Query("SELECT thread, body FROM heads WHERE typeof(body) = 'blob'")
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	for rows.Next() {
		var thread string
		var packed []byte
		if err := rows.Scan(&thread, &packed); err != nil {
			t.Fatal(err)
		}
		if bodies[thread], err = tables.UnpackBody(packed, thread); err != nil {
			t.Fatal(err)
		}
	}
	for thread, body := range bodies {
		run("UPDATE heads SET body = ? WHERE thread = ?", body, thread)
	}
	run("DROP TABLE ended_sessions")
	run("DELETE FROM migrations WHERE version > ?", slices.IndexFunc(tables.Migrations, func(m string) bool { return strings.Contains(m, "heads_urgent") }))
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	if len(bodies) == 0 {
		t.Error("no body was packed")
	}
}

// storedHeads is every row of the table of heads, without the bodies.
func storedHeads(t *testing.T, path string) (all []string) {
	t.Helper()
	raw := rawFile(t, path)
	defer raw.Close()
	rows, err := raw.Query(`SELECT json_array(rowid, thread, run, agent, v, st, epoch, rev, cid, seq, seg, ev, sigs, lease, claim, tries, dl,
		not_before, nsus, has_end, oldest, born, due, calls, timed, urgent, asks, at) FROM heads ORDER BY rowid`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var row string
		if err := rows.Scan(&row); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// Runs that were open before the upgrade are stored, listed in the same order, and counted, as
// those that the program itself writes: with several calls, without a deadline, of clients and of
// children.
func TestRunsOfBeforeAreListedAsThoseOfThisProgram(t *testing.T) {
	clock := enginetest.AtMilli(1000)
	path := filepath.Join(t.TempDir(), "dormouse.db")
	db, err := sqlite.Open(t.Context(), path, options(t, clock))
	if err != nil {
		t.Fatal(err)
	}
	worker := frontendtest.Worker{Test: t, Store: db, Clock: clock, Random: &frontendtest.Random{}, Tenant: tenant}
	front := callers(t, db, clock)
	call := func(id string, kind core.Kind, deadline int64) frontendtest.Call {
		return frontendtest.Call{ID: id, Tool: "pay", Kind: kind, Deadline: deadline}
	}
	const at = 1_800_000_000_000
	for _, calls := range [][]frontendtest.Call{
		{call("c1", core.KindApproval, 0)},
		{call("c1", core.KindApproval, at+9), call("c2", core.KindInput, at+2)},
		{call("c1", core.KindClient, at+1)},
		{call("c1", core.KindApproval, at+5), call("c2", core.KindApproval, 0), call("c3", core.KindClient, at+8)},
		{call("c1", core.KindApproval, 0), call("c2", core.KindUnknownOutcome, 0)},
		{call("c1", core.KindApproval, at+3)},
	} {
		started, err := front.Start(t.Context(), frontend.Caller{Tenant: tenant}, "", wire.StartRequest{Agent: "a", Input: core.Encode("go")})
		if err != nil {
			t.Fatal(err)
		}
		worker.Suspend(started.Run.ID, calls...)
	}
	done, err := front.Start(t.Context(), frontend.Caller{Tenant: tenant}, "", wire.StartRequest{Agent: "a", Input: core.Encode("go")})
	if err != nil {
		t.Fatal(err)
	}
	worker.Finish(done.Run.ID, "done")
	// keys of another form, as no released program wrote them
	for i, key := range []string{"thr#run", "0000000001000#another", "1800000000000", "+800000000000#run"} {
		worker.Store = keyed{db, key}
		started, err := front.Start(t.Context(), frontend.Caller{Tenant: tenant}, "", wire.StartRequest{Agent: "a", Input: core.Encode("go")})
		if err != nil {
			t.Fatal(err)
		}
		worker.Suspend(started.Run.ID, call("c1", core.KindApproval, int64(i%2)*at))
	}
	want, wantRows := readAll(t, db), storedHeads(t, path)
	if len(want.Urgent) != 10 || !slices.IsSortedFunc(want.Urgent[:6], byDeadline) || want.Questions != 12 {
		t.Fatalf("written by this program: %+v", want)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	asBefore(t, path)
	if r, err := examine.File(t.Context(), path, nil); err != nil || len(r.Findings) != 0 || r.Threads != 11 {
		t.Errorf("before the upgrade: %+v, %v", r, err)
	}
	again := open(t, path, options(t, clock))
	if diff := cmp.Diff(want, readAll(t, again)); diff != "" {
		t.Errorf("written by this program (-), and after the upgrade (+): %s", diff)
	}
	if diff := cmp.Diff(wantRows, storedHeads(t, path)); diff != "" {
		t.Errorf("rows of this program (-), and after the upgrade (+): %s", diff)
	}
	// the triggers that count are there
	before := stored(t, again, tenant)
	start(t, again, newHead("thr_new"))
	if with := stored(t, again, tenant); with.Runs != before.Runs+1 || with.Bytes < before.Bytes+4096 {
		t.Errorf("%+v are counted, and with another run %+v", before, with)
	}
	finish(t, again, "thr_new", "w1")
	if with := stored(t, again, tenant); with.Runs != before.Runs {
		t.Errorf("%+v are counted, and when another run is done %+v", before, with)
	}
}

// keyed replaces the key under which what waits is listed.
type keyed struct {
	engine.Store
	key string
}

func (s keyed) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	req.Next.Oldest = s.key
	return s.Store.Commit(ctx, req)
}

func byDeadline(a, b core.Head) int {
	return strings.Compare(waits.Urgency(a)[:13], waits.Urgency(b)[:13])
}

// inboxes is what waits, in both orders.
type inboxes struct {
	Urgent, Oldest []core.Head
	Questions      int
}

func readAll(t *testing.T, db *sqlite.DB) (all inboxes) {
	t.Helper()
	var err error
	for _, size := range []int{20, 1} { // the order doesn't depend on the pages
		if all.Urgent, all.Oldest = list(t, db.Urgent, size), list(t, db.Approvals, size); len(all.Urgent) < len(all.Oldest) {
			t.Fatalf("%d runs by urgency, %d by age", len(all.Urgent), len(all.Oldest))
		}
	}
	if all.Questions, err = db.Questions(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	return all
}

// list reads a list to its end, each run where it came first.
func list(t *testing.T, page func(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error), size int) (all []core.Head) {
	t.Helper()
	known := map[string]bool{}
	for cursor, pages := "", 0; ; pages++ {
		heads, next, err := page(t.Context(), tenant, cursor, size)
		if err != nil || pages > 40 {
			t.Fatalf("page %d: %v", pages, err)
		}
		for _, h := range heads {
			if !known[h.Run] {
				all = append(all, h)
			}
			known[h.Run] = true
		}
		if cursor = next; next == "" {
			return all
		}
	}
}

// What an earlier program gave out as the place in a list is read: what comes behind it is listed,
// and what has the same time may come again.
func TestCursorsOfBeforeAreRead(t *testing.T) {
	clock := enginetest.AtMilli(1000)
	db := open(t, filepath.Join(t.TempDir(), "dormouse.db"), options(t, clock))
	worker := frontendtest.Worker{Test: t, Store: db, Clock: clock, Random: &frontendtest.Random{}, Tenant: tenant}
	front := callers(t, db, clock)
	for _, deadline := range []int64{1_800_000_000_000, 1_800_000_000_001, 0, 0} {
		started, err := front.Start(t.Context(), frontend.Caller{Tenant: tenant}, "", wire.StartRequest{Agent: "a", Input: core.Encode("go")})
		if err != nil {
			t.Fatal(err)
		}
		worker.Suspend(started.Run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval, Deadline: deadline})
		clock.Advance(time.Second)
	}
	for _, c := range []struct {
		name, cursor string
		page         func(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error)
	}{
		{"age", `{"l":"a","s":"%s","t":"%s"}`, db.Approvals},
		{"urgency", `{"l":"u","n":1000,"s":"%s","t":"%s"}`, db.Urgent},
	} {
		all := list(t, c.page, 9)
		if len(all) != 4 {
			t.Fatalf("by %s: %d runs", c.name, len(all))
		}
		for i, h := range all {
			key := h.Oldest
			if c.name == "urgency" {
				key = waits.Urgency(h)
			}
			behind, _, err := c.page(t.Context(), tenant, base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, c.cursor, key, h.Thread)), 9)
			if diff := cmp.Diff(all[i:], behind); err != nil || diff != "" {
				t.Errorf("by %s, behind run %d: %v, %s", c.name, i, err, diff)
			}
		}
	}
}
