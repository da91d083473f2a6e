package local

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/copies"
)

const reminded = desk + `  ask: [{tool: pay, approval: payment}]
groups: {finance: [token:anna]}
approvals: {payment: {group: finance, remind: {after: 72h}, deadline: 168h}}
`

// stopped is a clock that stands still until it is set.
type stopped struct {
	machine.Clock
	at time.Time
}

func (c *stopped) Now() time.Time { return c.at }

// TestACopyIsWhatARealRunLeaves compares every row of every table: copies of one waiting run,
// with the ids and times of others, and those others.
func TestACopyIsWhatARealRunLeaves(t *testing.T) {
	r := newRig(t, nil)
	r.deploy(reminded)
	clock := &stopped{at: time.UnixMilli(1_800_000_000_000)}
	var threads []string
	for i := range 4 {
		clock.at = clock.at.Add(time.Duration(i) * 977 * time.Millisecond)
		o := r.options()
		o.clock, o.elapsed = clock, machine.Elapsed
		s := r.startWith(o)
		threads = append(threads, s.await(t, s.begin(t).ID, "waiting").ThreadID)
		s.end(t)
	}
	path := filepath.Join(t.TempDir(), "copies.db")
	made, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clock, Random: machine.Random{}})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	from := r.store()
	template, err := copies.Of(t.Context(), from, access.Tenant, threads[0])
	if err != nil {
		t.Fatal(err)
	}
	var draws []copies.Drawn
	for _, name := range threads {
		other, err := copies.Of(t.Context(), from, access.Tenant, name)
		if err != nil {
			t.Fatal(err)
		}
		h := head(t, from, name)
		if other.Run() != h.Run || h.Calls["call_1"].Sus != other.ID() || h.Due != h.Born+72*3600*1000 {
			t.Fatalf("a draw %+v of head %+v", other.Drawn, h)
		}
		draws = append(draws, other.Drawn)
	}
	for range 2 { // as after a write that was answered as hanging, and was made
		if err := template.Write(t.Context(), made, draws); err != nil {
			t.Fatal(err)
		}
	}
	want, got := dump(t, filepath.Join(r.data, databaseFile)), dump(t, path)
	for _, table := range []string{"migrations", "mark", "definitions", "deployed", "sqlite_sequence"} {
		delete(want, table) // of the store, not of its runs
		delete(got, table)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want["heads"]) != len(threads) {
		t.Errorf("what real runs left (-) and their copies (+): %s", diff)
	}
}

// dump is what the tables of a file hold, by table.
func dump(t *testing.T, path string) map[string][]string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := map[string][]string{}
	for _, table := range texts(t, db, "SELECT name FROM sqlite_master WHERE type = 'table'") {
		all[table[0]] = nil
		for _, row := range texts(t, db, "SELECT * FROM "+table[0]) {
			all[table[0]] = append(all[table[0]], fmt.Sprintf("%q", row))
		}
		slices.Sort(all[table[0]])
	}
	return all
}

func texts(t *testing.T, db *sql.DB, query string) (all [][]string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		line := make([]string, len(row))
		for i, c := range row {
			line[i] = c.String
		}
		all = append(all, line)
	}
	return all
}
