package frontend_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// reads counts what lists read of a store.
type reads struct {
	frontend.Store
	lists, records, heads, archived, segments int
}

func (s *reads) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	records, next, err := s.Store.Runs(ctx, tenant, thread, cursor, limit)
	s.lists++
	s.records += len(records)
	return records, next, err
}

func (s *reads) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	s.heads++
	return s.Store.Load(ctx, tenant, thread)
}

func (s *reads) Archived(ctx context.Context, tenant, run string) (core.Record, error) {
	s.archived++
	return s.Store.Archived(ctx, tenant, run)
}

func (s *reads) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	s.segments++
	return s.Store.Segments(ctx, tenant, thread, from, to)
}

// of is what one page of a list reads, and how many runs are on it.
func (s *reads) of(t *testing.T, x *fixture, q query.List) (shown int, next, read string) {
	t.Helper()
	*s = reads{Store: s.Store}
	page, err := x.Runs(t.Context(), anna, q)
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Items), page.Next, fmt.Sprintf("%d lists, %d records, %d heads, %d archived, %d segments", s.lists, s.records, s.heads, s.archived, s.segments)
}

func counted(t *testing.T) (*fixture, *reads) {
	s := &reads{}
	return newFixture(t, func(store frontend.Store) frontend.Store { s.Store = store; return s }), s
}

func TestWhatAListReads(t *testing.T) {
	x, s := counted(t)
	for i := range 30 {
		run := x.runOf(fmt.Sprintf(`{"tenth":%t}`, i%10 == 0))
		if i%2 == 0 {
			x.worker.Drain(run.ID)
		}
	}
	run := x.runOf(`null`)
	x.worker.Finish(run.ID, "done")
	for name, tt := range map[string]struct {
		q     query.List
		shown int
		want  string
	}{
		"no filter: each run's head and its start, no more than without its first line": {query.List{Status: ""}, 20, "2 lists, 20 records, 20 heads, 0 archived, 11 segments"},
		"a run that does not fit costs its record alone":                                {query.List{Metadata: map[string]string{"tenth": "true"}}, 3, "3 lists, 31 records, 3 heads, 0 archived, 3 segments"},
		"nothing fits":                      {query.List{Reason: "blocked"}, 0, "3 lists, 31 records, 0 heads, 0 archived, 0 segments"},
		"one is wanted":                     {query.List{Status: "created", Limit: 1}, 1, "1 lists, 10 records, 1 heads, 0 archived, 0 segments"},
		"the list ends at created_after":    {query.List{CreatedAfter: run.CreatedAt.Time}, 1, "1 lists, 10 records, 1 heads, 0 archived, 2 segments"},
		"the list begins at created_before": {query.List{CreatedBefore: run.CreatedAt.Add(-29 * time.Hour)}, 1, "1 lists, 1 records, 1 heads, 0 archived, 1 segments"},
		"an interval reads what lies in it, and one piece": {query.List{CreatedAfter: run.CreatedAt.Add(-9 * time.Hour), CreatedBefore: run.CreatedAt.Add(-4 * time.Hour)}, 5,
			"1 lists, 10 records, 5 heads, 0 archived, 2 segments"},
	} {
		if shown, _, read := s.of(t, x, tt.q); shown != tt.shown || read != tt.want {
			t.Errorf("%s: %d runs, read %s; want %d, %s", name, shown, read, tt.shown, tt.want)
		}
	}
}

func TestAFilteredInboxReadsNoJournalOfOthers(t *testing.T) {
	x, s := counted(t)
	for range 5 {
		x.waiting(core.KindApproval)
	}
	client, _ := x.waiting(core.KindClient)
	for _, q := range []query.List{{Kind: "client"}, {Kind: "client", Agent: "desk"}, {Kind: "input"}, {Agent: "another"}} {
		*s = reads{Store: s.Store}
		page, err := x.Approvals(t.Context(), anna, q)
		want := 0
		if q.Kind == "client" {
			want = 1
		}
		if err != nil || len(page.Items) != want || s.segments != want || want > 0 && page.Items[0].RunID != client.ID {
			t.Errorf("%+v: %d approvals from %d journals, %v", q, len(page.Items), s.segments, err)
		}
	}
}

func TestAListInWhichNothingFitsIsReadInBoundedPages(t *testing.T) {
	x, s := counted(t)
	const runs = 1201
	x.bulk(anna.Tenant, runs, func(int) string { return `{"k":"v"}` })
	for _, limit := range []int{0, 1, 100} {
		q := query.List{Metadata: map[string]string{"k": "w"}, Limit: limit}
		looked := []int{}
		for {
			shown, next, read := s.of(t, x, q)
			if looked = append(looked, s.records); shown != 0 || s.heads+s.segments > 0 || s.lists > 9 {
				t.Errorf("%d runs of %d at most; read %s", shown, limit, read)
			}
			if q.Cursor = next; next == "" {
				break
			}
		}
		if fmt.Sprint(looked) != "[500 500 201]" {
			t.Errorf("%d at once: pages looked at %v runs", limit, looked)
		}
	}
}

// A page ends where enough runs were found, within a piece; the next one begins right there.
func TestAFullPageEndsWithinAPiece(t *testing.T) {
	x, s := counted(t)
	x.bulk(anna.Tenant, 200, func(i int) string { return fmt.Sprintf(`{"even":%t}`, i%2 == 0) })
	q, seen := query.List{Metadata: map[string]string{"even": "true"}, Limit: 3}, 0
	for {
		shown, next, read := s.of(t, x, q)
		if seen += shown; s.records > 12 || s.heads > 3 {
			t.Errorf("%d runs; read %s", shown, read)
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	if seen != 100 {
		t.Errorf("%d runs of 100", seen)
	}
}

// moving ends runs between the list and the read of their heads.
type moving struct {
	frontend.Store
	end func(run string)
}

func (s *moving) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	if s.end != nil {
		end := s.end
		s.end = nil
		end(core.RunID(thread, 0))
	}
	return s.Store.Load(ctx, tenant, thread)
}

func TestARunThatHasMovedOnIsNotShownAsItWas(t *testing.T) {
	s := &moving{}
	x := newFixture(t, func(store frontend.Store) frontend.Store { s.Store = store; return s })
	older, newer := x.runOf(`null`), x.runOf(`null`)
	s.end = func(run string) { x.worker.Finish(run, "done") }
	page, err := x.Runs(t.Context(), anna, query.List{Status: "created", Limit: 1})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != older.ID {
		t.Errorf("%+v, %v; %s is done", page, err, newer.ID)
	}
}
