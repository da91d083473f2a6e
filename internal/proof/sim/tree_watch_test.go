package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/invariant"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// kin is the referee of a tree. It looks at the head after every write and reads what was
// journaled, and knows from that alone who waits for whom, and since when no longer.
type kin struct {
	sim.FullStore
	g   *grove
	raw sim.FullStore // to look at, without faults

	now   int // counts the changes of heads
	last  map[string]core.Head
	waits map[string]*wait // by suspension
	asked map[string]*ask
	// when the cancel of a run was accepted, and when an owner claimed it, by run and epoch
	cancels map[string]int
	claims  map[string]int
	// results that were in the inbox when the run was claimed
	found map[string][]string
	got   map[string]bool   // inbox keys that a thread ever had
	ruled map[string]string // by run and call: the suspension whose answer let it go on
	below map[string]core.TreeUsage
	used  map[string]int64 // answers of the model, by run
	began map[string]bool  // threads that had a run
}

// wait is a call that waits for a child, or waited.
type wait struct {
	core.Parent
	child   core.Child
	stopped int             // when it stopped waiting; never
	took    int             // results that were journaled
	usage   *core.TreeUsage // as the result said
}

// ask is a call that waits for an answer.
type ask struct {
	thread, run, call, tool string
	kind                    core.Kind
	mode                    core.ResumeMode
	above                   string   // of an interrupt: that of the run above
	answered                int      // when an answer was accepted, or acted on in its place
	accepted, journaled     []string // ids of decisions
}

const notYet = math.MaxInt

func newKin(g *grove) *kin {
	return &kin{g: g, last: map[string]core.Head{}, waits: map[string]*wait{}, asked: map[string]*ask{}, cancels: map[string]int{}, claims: map[string]int{},
		found: map[string][]string{}, got: map[string]bool{}, ruled: map[string]string{}, below: map[string]core.TreeUsage{}, used: map[string]int64{}, began: map[string]bool{}}
}

func (k *kin) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	defer k.look(req.Thread)
	return k.FullStore.Claim(ctx, req)
}

func (k *kin) took(_ context.Context, req engine.ClaimRequest, _ engine.Taken) { k.look(req.Thread) }

func (k *kin) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	defer k.look(req.Next.Thread)
	w, err := k.FullStore.Commit(ctx, req)
	k.refused(err)
	return w, err
}

// refused: no store ever has to refuse a write because of what it would leave.
func (k *kin) refused(err error) {
	if broken, ok := errors.AsType[*invariant.Error](err); ok {
		k.g.wrong("the store refused a write: %v", broken)
	}
}

func (k *kin) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	defer k.look(req.Head.Thread)
	if req.Head.Parent != nil && k.began[req.Head.Thread] {
		k.g.faults.Counts["launched again"]++
	}
	return k.FullStore.Start(ctx, req)
}

func (k *kin) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	defer k.look(req.Thread)
	return k.FullStore.Signal(ctx, req)
}

// kinInHalves is a referee of a store whose commits are two writes.
type kinInHalves struct {
	*kin
	m *sim.Memory
}

func (k *kinInHalves) PutSegment(tenant, thread string, s core.Segment) error {
	return k.m.PutSegment(tenant, thread, s)
}

func (k *kinInHalves) UpdateHead(req engine.CommitRequest) (engine.Written, error) {
	defer k.look(req.Next.Thread)
	w, err := k.m.UpdateHead(req)
	k.refused(err)
	return w, err
}

func (k *kinInHalves) DueBefore(now int64, limit int) []sim.Entry { return k.m.DueBefore(now, limit) }

func (k *kinInHalves) Move(e sim.Entry, next int64) bool {
	defer k.look(e.Thread)
	return k.m.Move(e, next)
}

func (k *kin) lookAtAll() {
	for thread := range k.last {
		k.look(thread)
	}
	for _, w := range k.waits {
		if !k.began[w.child.Thread] {
			k.look(w.child.Thread)
		}
	}
}

// look is done after each write to a thread.
func (k *kin) look(thread string) {
	h, err := k.raw.Load(context.Background(), "t", thread)
	if err != nil {
		return
	}
	old := k.last[thread]
	if old.Rev == h.Rev && old.Sigs == h.Sigs && old.Due == h.Due && old.Run == h.Run && old.Epoch == h.Epoch {
		return
	}
	k.now++
	k.last[thread], k.began[thread] = h, true
	if h.Epoch < old.Epoch || h.Rev < old.Rev || h.Seq < old.Seq || h.Sigs < old.Sigs {
		k.g.wrong("CH-3: %s was started twice, or went back: %s\n after %s", h.Run, core.Encode(h), core.Encode(old))
	}
	if why := idle(h); why != "" {
		k.g.wrong("I-5: %s: %s", why, core.Encode(h))
	}
	k.inbox(old, h)
	if h.Epoch > old.Epoch {
		k.claimed(h)
	}
	if h.Run != old.Run && old.Run == "" && h.Parent != nil {
		k.launched(h)
	}
	segments := k.read(old, h)
	for _, w := range k.waits {
		if w.Thread == thread && w.stopped == notYet && !h.WaitsFor(w.Parent) {
			w.stopped = k.now
		}
	}
	if h.Rev > old.Rev && h.Epoch == old.Epoch && h.Run == old.Run {
		k.committed(old, h, segments)
	}
}

// inbox learns which signals were stored.
func (k *kin) inbox(old, h core.Head) {
	for key, s := range h.Inbox {
		if _, before := old.Inbox[key]; before && old.Run == h.Run {
			continue
		}
		if k.got[h.Thread+" "+key] && s.Kind == core.SignalChild {
			k.g.wrong("CH-3: the result of %s was stored a second time in %s", key, h.Run)
		}
		k.got[h.Thread+" "+key] = true
		switch s.Kind {
		case core.SignalCancel:
			if _, known := k.cancels[h.Run]; !known {
				k.cancels[h.Run] = k.now
			}
		case core.SignalDecision:
			if a := k.asked[key]; a != nil {
				a.answered = min(a.answered, k.now)
				a.accepted = append(a.accepted, s.ID)
				if k.gone(h) < k.now {
					k.g.faults.Counts["decided after a cancel above"]++
				}
			}
		case core.SignalChild:
			if w := k.waits[key]; w == nil || !old.WaitsFor(w.Parent) {
				k.g.wrong("CH-3: a result on %s was stored in %s, which does not wait for it", key, h.Run)
			}
		}
	}
}

func (k *kin) claimed(h core.Head) {
	at := claimOf(h.Run, h.Epoch)
	k.claims[at] = k.now
	k.found[at] = nil
	for key, s := range h.Inbox {
		if s.Kind == core.SignalChild {
			k.found[at] = append(k.found[at], key)
		}
	}
}

// launched: a child is started by the call that waits for it, or by a late copy of that.
func (k *kin) launched(h core.Head) {
	w := k.waits[h.Parent.Sus]
	switch {
	case w == nil:
		k.g.wrong("CH-3: %s was started for %s, on which nothing waits yet", h.Run, h.Parent.Sus)
	case w.child.Run != h.Run || w.child.Agent != h.Agent && !w.child.Remote || w.child.Remote && (h.Peer == nil || h.Peer.Tool != w.child.Agent) || w.child.Allowance != h.Allowance || w.child.Depth != h.Parent.Depth:
		k.g.wrong("CH-3: %s was started as %s, and pinned as %s", h.Run, core.Encode(h), core.Encode(w.child))
	case h.Parent.Depth == 4:
		k.g.faults.Counts["children at the fourth level"]++
	}
}

// gone is when a run above was no longer wanted: its cancel was accepted, or it stopped waiting for
// the one below it.
func (k *kin) gone(h core.Head) int {
	at := notYet
	for p := h.Parent; p != nil; p = k.last[p.Thread].Parent {
		if w := k.waits[p.Sus]; w == nil {
			return 0
		} else {
			at = min(at, w.stopped)
		}
		if cancelled, ok := k.cancels[p.Run]; ok {
			at = min(at, cancelled)
		}
	}
	return at
}

// read reads what was journaled since the last look.
func (k *kin) read(old, h core.Head) []core.Segment {
	if h.Seq <= old.Seq {
		return nil
	}
	segments, err := k.raw.Segments(context.Background(), "t", h.Thread, old.Seq+1, h.Seq)
	if err != nil || int64(len(segments)) != h.Seq-old.Seq {
		k.g.wrong("I-8: %d segments of %s behind %d: %v", len(segments), h.Thread, old.Seq, err)
	}
	for _, seg := range segments {
		for _, m := range seg.Messages {
			switch {
			case m.Role == core.RoleAssistant && h.Peer == nil:
				k.used[m.RunID]++
			case m.Role == core.RoleTool && !m.Pending:
				k.g.faults.Counts[string(m.CallOutcome())]++
			}
		}
		for _, e := range seg.Events {
			k.event(old, h, seg, e)
		}
	}
	return segments
}

func (k *kin) event(old, h core.Head, seg core.Segment, e core.Event) {
	switch e.Type {
	case core.EventCallSuspended:
		var call core.SuspendedCall
		if json.Unmarshal(e.Data, &call) != nil {
			return
		}
		sus := call.Suspension.ID
		if call.Kind == core.KindChild {
			k.waits[sus] = &wait{Parent: core.Parent{Thread: h.Thread, Run: e.RunID, Call: call.CallID, Sus: sus}, child: *call.Child, stopped: notYet}
			if k.began[call.Child.Thread] {
				k.g.wrong("CH-3: %s was started before its suspension was committed", call.Child.Run)
			}
			return
		}
		k.asked[sus] = &ask{thread: h.Thread, run: e.RunID, call: call.CallID, tool: call.ToolName, kind: call.Kind, mode: call.ResumeMode, answered: notYet,
			above: h.Calls[call.CallID].Above}
	case core.EventDecisionRecorded:
		k.decided(seg, e)
	case core.EventChildEnded:
		k.ended(h, seg, e)
	case core.EventInterruptRecorded:
		k.counts(e, h)
	}
}

// decided learns what lets a body run. A deadline answers at the earliest when its run was claimed.
func (k *kin) decided(seg core.Segment, e core.Event) {
	var rec core.DecisionRecord
	_ = json.Unmarshal(e.Data, &rec)
	a := k.asked[rec.Suspension]
	if a == nil || rec.Late {
		return
	}
	if a.journaled = append(a.journaled, rec.DecisionID); !rec.Applied {
		return
	}
	if rec.TimedOut {
		a.answered = k.claims[claimOf(e.RunID, seg.W.Epoch())]
	}
	k.ruled[e.RunID+"/"+rec.CallID] = rec.Suspension
}

// counts counts the interrupts that came from above, and those that came too late.
func (k *kin) counts(e core.Event, h core.Head) {
	var asked events.Asked
	_ = json.Unmarshal(e.Data, &asked)
	switch {
	case asked.Via == core.ViaAgent && asked.Applied:
		k.g.faults.Counts["paused from above"]++
	case asked.Via == core.ViaAgent && h.End == nil:
		k.g.faults.Counts["late interrupts"]++
	case asked.Applied:
		k.g.faults.Counts["paused by hand"]++
	}
}

// ended: a suspension takes one result, that of its own child, which has ended so (CH-3).
func (k *kin) ended(h core.Head, seg core.Segment, e core.Event) {
	var got events.ChildEnded
	_ = json.Unmarshal(e.Data, &got)
	w := k.waits[got.Suspension]
	if w == nil {
		k.g.wrong("CH-3: %s took the result of %s, which it never waited for", h.Run, got.RunID)
		return
	}
	child := k.last[w.child.Thread]
	if w.took++; w.took > 1 {
		k.g.wrong("CH-3: %s took the result of %s twice", h.Run, got.RunID)
	}
	if got.RunID != w.child.Run || child.Run != got.RunID || child.End == nil || got.Outcome != core.ChildOutcome(*child.End) || got.Code != codeOf(*child.End) {
		k.g.wrong("CH-3: %s took the result %s, and its child is %s", h.Run, e.Data, core.Encode(child))
	}
	used := child.Record().Tree()
	w.usage = &used
	if told := events.TreeUsageOf(used); string(core.Encode(told)) != string(core.Encode(got.Usage)) {
		k.g.wrong("the child %s told that it used %s, and used %s", child.Run, core.Encode(got.Usage), core.Encode(told))
	}
	k.below[h.Run] = k.below[h.Run].Plus(used)
	result := slices.IndexFunc(seg.Messages, func(m core.Message) bool {
		return m.CallID == got.CallID && m.Role == core.RoleTool && !m.Pending && m.Text() == resultOf(child.Run)
	})
	if succeeded := got.Outcome == core.CallOutcomeSucceeded; got.Applied && succeeded && result < 0 {
		k.g.wrong("CH-3: the result of %s is not that of its child %s: %s", got.CallID, child.Run, core.Encode(seg.Messages))
	}
	if !got.Applied {
		k.g.faults.Counts["not applied"]++
	}
}

func codeOf(end core.Reason) string {
	if end.Kind == core.BehaviorRequested && end.Code == "" {
		return end.Kind.String()
	}
	return end.Code
}

// open are the threads whose run has not ended.
func (k *kin) open() (open []core.Head) {
	for _, thread := range sortedThreads(k.last) {
		if h := k.last[thread]; h.Open() {
			open = append(open, h)
		}
	}
	return open
}

func sortedThreads[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
