package engine_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// An approver is shown all messages of a run, so each names the segment of the one before it. Two
// in one segment name that of the one before both.
func TestEachUserMessageNamesTheOneBefore(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{}`)), calls(call("c2", "pay", `{}`)), says("done"))
	r.ask("pay")
	r.start("one")
	r.work()
	r.must(r.say("m1", "two"))
	r.must(r.say("m2", "three"))
	r.must(r.decide("c1", resume("d1", `true`)))
	r.work()
	r.must(r.say("m3", "four"))
	r.must(r.decide("c2", resume("d2", `true`)))
	r.work()
	at, earlier := map[string]int64{}, map[string]int64{}
	for _, s := range r.journal() {
		for _, m := range s.Messages {
			if m.Role == core.RoleUser {
				at[m.Text()], earlier[m.Text()] = s.Seq, m.Earlier
			}
		}
	}
	if len(at) != 4 || at["two"] != at["three"] || earlier["one"] != 0 || earlier["two"] != at["one"] || earlier["three"] != 0 || earlier["four"] != at["two"] ||
		r.head().LastUserMessage != at["four"] {
		t.Errorf("messages at %v name %v; the head names %d", at, earlier, r.head().LastUserMessage)
	}
}
