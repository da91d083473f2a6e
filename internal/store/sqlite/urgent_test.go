package sqlite_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/waits"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

// without takes the columns of the migration out of a file, as the program before left it.
var without = []string{"DROP INDEX heads_urgent", "ALTER TABLE heads DROP COLUMN urgent", "ALTER TABLE heads DROP COLUMN asks"}

// Runs that were open before the upgrade are listed in the same order, and counted, as those that
// the program itself writes: with several calls, without a deadline, of clients and of children.
func TestRunsOfBeforeAreListedByUrgency(t *testing.T) {
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
	listed := func(db *sqlite.DB) (keys []string, questions int) {
		heads, next, err := db.Urgent(t.Context(), tenant, "", 20)
		if err != nil || next != "" {
			t.Fatal(next, err)
		}
		for _, h := range heads {
			keys = append(keys, waits.Urgency(h))
		}
		if questions, err = db.Questions(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
		return keys, questions
	}
	keys, questions := listed(db)
	if len(keys) != 6 || !slices.IsSorted(keys) || questions != 8 {
		t.Fatalf("written by this program: %v, %d questions", keys, questions)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw := rawFile(t, path)
	upgrade := slices.IndexFunc(tables.Migrations, func(m string) bool { return strings.Contains(m, "heads_urgent") })
	for _, statement := range append(slices.Clone(without), tables.Migrations[upgrade]) {
		if _, err := raw.Exec(statement); err != nil {
			t.Fatal(statement, err)
		}
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	again, counted := listed(open(t, path, options(t, clock)))
	if !slices.Equal(again, keys) || counted != questions {
		t.Errorf("after the upgrade: %v, %d questions; want %v, %d", again, counted, keys, questions)
	}
}
