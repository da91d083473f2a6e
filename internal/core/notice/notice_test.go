package notice_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

func TestWhichEventsAreNoticesOfWhichKind(t *testing.T) {
	happens := map[notice.Kind]bool{}
	for _, c := range []struct {
		event core.EventType
		data  string
		want  map[notice.Kind]notice.Kind // by the only subscription; "": all
	}{
		{core.EventCallSuspended, `{"kind":"approval"}`, map[notice.Kind]notice.Kind{"": notice.Suspended, notice.Suspended: notice.Suspended}},
		{core.EventCallSuspended, `{"kind":"input"}`, map[notice.Kind]notice.Kind{"": notice.Suspended, notice.Suspended: notice.Suspended}},
		{core.EventCallSuspended, `{"kind":"interrupt"}`, nil},
		{core.EventCallReminded, `{}`, map[notice.Kind]notice.Kind{"": notice.Reminded, notice.Reminded: notice.Reminded}},
		{core.EventCallDeadlineNear, `{}`, map[notice.Kind]notice.Kind{"": notice.DeadlineNear, notice.DeadlineNear: notice.DeadlineNear}},
		{core.EventCallEscalated, `{"group":"board"}`, map[notice.Kind]notice.Kind{"": notice.Reminded, notice.Reminded: notice.Reminded, notice.Suspended: notice.Suspended}},
		{core.EventCallEscalated, `{"group":"board","replaced":true}`, nil},
		{core.EventDecisionRecorded, `{"applied":true}`, map[notice.Kind]notice.Kind{"": notice.Decided, notice.Decided: notice.Decided}},
		{core.EventDecisionRecorded, `{"applied":false,"late":true}`, nil},
		{core.EventDecisionRecorded, `{`, nil},
		{core.EventCallCancelled, `{"suspension":"sus_1"}`, map[notice.Kind]notice.Kind{"": notice.Decided, notice.Decided: notice.Decided}},
		{core.EventCallCancelled, `{"may_have_run":true}`, nil},
		{core.EventRunEnded, `{"reason":"natural_end"}`, map[notice.Kind]notice.Kind{"": notice.Done, notice.Done: notice.Done}},
		{core.EventRunEnded, `{"reason":"cancelled"}`, map[notice.Kind]notice.Kind{"": notice.Done, notice.Done: notice.Done}},
		{core.EventRunEnded, `{"reason":"error"}`, map[notice.Kind]notice.Kind{"": notice.Failed, notice.Done: notice.Done, notice.Failed: notice.Failed}},
		{core.EventRunEnded, `{"reason":"stopped","code":"max_rounds"}`, map[notice.Kind]notice.Kind{"": notice.Failed, notice.Done: notice.Done, notice.Failed: notice.Failed}},
		{core.EventRunEnded, `{}`, map[notice.Kind]notice.Kind{"": notice.Failed, notice.Done: notice.Done, notice.Failed: notice.Failed}},
		{core.EventRunStatus, `{"status":"done"}`, nil},
		{core.EventCallSucceeded, `{}`, nil},
	} {
		e := core.Event{Type: c.event, Data: json.RawMessage(c.data)}
		for _, alone := range append([]notice.Kind{""}, notice.Kinds...) {
			set := notice.Set{alone}
			if alone == "" {
				set = notice.Kinds
			}
			got, some := set.Of(e)
			if got != c.want[alone] || some != (got != "") {
				t.Errorf("%s %s for a subscriber to %q: %q, %v", c.event, c.data, set, got, some)
			}
			happens[got] = true
		}
	}
	for _, kind := range notice.Kinds { // a subscriber must not wait for what never comes
		if !happens[kind] {
			t.Errorf("no event is a notice of the kind %s", kind)
		}
	}
}

// A line whose attempts fail at random is worked off: first attempts come in the order of events,
// and each entry is attempted until it is delivered or a day is over.
func TestALineIsWorkedOff(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, seed))
		now, line, first := int64(1000), notice.Line{}, int64(0)
		fails := rng.Float64()
		for event := int64(1); event < 30; event++ {
			line, _ = line.HandOver(event, notice.Decided, event, now)
			for range rng.IntN(4) {
				now, first = step(t, seed, rng, &line, now, first, fails)
			}
		}
		for len(line.Entries) > 0 {
			now, first = step(t, seed, rng, &line, now, first, fails)
		}
		if first != 29 {
			t.Fatalf("seed %d: the last first attempt was of event %d", seed, first)
		}
	}
}

// step makes the next attempt, at its time.
func step(t *testing.T, seed uint64, rng *rand.Rand, line *notice.Line, now, first int64, fails float64) (later, newFirst int64) {
	t.Helper()
	if len(line.Entries) == 0 {
		return now, first
	}
	now = max(now, line.Leave(now))
	event, some := line.Next(now)
	if !some {
		t.Fatalf("seed %d: nothing to do at %d, which is when the line is due: %+v", seed, now, line)
	}
	entry := line.Entries[event]
	if entry.Tries == 0 {
		if event <= first {
			t.Fatalf("seed %d: event %d was attempted first behind %d", seed, event, first)
		}
		first = event
	}
	if age := time.Duration(now-entry.Since) * time.Millisecond; age > 24*time.Hour {
		t.Fatalf("seed %d: event %d is attempted after %v", seed, event, age)
	}
	outcome := notice.Delivered
	if rng.Float64() < fails {
		outcome = notice.Refused
	}
	after, state := entry.After(outcome, notice.Attempt{At: now, Took: 5}, rng.Float64())
	if pause := after.NotBefore - now; state == notice.StateWaiting && (pause < 2500 || pause > 2*60*60_000+5) {
		t.Fatalf("seed %d: attempt %d is followed by a pause of %d ms", seed, after.Tries, pause)
	}
	if line.Entries[event] = after; state != notice.StateWaiting {
		delete(line.Entries, event)
	}
	return now + 5, first
}

func TestANoticeIsHandedOverOnceAndInOrder(t *testing.T) {
	line, added := notice.Line{}.HandOver(7, notice.Decided, 3, 1000)
	if !added || line.Last != 7 || line.Adds != 1 || line.Due != 1000 {
		t.Fatalf("%v, %+v", added, line)
	}
	for _, event := range []int64{6, 7} {
		if again, added := line.HandOver(event, notice.Decided, 3, 2000); added || again.Due != 1000 || len(again.Entries) != 1 {
			t.Errorf("event %d: %v, %+v", event, added, again)
		}
	}
}
