package frontend_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// runOf starts a run with metadata, an hour after the one before it.
func (x *fixture) runOf(metadata string) wire.Run {
	x.t.Helper()
	x.clock.AfterFunc(time.Hour, func() {})
	s, err := x.Start(x.t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: []byte(`"go"`), Metadata: []byte(metadata)})
	if err != nil {
		x.t.Fatal(err)
	}
	return s.Run
}

// listed is a list read to its end, as letters: the run started first is a.
func (x *fixture) listed(q query.List, runs []wire.Run) string {
	x.t.Helper()
	var names strings.Builder
	for {
		page, err := x.Runs(x.t.Context(), anna, q)
		if err != nil {
			x.t.Fatal(err)
		}
		for _, r := range page.Items {
			names.WriteByte('a' + byte(slices.IndexFunc(runs, func(one wire.Run) bool { return one.ID == r.ID })))
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return names.String()
		}
	}
}

func TestRunsAreListedByFilters(t *testing.T) {
	x := newFixture(t, nil)
	runs := []wire.Run{
		x.runOf(`{"order":"A-17","paid":true}`),
		x.runOf(`{"order":17,"a.b":"c","":"empty"}`),
		x.runOf(`{"order":"17","größe":"groß","none":null}`),
		x.runOf(`{"order":{"id":"A-17"},"paid":"true"}`),
		x.runOf(`null`),
		x.runOf(`{"order":"","items":["A-17"],"rate":1.50}`),
	}
	x.worker.Finish(runs[0].ID, "done")
	x.worker.End(runs[1].ID, core.Reason{Kind: core.Failed, Code: "crash_loop"}, "")
	x.worker.FinishWith(runs[2].ID, []byte(`{"output":1}`), core.ResponseAwaitingInput)
	hour := func(n int) time.Time { return runs[0].CreatedAt.Add(time.Duration(n) * time.Hour) }
	meta := func(pairs ...string) query.List {
		q := query.List{Metadata: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			q.Metadata[pairs[i]] = pairs[i+1]
		}
		return q
	}
	for name, tt := range map[string]struct {
		q    query.List
		want string
	}{
		"none":                     {query.List{}, "fedcba"},
		"status done":              {query.List{Status: "done"}, "cba"},
		"status created":           {query.List{Status: "created"}, "fed"},
		"agent":                    {query.List{Agent: "desk"}, "fedcba"},
		"another agent":            {query.List{Agent: "Desk"}, ""},
		"reason error":             {query.List{Reason: "error"}, "b"},
		"reason natural_end":       {query.List{Reason: "natural_end"}, "ca"},
		"response state":           {query.List{ResponseState: "awaiting_input"}, "c"},
		"a reason of what is open": {query.List{Status: "created", Reason: "error"}, ""},
		"a string":                 {meta("order", "A-17"), "a"},
		"a number and its text":    {meta("order", "17"), "cb"},
		"an empty string":          {meta("order", ""), "f"},
		"true and its text":        {meta("paid", "true"), "da"},
		"null":                     {meta("none", "null"), "c"},
		"a key with a dot":         {meta("a.b", "c"), "b"},
		"no path into an object":   {meta("order.id", "A-17"), ""},
		"no object as text":        {meta("order", `{"id":"A-17"}`), ""},
		"no list as text":          {meta("items", `["A-17"]`), ""},
		"unicode":                  {meta("größe", "groß"), "c"},
		"another case":             {meta("Order", "A-17"), ""},
		"a key that is not there":  {meta("colour", ""), ""},
		"two keys":                 {meta("order", "A-17", "paid", "true"), "a"},
		"two keys of two runs":     {meta("order", "17", "paid", "true"), ""},
		"created after":            {query.List{CreatedAfter: hour(3)}, "fed"},
		"created a little later":   {query.List{CreatedAfter: hour(3).Add(1)}, "fe"},
		"created before":           {query.List{CreatedBefore: hour(3)}, "cba"},
		"created a little before":  {query.List{CreatedBefore: hour(3).Add(1)}, "dcba"},
		"created between":          {query.List{CreatedAfter: hour(1), CreatedBefore: hour(4)}, "dcb"},
		"created in no time":       {query.List{CreatedAfter: hour(4), CreatedBefore: hour(1)}, ""},
		"created before 1970":      {query.List{CreatedBefore: time.Unix(-5, 0)}, ""},
		"created since 1969":       {query.List{CreatedAfter: time.Unix(-5, 0)}, "fedcba"},
		"all at once": {query.List{Status: "done", Agent: "desk", Reason: "natural_end", ResponseState: "done", CreatedAfter: hour(0), CreatedBefore: hour(1),
			Metadata: map[string]string{"paid": "true"}}, "a"},
	} {
		for _, limit := range []int{0, 1, 2} {
			tt.q.Limit = limit
			if got := x.listed(tt.q, runs); got != tt.want {
				t.Errorf("%s, %d at once: %q, want %q", name, limit, got, tt.want)
			}
		}
	}
}

func TestFiltersThatAreNoneAreRefused(t *testing.T) {
	x := newFixture(t, nil)
	many := map[string]string{}
	for i := range 17 {
		many[fmt.Sprint("k", i)] = "v"
	}
	const reasons = "reason must be natural_end, behavior_requested, stopped, cancelled, blocked or error"
	for _, tt := range []struct {
		q    query.List
		want string
	}{
		{query.List{Status: "asleep"}, "status must be created, running, waiting or done"},
		{query.List{Reason: "suspended"}, reasons},
		{query.List{Reason: "NaturalEnd"}, reasons},
		{query.List{ResponseState: " done"}, "response_state must be done, no_op or awaiting_input"},
		{query.List{Kind: "anything"}, "kind must be approval, client, input, unknown_outcome, interrupt or question"},
		{query.List{Metadata: many}, "a list takes at most 16 metadata filters"},
		{query.List{Metadata: map[string]string{"": "empty"}}, "the filter metadata. has no key; write metadata.KEY=VALUE"},
		{query.List{Metadata: map[string]string{"{key}": "v"}}, "the filter metadata.{key} has no key; write metadata.KEY=VALUE"},
		{query.List{Metadata: map[string]string{"k": "\xff"}}, "a metadata filter is not UTF-8"},
	} {
		_, err := x.Runs(t.Context(), anna, tt.q)
		if e := x.wantCode(err, refusal.CodeInvalid); e.Detail != tt.want {
			t.Errorf("refused with %q, want %q", e.Detail, tt.want)
		}
	}
}

func TestACursorIsOfItsFilters(t *testing.T) {
	x := newFixture(t, nil)
	for range 4 {
		x.worker.Finish(x.runOf(`{"k":"v"}`).ID, "done")
	}
	lists := []query.List{{}, {Status: "done"}, {Agent: "desk"}, {Reason: "natural_end"}, {ResponseState: "done"}, {Status: "done", Agent: "desk"},
		{Metadata: map[string]string{"k": "v"}}, {CreatedAfter: time.Unix(1, 0)}, {CreatedBefore: x.clock.Now().Add(time.Hour)}}
	cursors := make([]string, len(lists))
	for i, q := range lists {
		q.Limit = 1
		page, err := x.Runs(t.Context(), anna, q)
		if err != nil || page.Next == "" {
			t.Fatalf("list %d: %+v, %v", i, page, err)
		}
		cursors[i] = page.Next
	}
	for i, q := range lists {
		for k, cursor := range cursors {
			q.Cursor = cursor
			page, err := x.Runs(t.Context(), anna, q)
			if i != k {
				x.wantCode(err, refusal.CodeBadCursor)
			} else if err != nil || len(page.Items) != 3 {
				t.Errorf("list %d goes on with %d runs, %v", i, len(page.Items), err)
			}
		}
	}
	_, mark, _ := strings.Cut(cursors[1], ".")
	for _, cursor := range []string{"." + mark, mark, "x." + mark, cursors[0] + "." + mark[1:], cursors[1] + "." + mark, cursors[1] + "x"} {
		_, err := x.Runs(t.Context(), anna, query.List{Status: "done", Cursor: cursor})
		x.wantCode(err, refusal.CodeBadCursor)
	}
}

// The mark is no secret: a caller who puts it on another place of the list is shown no more than
// the filters allow.
func TestAForgedCursorPassesNoFilter(t *testing.T) {
	x := newFixture(t, nil)
	runs := []wire.Run{x.runOf(`null`), x.runOf(`null`), x.runOf(`null`), x.runOf(`null`)}
	newest, err := x.Runs(t.Context(), anna, query.List{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []query.List{{CreatedBefore: runs[2].CreatedAt.Time, Limit: 1}, {CreatedBefore: runs[2].CreatedAt.Time, CreatedAfter: runs[0].CreatedAt.Time, Limit: 1}} {
		page, err := x.Runs(t.Context(), anna, q)
		if err != nil {
			t.Fatal(err)
		}
		_, mark, _ := strings.Cut(page.Next, ".")
		q.Cursor = newest.Next + "." + mark
		if got := x.listed(q, runs); got != "ba" {
			t.Errorf("behind a forged cursor are %q", got)
		}
	}
}

// bulk puts runs that were not taken up yet into the store, three of each moment; the first is the
// newest.
func (x *fixture) bulk(tenant string, n int, metadata func(i int) string) []core.Record {
	x.t.Helper()
	var all []core.Record
	for i := range n {
		thread := core.ThreadID(fmt.Sprintf("bulk%05d", i))
		h := core.Head{Identity: core.Identity{Tenant: tenant, Thread: thread, Run: core.RunID(thread, 0), Agent: "desk", Version: "v", Schema: core.SchemaVersion},
			Status: core.RunCreated, Origin: core.Origin{Born: 1_000_000 + int64(i/3), Metadata: []byte(metadata(i))},
			Inbox: map[string]core.Signal{core.KeyStart: {Kind: core.SignalStart, Value: core.Encode(core.TextParts("go"))}}}
		if _, err := x.store.Start(x.t.Context(), engine.StartRequest{Head: h}); err != nil {
			x.t.Fatal(err)
		}
		all = append(all, h.Record())
	}
	slices.Reverse(all)
	return all
}

func TestFilteredPagesLeadThroughTheWholeList(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	x := newFixture(t, nil)
	all := x.bulk(anna.Tenant, 400, func(int) string {
		return fmt.Sprintf(`{"often":%d,"seldom":%d}`, random.IntN(2), random.IntN(60))
	})
	for range 60 {
		q := query.List{Limit: 1 + random.IntN(40), Metadata: map[string]string{}}
		if random.IntN(2) == 0 {
			q.Metadata["often"] = "1"
		}
		if random.IntN(3) == 0 {
			q.Metadata["seldom"] = fmt.Sprint(random.IntN(60))
		}
		from, to := all[random.IntN(len(all))].Born, all[random.IntN(len(all))].Born
		if random.IntN(2) == 0 {
			q.CreatedAfter = time.UnixMilli(from)
		}
		if random.IntN(2) == 0 {
			q.CreatedBefore = time.UnixMilli(to)
		}
		var want, got []string
		for _, r := range all {
			says := func(key string) bool {
				value, asked := q.Metadata[key]
				return !asked || strings.Contains(string(r.Metadata), fmt.Sprintf("%q:%s", key, value)+",") || strings.Contains(string(r.Metadata), fmt.Sprintf("%q:%s", key, value)+"}")
			}
			if says("often") && says("seldom") && (q.CreatedAfter.IsZero() || r.Born >= from) && (q.CreatedBefore.IsZero() || r.Born < to) {
				want = append(want, r.Run)
			}
		}
		for {
			page, err := x.Runs(t.Context(), anna, q)
			if err != nil || len(page.Items) > q.Limit || len(page.Items) == 0 && page.Next != "" {
				t.Fatal(len(page.Items), page.Next, err)
			}
			for _, r := range page.Items {
				got = append(got, r.ID)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: %d runs, want %d", q, len(got), len(want))
		}
	}
}

func TestFiltersShowNoOtherTenant(t *testing.T) {
	x := newFixture(t, nil)
	both := func(int) string { return `{"order":"A-17"}` }
	x.bulk("other", 30, both)
	mine := x.runOf(both(0))
	q := query.List{Metadata: map[string]string{"order": "A-17"}, Status: "created", CreatedAfter: time.Unix(0, 0), Limit: 7}
	if got := x.listed(q, []wire.Run{mine}); got != "a" {
		t.Errorf("the runs of the tenant are %q", got)
	}
	bob := frontend.Caller{Tenant: "other", By: "bob"}
	page, err := x.Runs(t.Context(), bob, q)
	if err != nil || len(page.Items) != 7 {
		t.Fatal(page, err)
	}
	q.Cursor = page.Next
	page, err = x.Runs(t.Context(), anna, q) // a cursor is a place, not a right
	if err != nil || len(page.Items) != 0 {
		t.Errorf("behind another tenant's cursor: %+v, %v", page.Items, err)
	}
	_, err = x.ThreadRuns(t.Context(), bob, mine.ThreadID, query.List{Metadata: q.Metadata})
	x.wantCode(err, refusal.CodeThreadNotFound)
}

func TestRunsOfAThreadAreFiltered(t *testing.T) {
	x := newFixture(t, nil)
	first := x.runOf(`{"n":1}`)
	x.runOf(`{"n":1}`)
	x.worker.Finish(first.ID, "done")
	second, err := x.say(first.ThreadID, "", "and now this", "")
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[string]string{"done": first.ID, "created": second.Run.ID} {
		page, err := x.ThreadRuns(t.Context(), anna, first.ThreadID, query.List{Status: status})
		if err != nil || len(page.Items) != 1 || page.Items[0].ID != want {
			t.Errorf("%s: %+v, %v", status, page, err)
		}
	}
}

func TestApprovalsAreListedByKindAndThread(t *testing.T) {
	x := newFixture(t, nil)
	runs := map[string]wire.Run{}
	for name, kind := range map[string]core.Kind{"approval": core.KindApproval, "client": core.KindClient, "input": core.KindInput} {
		runs[name], _ = x.waiting(kind)
	}
	for name, q := range map[string]query.List{"client": {Kind: "client"}, "approval": {Thread: runs["approval"].ThreadID},
		"input": {Kind: "input", Agent: "desk", Thread: runs["input"].ThreadID, Limit: 1}} {
		page, err := x.Approvals(t.Context(), anna, q)
		if err != nil || len(page.Items) != 1 || page.Items[0].RunID != runs[name].ID || page.Next != "" {
			t.Errorf("%+v: %+v, %v", q, page, err)
		}
	}
	for _, q := range []query.List{{Kind: "interrupt"}, {Thread: "thr_none"}, {Thread: strings.Repeat("x", 300)}, {Thread: runs["input"].ThreadID, Kind: "client"},
		{Thread: runs["input"].ThreadID, Agent: "other"}} {
		if page, err := x.Approvals(t.Context(), anna, q); err != nil || len(page.Items) != 0 || page.Next != "" {
			t.Errorf("%+v: %+v, %v", q, page, err)
		}
	}
	all := slices.Sorted(maps.Keys(runs))
	page, err := x.Approvals(t.Context(), anna, query.List{Limit: 1})
	if err != nil || page.Next == "" {
		t.Fatal(page, err)
	}
	for _, q := range []query.List{{Kind: "client"}, {Agent: "desk"}, {Thread: runs[all[0]].ThreadID}, {Kind: "approval", Thread: runs[all[0]].ThreadID}} {
		q.Cursor = page.Next
		_, err := x.Approvals(t.Context(), anna, q)
		x.wantCode(err, refusal.CodeBadCursor)
	}
	bob := frontend.Caller{Tenant: "other", By: "bob"}
	if page, err := x.Approvals(t.Context(), bob, query.List{Thread: runs["client"].ThreadID}); err != nil || len(page.Items) != 0 {
		t.Errorf("another tenant sees %+v, %v", page, err)
	}
}
