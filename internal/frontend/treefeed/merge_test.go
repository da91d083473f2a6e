package treefeed

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// grove is the journals of a random tree of runs, by run.
type grove struct {
	random   *rand.Rand
	journals map[string][]wire.Event
	step     int // events that one fetch reads
}

const groveRoot = "run_r_0"

func newGrove(seed uint64) *grove {
	g := &grove{random: rand.New(rand.NewPCG(seed, 1)), journals: map[string][]wire.Event{}}
	g.grow(groveRoot, 0, time.Unix(0, 0))
	g.step = 1 + g.random.IntN(5)
	return g
}

// grow writes the journal of a run and of those that it starts; the end of a child comes at a time
// that has nothing to do with the parent's clock.
func (g *grove) grow(run string, depth int, at time.Time) {
	var open []string
	add := func(kind core.EventType, child string) {
		at = at.Add(time.Duration(g.random.IntN(3)) * time.Second)
		n := len(g.journals[run]) + 1
		e := wire.Event{Seq: int64(n), RunID: run, Type: string(kind), At: wire.Millis(at.UnixMilli()), Cursor: strconv.Itoa(n)}
		if child != "" {
			e.Data = core.Encode(map[string]any{"call_id": "c" + child, "child_run_id": child, "agent": "a"})
		}
		g.journals[run] = append(g.journals[run], e)
	}
	for range 2 + g.random.IntN(6) {
		switch what := g.random.IntN(4); {
		case what == 0 && depth < 3:
			child := fmt.Sprintf("run_%s%d_0", run[4:len(run)-2], len(open))
			if g.journals[child] != nil {
				continue
			}
			open = append(open, child)
			add(core.EventChildStarted, child)
			g.grow(child, depth+1, at.Add(time.Duration(g.random.IntN(5)-2)*time.Second))
		case what == 1 && len(open) > 0:
			add(core.EventChildEnded, open[g.random.IntN(len(open))])
		default:
			add(core.EventRunStatus, "")
		}
	}
}

func (g *grove) fetch(b *branch) error {
	journal := g.journals[b.run]
	from := 0
	if b.at != "" {
		from, _ = strconv.Atoi(b.at)
	}
	to := min(len(journal), from+g.step)
	b.left, b.read, b.done = slices.Clone(journal[from:to]), to == len(journal), to == len(journal)
	return nil
}

// from merges up to most events behind a cursor. Paths are not part of cursors, and are left out.
func (g *grove) from(t *testing.T, cursor string, most int) ([]wire.Event, string) {
	t.Helper()
	branches, err := readCursor(cursor, groveRoot)
	if err != nil {
		t.Fatal(err)
	}
	merge := &trunk{branches: branches, fetch: g.fetch}
	events, err := merge.take(most, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		events[i].Path = nil
	}
	return events, merge.cursor()
}

// The events behind any cursor are the rest of the whole, in the same order.
func TestATreeSplitAtAnyCursorIsTheWhole(t *testing.T) {
	for seed := range uint64(60) {
		g := newGrove(seed)
		whole, _ := g.from(t, "", 10_000)
		n := 0
		for _, journal := range g.journals {
			n += len(journal)
		}
		if len(whole) != n {
			t.Fatalf("seed %d: %d of %d events", seed, len(whole), n)
		}
		for i, e := range whole {
			rest, _ := g.from(t, e.Cursor, 10_000)
			if diff := cmp.Diff(whole[i+1:], rest); diff != "" {
				t.Fatalf("seed %d: behind event %d (-want +got):\n%s", seed, i, diff)
			}
		}
		var pages []wire.Event
		for cursor := ""; ; {
			page, next := g.from(t, cursor, 1+g.random.IntN(4))
			if len(page) == 0 {
				break
			}
			pages, cursor = append(pages, page...), next
		}
		if diff := cmp.Diff(whole, pages, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Cursor" }, cmp.Ignore())); diff != "" {
			t.Fatalf("seed %d: in pages (-want +got):\n%s", seed, diff)
		}
	}
}

// Each run's events keep their order; they come after the event that starts the run, and before the
// one that ends it.
func TestTheOrderOfATree(t *testing.T) {
	for seed := range uint64(300) {
		g := newGrove(seed)
		whole, _ := g.from(t, "", 10_000)
		last, started, ended := map[string]int64{}, map[string]bool{groveRoot: true}, map[string]bool{}
		for i, e := range whole {
			if e.Seq != last[e.RunID]+1 || !started[e.RunID] || ended[e.RunID] {
				t.Fatalf("seed %d: event %d is %s %d, behind %d; started %v, ended %v", seed, i, e.RunID, e.Seq, last[e.RunID], started[e.RunID], ended[e.RunID])
			}
			last[e.RunID] = e.Seq
			switch child := childOf(e); core.EventType(e.Type) {
			case core.EventChildStarted:
				started[child] = true
			case core.EventChildEnded:
				ended[child] = true
			}
		}
	}
}

func TestACursorOfAnotherTreeIsRefused(t *testing.T) {
	g := newGrove(7)
	_, cursor := g.from(t, "", 3)
	for _, text := range []string{cursor[:len(cursor)-3], "dHJlZTEg", "!", "MS4xLjA"} {
		if _, err := readCursor(text, groveRoot); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	if _, err := readCursor(cursor, "run_other_0"); err == nil {
		t.Error("the cursor of another run was taken")
	}
}

// At most so many open runs are followed, and the events that start others say that they are not.
func TestMoreRunsThanAreFollowed(t *testing.T) {
	g := &grove{journals: map[string][]wire.Event{}, step: 10}
	for i := range Most + 5 {
		child := fmt.Sprintf("run_c%d_0", i)
		g.journals[groveRoot] = append(g.journals[groveRoot], wire.Event{Seq: int64(i + 1), RunID: groveRoot, Type: string(core.EventChildStarted), Cursor: strconv.Itoa(i + 1),
			Data: core.Encode(map[string]any{"child_run_id": child})})
		g.journals[child] = []wire.Event{{Seq: 1, RunID: child, At: wire.Millis(1000), Cursor: "1"}}
	}
	events, _ := g.from(t, "", 10_000)
	if own := Most + 5; len(events) != own+Most {
		t.Errorf("%d events, want %d and those of %d children", len(events), own, Most)
	}
	for _, e := range events {
		if e.Unfollowed != (e.RunID == groveRoot && e.Seq > int64(Most)) {
			t.Errorf("event %d of %s is said to start a run that isn't followed: %v", e.Seq, e.RunID, e.Unfollowed)
		}
	}
}

// A child that goes on after it was read, and ends, is read to its end before that is taken above.
func TestTheLastEventsOfAChildComeBeforeItsEnd(t *testing.T) {
	child := "run_c_0"
	about := core.Encode(map[string]any{"child_run_id": child})
	g := &grove{step: 1, journals: map[string][]wire.Event{
		groveRoot: {{Seq: 1, RunID: groveRoot, Type: string(core.EventChildStarted), Data: about, Cursor: "1"}, {Seq: 2, RunID: groveRoot, At: wire.Millis(5000), Cursor: "2"}},
		child:     {{Seq: 1, RunID: child, At: wire.Millis(1000), Cursor: "1"}},
	}}
	merge := &trunk{branches: []*branch{{run: groveRoot}}, fetch: func(b *branch) error {
		err := g.fetch(b)
		b.done = false
		if b.read = len(b.left) == 0; b.run == child && b.read && len(g.journals[child]) == 1 {
			// all of it was read; now it ends
			g.journals[child] = append(g.journals[child], wire.Event{Seq: 2, RunID: child, At: wire.Millis(9000), Cursor: "2"})
			g.journals[groveRoot] = append(g.journals[groveRoot], wire.Event{Seq: 3, RunID: groveRoot, Type: string(core.EventChildEnded), At: wire.Millis(9000), Data: about, Cursor: "3"})
		}
		return err
	}}
	events, err := merge.take(10, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, e := range events {
		order = append(order, fmt.Sprintf("%s %d", e.RunID, e.Seq))
	}
	if want := []string{groveRoot + " 1", child + " 1", groveRoot + " 2", child + " 2", groveRoot + " 3"}; !slices.Equal(order, want) {
		t.Errorf("order %v", order)
	}
}
