package sim_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/planner"
)

// count looks at what is counted in a run: it never goes back, and stays within its budget.
func (w *watched) count(old, h core.Head) {
	w.wait(h)
	w.asleepInOutage(old, h)
	w.makeWay(old, h)
	if b := w.s.plan.terms; b.RunCalls > 0 && h.ToolCalls > b.RunCalls || b.StepCalls > 0 && h.StepCalls > b.StepCalls {
		w.s.wrong("more calls were let through than the budget has: %s", core.Encode(h))
	}
	if h.Run != old.Run {
		return
	}
	was := []int64{int64(old.Step), int64(old.Turn), int64(old.Activations), int64(old.Resumes), old.InputTokens, old.OutputTokens,
		int64(old.ToolCalls), int64(old.Yields), old.Awake}
	is := []int64{int64(h.Step), int64(h.Turn), int64(h.Activations), int64(h.Resumes), h.InputTokens, h.OutputTokens,
		int64(h.ToolCalls), int64(h.Yields), h.Awake}
	for i := range was {
		if is[i] < was[i] {
			w.s.wrong("counter %d of %s went back: %s\n after %s", i, h.Run, core.Encode(h), core.Encode(old))
		}
	}
}

// wait measures how long a run is seen to wait for somebody.
func (w *watched) wait(h core.Head) {
	now := w.s.w.Now().UnixMilli()
	since, waits := w.waiting[h.Run]
	switch {
	case h.Status == core.RunWaiting && h.AwakeSince != 0:
		w.s.wrong("%s waits, and its time awake runs on: %s", h.Run, core.Encode(h))
	case h.Status == core.RunWaiting && !waits:
		w.waiting[h.Run] = now
	case h.Status != core.RunWaiting && waits:
		w.waited[h.Run] += now - since
		delete(w.waiting, h.Run)
	}
}

// checkAwake: the time a run was awake and the time it was seen to wait are not more than there
// was. Workers whose clocks are wrong measure wrongly.
func (s *stage) checkAwake(ctx context.Context, t *thread) {
	h, err := s.db.Load(ctx, s.tenant, t.id)
	if err != nil || s.plan.skew > 0 || s.plan.jumps > 0 {
		return
	}
	if there := h.At - h.Born; h.Awake+s.watched.waited[h.Run] > there {
		s.wrong("%s was awake for %d ms and waited for %d of %d ms", h.Run, h.Awake, s.watched.waited[h.Run], there)
	}
}

// checkPauses: every interrupt that was stored is journaled once, and made its run wait if it says
// so: others came when it was waiting already, or ended.
func (s *stage) checkPauses(t *thread, segments []core.Segment) {
	came, applied := map[string]int{}, map[string]int{}
	for _, seg := range segments {
		for _, e := range seg.Events {
			var call core.SuspendedCall
			var asked struct{ Applied bool }
			switch {
			case e.Type == core.EventInterruptRecorded && json.Unmarshal(e.Data, &asked) == nil:
				if came[e.RunID]++; asked.Applied {
					applied[e.RunID]++
				}
			case e.Type == core.EventCallSuspended && json.Unmarshal(e.Data, &call) == nil && call.Kind == core.KindInterrupt:
				applied[e.RunID]--
			}
		}
	}
	for run, n := range applied {
		if n != 0 {
			s.wrong("I-2: %d more interrupts of %s are said to have been applied than made it wait", n, run)
		}
	}
	for _, req := range s.watched.stored {
		if req.Thread == t.id && req.Signal.Kind == core.SignalPause {
			came[req.Run]--
		}
	}
	for run, n := range came {
		if n != 0 {
			s.wrong("I-2, I-3: %s was interrupted %d times more often than it was asked to", run, n)
		}
	}
}

// checkSignals: what was stored is journaled, once (I-2, I-3).
func (s *stage) checkSignals(t *thread, journaled []decided) {
	times := map[string]int{}
	for _, d := range journaled {
		times[fmt.Sprint(d.Suspension, d.DecisionID, d.Late)]++
	}
	for _, req := range s.watched.stored {
		what, want := "", 1
		switch {
		case req.Thread != t.id:
			continue
		case req.Signal.Kind == core.SignalDecision:
			what = fmt.Sprint(req.Suspension, req.Signal.ID, false)
			if s.referee.thread(t.id).held.gone[[2]string{req.Suspension, req.Signal.ID}] != 0 {
				want = 0
			}
		case req.Signal.Kind == core.SignalLate:
			what = fmt.Sprint(req.Late, req.Signal.ID, true)
		default:
			continue
		}
		if times[what] != want {
			s.wrong("I-2, I-3: the signal %s of %s is %d times in the journal", core.Encode(req.Signal), req.Run, times[what])
		}
	}
}

// checkQueue: messages that waited for the end of a run begin the next ones in the order in which
// they were queued. A copy of one without a key that the network lets land later is a message of
// its own, and may come when nothing waits.
func (s *stage) checkQueue(t *thread, segments []core.Segment) {
	var queued, begun []string
	waits := map[string]bool{}
	for _, seg := range segments {
		for _, e := range seg.Events {
			var m struct {
				Parts []core.Part `json:"parts"`
			}
			if e.Type == core.EventMessageQueued && json.Unmarshal(e.Data, &m) == nil {
				text := core.Message{Parts: m.Parts}.Text()
				if said := t.said[text]; said != nil && said.keyless && s.plan.late > 0 {
					continue
				}
				queued, waits[text] = append(queued, text), true
			}
		}
		for _, m := range seg.Messages {
			if m.Role == core.RoleUser && waits[m.Text()] {
				begun = append(begun, m.Text())
			}
		}
	}
	// a copy of a message without a key cannot be told from another message
	if s.plan.late > 0 {
		copied := func(text string) bool { return t.said[text] != nil && t.said[text].keyless }
		queued, begun = slices.DeleteFunc(queued, copied), slices.DeleteFunc(begun, copied)
	}
	if !slices.Equal(queued, begun) {
		s.wrong("I-2: messages were queued as %v, and began runs as %v", queued, begun)
	}
}

// checkState: the state is what all committed writes come to, and each body that came to a result
// wrote once.
func (s *stage) checkState(ctx context.Context, t *thread, segments []core.Segment) {
	h, err := s.db.Load(ctx, s.tenant, t.id)
	if err != nil {
		return
	}
	want, run := core.State{}, ""
	for _, seg := range segments {
		for _, e := range seg.Events {
			var delta core.StateDelta
			if e.Type != core.EventStateDelta || json.Unmarshal(e.Data, &delta) != nil {
				continue
			}
			if e.RunID != run {
				want.Run, run = nil, e.RunID
			}
			want = want.Apply(delta.Ops)
		}
	}
	if run != h.Run {
		want.Run = nil
	}
	got := core.ReadState(h, segments)
	if a, b := core.Encode(tidy(want)), core.Encode(tidy(got)); string(a) != string(b) {
		s.wrong("the writes of %s come to %s, and its state is %s", t.id, a, b)
	}
	if got, want := number(got.Get(core.ThreadScope, "bodies")), int64(bodies(segments)); got != want {
		s.wrong("%d bodies of %s came to a result or to wait, and %d have written", want, t.id, got)
	}
}

// tidy has no maps that are nil, so that two states that hold the same look the same.
func tidy(s core.State) core.State { return s.Apply([]core.StateOp{{Key: "", Op: core.StateDelete}}) }

// bodies counts what the journal says of bodies that kept what they wrote: a result of their own,
// or a wish to wait.
func bodies(segments []core.Segment) (n int) {
	// calls whose process was lost: their result may be somebody's word
	lost := map[string]bool{}
	told := map[string]bool{} // and is
	for _, seg := range segments {
		for _, e := range seg.Events {
			var rec core.DecisionRecord
			var call core.SuspendedCall
			switch {
			case e.Type == core.EventCallSuspended && json.Unmarshal(e.Data, &call) == nil:
				lost[call.CallID] = call.Kind == core.KindUnknownOutcome
				if bodyAsks(call) {
					n++
				}
			case e.Type == core.EventDecisionRecorded && json.Unmarshal(e.Data, &rec) == nil && rec.Applied:
				told[rec.CallID] = lost[rec.CallID] && !core.IsNull(rec.Result)
			}
		}
		for _, m := range seg.Messages {
			if m.Role == core.RoleTool && strings.HasPrefix(m.Text(), "did ") && !told[m.CallID] {
				n++
			}
		}
	}
	return n
}

// bodyAsks says whether a body asks, and not the escalation of what it had asked.
func bodyAsks(call core.SuspendedCall) bool {
	return call.Suspension.Action == "confirm" && call.Follows == ""
}

// readied counts calls that are let through in a commit of their own, because a hook refused
// another call of the round; their bodies start later, or never.
func (w *watched) readied(old, h core.Head) {
	for id, c := range h.Calls {
		if was := old.Calls[id]; c.HooksEpoch != 0 && (was.HooksEpoch == 0 || old.Run != h.Run) {
			w.ready[h.Thread]++
		}
	}
}

// unready takes from them what started.
func (w *watched) unready(old, h core.Head, seg core.Segment) {
	for _, e := range seg.Events {
		var call core.CallState
		if e.Type == core.EventCallStarted && e.RunID == h.Run && json.Unmarshal(e.Data, &call) == nil &&
			(old.Run == h.Run && old.Calls[call.CallID].HooksEpoch != 0 || h.Calls[call.CallID].HooksEpoch != 0) {
			w.ready[h.Thread]--
		}
	}
}

// checkHooks: what a hook wanted was committed once for each time its phase came.
func (s *stage) checkHooks(ctx context.Context, t *thread, segments []core.Segment) {
	h, err := s.db.Load(ctx, s.tenant, t.id)
	if err != nil || !s.plan.hooks {
		return
	}
	events := map[core.EventType]int{}
	after, failed := 0, map[core.Phase]int{}
	for _, seg := range segments {
		for _, e := range seg.Events {
			events[e.Type]++
			if p, ok := failedIn(e); ok {
				failed[p]++
			}
			var call core.SuspendedCall
			if e.Type == core.EventCallSuspended && json.Unmarshal(e.Data, &call) == nil && bodyAsks(call) {
				after++
			}
		}
		for _, m := range seg.Messages {
			after += strings.Count(m.Text()+m.Added, seen)
		}
	}
	state := core.ReadState(h, segments)
	runs := len(s.records(ctx, t))
	for phase, want := range map[core.Phase]int{core.StepStart: events[core.EventStepStarted], core.BeforeInference: events[core.EventStepStarted],
		core.AfterInference: events[core.EventStepStarted], core.AfterToolExecute: after, core.StepEnd: events[core.EventStepEnded],
		core.BeforeToolExecute: events[core.EventCallStarted], core.RunEnd: runs, core.RunStart: runs} {
		if phase != core.BeforeToolExecute { // a call that is refused does not start
			want -= failed[phase]
		}
		s.faults.Counts["hooks failed"] += failed[phase]
		got := number(state.Get(core.ThreadScope, counted(phase)))
		// A run may end before it starts, a call be taken for lost before it runs, and
		// hooks be given up when their process is lost each time.
		// by a run that ends as a crash loop
		givenUp := (phase == core.RunEnd || phase == core.StepEnd) && s.plan.limits != unlimited
		fewer := phase == core.RunStart || phase == core.BeforeToolExecute || givenUp
		most := want
		if phase == core.BeforeToolExecute {
			most += s.watched.ready[t.id]
		}
		if got > int64(2*most) || got < int64(2*want) && !fewer {
			s.wrong("%s came %d times in %s, and its hook was counted %d half times", phase, want, t.id, got)
		}
	}
}

// failedIn is the phase of a hook whose failure an event tells.
func failedIn(e core.Event) (core.Phase, bool) {
	if e.Type != core.EventHookFailed {
		return 0, false
	}
	for phase := core.RunStart; phase <= core.RunEnd; phase++ {
		if strings.Contains(string(e.Data), fmt.Sprintf("%s: %v", phase, errHook)) || strings.Contains(string(e.Data), phase.String()+": not called: the agent is unavailable") {
			return phase, true
		}
	}
	return 0, false
}

// checkMemory: every run that ended by itself was offered to the agent's memory, and no other.
// Where claims are counted it may be given up instead, which the journal says.
func (s *stage) checkMemory(ctx context.Context, t *thread, segments []core.Segment) {
	givenUp := map[string]bool{}
	for _, seg := range segments {
		for _, e := range seg.Events {
			if e.Type == core.EventMemoryFailed && strings.Contains(string(e.Data), "given_up") {
				givenUp[e.RunID] = s.plan.limits != unlimited
			}
		}
	}
	for _, r := range s.records(ctx, t) {
		if !s.plan.memory || r.End == nil {
			continue
		}
		byItself := r.End.Kind == core.NaturalEnd || r.End.Kind == core.Stopped || r.End.Kind == core.BehaviorRequested
		if offered := s.cast.remembered[r.Run] > 0; offered != byItself && !(byItself && givenUp[r.Run]) {
			s.wrong("%s ended %s, and was given to the memory: %v", r.Run, r.End.Kind, offered)
		}
	}
}

// tally counts what a thread met of all that there is to meet.
func (s *stage) tally(ctx context.Context, t *thread, segments []core.Segment) {
	met := s.faults.Counts
	for _, seg := range segments {
		for _, e := range seg.Events {
			var call core.SuspendedCall
			var rec core.DecisionRecord
			switch {
			case e.Type == core.EventCallSuspended && json.Unmarshal(e.Data, &call) == nil:
				met["suspended as "+call.Kind.String()]++
				cut := s.cast.flights.cut[e.RunID+"/"+call.CallID]
				if call.Kind == core.KindUnknownOutcome && s.plan.isQuiet() && s.cast.killed == 0 && !cut {
					s.wrong("nothing was lost, and somebody is asked what became of %s of %s", call.CallID, e.RunID)
				}
			case e.Type == core.EventDecisionRecorded && json.Unmarshal(e.Data, &rec) == nil:
				met[how(rec)]++
			case e.Type == core.EventMessageQueued || e.Type == core.EventStepReset || e.Type == core.EventMemoryFailed:
				met[string(e.Type)]++
			}
		}
		for _, m := range seg.Messages {
			for about, words := range map[string]string{"abandoned": "the user sent a new message", "over budget": "budget_exhausted"} {
				if m.Role == core.RoleTool && strings.Contains(m.Text(), words) {
					met[about]++
				}
			}
		}
	}
	for _, r := range s.records(ctx, t) {
		if r.End != nil {
			met[strings.TrimSpace("ended "+r.End.Kind.String()+" "+r.End.Code)]++
		}
		if r.Finish != "" {
			met["finished"]++
		}
		if r.RetryOf != "" {
			met["retried"]++
		}
	}
}

func how(rec core.DecisionRecord) string {
	switch {
	case rec.TimedOut:
		return "timed out"
	case rec.Late:
		return "answered late"
	case !rec.Applied:
		return "decided in vain"
	case !core.IsNull(rec.Arguments):
		return "decided with edited arguments"
	case rec.Grant != "":
		return "decided for the whole run"
	case rec.Via == planner.ViaMessage:
		return "decided by message"
	}
	return "decided by " + cmp.Or(rec.By, "a caller without a name")
}
