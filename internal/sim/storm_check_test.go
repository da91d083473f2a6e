package sim_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/sim"
)

// watched looks at the head after every write: what never goes back, what an open run must have, what is history.
type watched struct {
	sim.FullStore
	s     *stage
	last  map[string]core.Head
	named map[string]string // segments that a head has named, by thread and number

	kinds    map[string]core.Kind       // of suspensions
	asked    map[string]core.ToolCall   // by run and call: as the model asked for it
	approved map[string]bool            // and whether somebody said yes to the gate's question,
	edited   map[string]json.RawMessage // with which arguments it runs instead of those,
	closed   map[string]string          // and why it may not run any more
	granted  map[string]bool            // by run and tool: somebody said yes for the whole run

	claims  map[string]int64 // the number of deploys before a claim, by run and epoch
	stored  []engine.SignalRequest
	waited  map[string]int64 // ms that a run was seen to wait
	waiting map[string]int64 // since when it does
}

func watch(s *stage) *watched {
	return &watched{FullStore: s.db, s: s, last: map[string]core.Head{}, named: map[string]string{}, kinds: map[string]core.Kind{},
		approved: map[string]bool{}, asked: map[string]core.ToolCall{}, edited: map[string]json.RawMessage{}, closed: map[string]string{},
		granted: map[string]bool{}, claims: map[string]int64{}, waited: map[string]int64{}, waiting: map[string]int64{}}
}

func (w *watched) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	h, err := w.FullStore.Claim(ctx, req)
	if err == nil {
		w.claims[claimOf(h.Run, h.Epoch)] = int64(len(w.s.cast.denied))
	}
	w.look(ctx, req.Tenant, req.Thread)
	return h, err
}

func (w *watched) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	got, err := w.FullStore.Commit(ctx, req)
	w.look(ctx, req.Next.Tenant, req.Next.Thread)
	return got, err
}

func (w *watched) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	got, err := w.FullStore.Start(ctx, req)
	if err == nil {
		w.s.referee.begun(ctx, req.Head.Thread)
	}
	w.look(ctx, req.Head.Tenant, req.Head.Thread)
	return got, err
}

func (w *watched) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	got, err := w.FullStore.Signal(ctx, req)
	if err == nil {
		w.stored = append(w.stored, req)
		if got.Head.Run != req.Run {
			w.s.wrong("a signal for %s was stored in %s: %s", req.Run, got.Head.Run, core.Encode(req.Signal))
		}
		switch req.Signal.Kind {
		case core.SignalDecision:
			w.s.referee.stored(ctx, req.Thread, req.Suspension)
		case core.SignalMessage:
			w.s.referee.begun(ctx, req.Thread)
		}
	}
	w.look(ctx, req.Tenant, req.Thread)
	return got, err
}

// PutSegment and UpdateHead are the halves of a commit on a store that has them.

func (w *halved) PutSegment(tenant, thread string, s core.Segment) error {
	return w.m.PutSegment(tenant, thread, s)
}

func (w *halved) UpdateHead(req engine.CommitRequest) (engine.Written, error) {
	got, err := w.m.UpdateHead(req)
	w.look(context.Background(), req.Next.Tenant, req.Next.Thread)
	return got, err
}

func (w *halved) DueBefore(now int64, limit int) []sim.Entry { return w.m.DueBefore(now, limit) }
func (w *halved) Move(e sim.Entry, next int64) bool          { return w.m.Move(e, next) }

// halved is what is watched of a store whose commits are two writes.
type halved struct {
	*watched
	m *sim.Memory
}

func (w *watched) look(ctx context.Context, tenant, thread string) {
	h, err := w.FullStore.Load(ctx, tenant, thread)
	if err != nil {
		return
	}
	old := w.last[thread]
	w.last[thread] = h
	if h.Epoch < old.Epoch || h.Rev < old.Rev || h.Seq < old.Seq || h.Ev < old.Ev || h.Sigs < old.Sigs {
		w.s.wrong("the head of %s went back: %s\n after %s", thread, core.Encode(h), core.Encode(old))
	}
	w.count(old, h)
	if why := idle(h); why != "" {
		w.s.wrong("I-5: %s: %s", why, core.Encode(h))
	}
	if h.Seq > old.Seq {
		w.remember(ctx, h, old.Seq)
	}
	w.s.referee.saw(h)
}

func (w *watched) remember(ctx context.Context, h core.Head, from int64) {
	segments, err := w.FullStore.Segments(ctx, h.Tenant, h.Thread, from+1, h.Seq)
	if err != nil || int64(len(segments)) != h.Seq-from {
		w.s.wrong("I-8: %d segments of %s behind %d: %v", len(segments), h.Thread, from, err)
	}
	for _, s := range segments {
		w.named[fmt.Sprint(h.Thread, s.Seq)] = w.s.inFull(s)
		w.index(s)
		w.s.referee.read(h.Thread, s)
		w.inVain(h, s)
	}
}

// inVain: an accepted decision takes effect, unless the run ends in the same commit.
func (w *watched) inVain(h core.Head, seg core.Segment) {
	for _, e := range seg.Events {
		var rec core.DecisionRecord
		if e.Type != core.EventDecisionRecorded || json.Unmarshal(e.Data, &rec) != nil || rec.Applied || rec.Late {
			continue
		}
		if e.RunID == h.Run && h.End == nil {
			w.s.wrong("I-2: decision %q on %s was accepted and not applied, and %s goes on", rec.DecisionID, rec.CallID, h.Run)
		}
	}
}

// inFull is a segment as it must stay. The simulated store replaces segments, but never writes into one: its stamp will do.
func (s *stage) inFull(seg core.Segment) string {
	if s.plan.sqlite || s.plan.written {
		return string(core.Encode(seg))
	}
	return fmt.Sprint(seg.W, seg.Prev, len(seg.Messages), len(seg.Events))
}

func (w *watched) index(s core.Segment) {
	for _, m := range s.Messages {
		for _, c := range m.Calls {
			w.asked[m.RunID+"/"+c.ID] = c
		}
	}
	for _, e := range s.Events {
		var call core.SuspendedCall
		var rec core.DecisionRecord
		switch {
		case e.Type == core.EventCallSuspended && json.Unmarshal(e.Data, &call) == nil:
			w.kinds[call.Suspension.ID] = call.Kind
		case e.Type == core.EventDecisionRecorded && json.Unmarshal(e.Data, &rec) == nil:
			w.decided(e.RunID, rec)
		}
	}
}

// decided keeps what a decision that took effect lets a body do.
func (w *watched) decided(run string, rec core.DecisionRecord) {
	what := run + "/" + rec.CallID
	switch {
	case !rec.Applied:
		return
	case rec.TimedOut:
		w.closed[what] = "its deadline had been used"
		return
	case rec.Action == core.ActionCancel:
		w.closed[what] = "it was refused"
		return
	case rec.Error != "":
		w.closed[what] = "an error was its result"
		return
	case w.kinds[rec.Suspension] != core.KindApproval:
		return
	}
	w.approved[what] = true
	if !core.IsNull(rec.Arguments) {
		w.edited[what] = rec.Arguments
	}
	if tool := w.asked[what].Name; rec.Grant == core.GrantRun && roles[tool].grants {
		w.granted[run+"/"+tool] = true
	}
}

// idle is invariant I-5, restated in the protocol.
func idle(h core.Head) string {
	suspended := 0
	for _, c := range h.Calls {
		if c.Status == core.CallSuspended {
			suspended++
		}
	}
	switch {
	case !h.Open() && (len(h.Inbox) > 0 || len(h.Out) > 0 || len(h.Held) > 0 || h.Lease != 0 || h.Due != 0 || h.End == nil || suspended > 0):
		return "a done run has something left"
	case !h.Open() || h.Due != 0:
		return ""
	case h.Lease != 0:
		return "a claim without a due time"
	case h.Status != core.RunWaiting || len(h.Inbox) > 0 || len(h.Out) > 0 || suspended == 0:
		return "nothing will ever wake this run"
	}
	return ""
}

func (s *stage) journal(ctx context.Context, thread string) []core.Segment {
	h, err := s.db.Load(ctx, anna.Tenant, thread)
	if err != nil {
		return nil
	}
	segments, err := s.db.Segments(ctx, anna.Tenant, thread, 1, h.Seq)
	if err == nil {
		err = core.CheckChain(h, 1, segments)
	}
	if err != nil {
		s.wrong("I-8: %v", err)
	}
	return segments
}

// decisions are the records of what was decided in a thread.
func (s *stage) decisions(ctx context.Context, thread string) (all []decided) {
	for _, seg := range s.journal(ctx, thread) {
		for _, e := range seg.Events {
			if e.Type != core.EventDecisionRecorded {
				continue
			}
			var rec core.DecisionRecord
			if err := json.Unmarshal(e.Data, &rec); err != nil {
				s.wrong("event %d: %v", e.Seq, err)
			}
			all = append(all, decided{e.RunID, rec})
		}
	}
	return all
}

type decided struct {
	run string
	core.DecisionRecord
}

// check holds what is left at the end against the invariants.
func (s *stage) check(ctx context.Context) {
	for _, t := range s.threads {
		if t.id == "" {
			continue
		}
		segments := s.journal(ctx, t.id)
		s.final[t.n] = core.Transcript(core.Messages(segments))
		s.checkHistory(t, segments)
		s.checkResults(t, core.Messages(segments))
		s.checkDecisions(t, s.decisions(ctx, t.id))
		s.checkTexts(t, core.Messages(segments), s.decisions(ctx, t.id))
		s.checkCancels(ctx, t)
		s.checkSignals(t, s.decisions(ctx, t.id))
		s.checkQueue(t, segments)
		s.checkState(ctx, t, segments)
		s.checkHooks(ctx, t, segments)
		s.checkAwake(ctx, t)
		s.checkMemory(ctx, t)
		s.tally(ctx, t, segments)
	}
}

func (s *stage) checkHistory(t *thread, segments []core.Segment) {
	ev := int64(0)
	for _, seg := range segments {
		if was, is := s.watched.named[fmt.Sprint(t.id, seg.Seq)], s.inFull(seg); was != is {
			s.wrong("I-8: segment %d of %s was %s and is %s", seg.Seq, t.id, was, is)
		}
		for _, e := range seg.Events {
			if ev++; e.Seq != ev {
				s.wrong("event %d of %s has number %d", ev, t.id, e.Seq)
			}
		}
	}
}

// checkResults: each call has one result, once (I-3, I-6); the model's view is well formed (I-7).
func (s *stage) checkResults(t *thread, log []core.Message) {
	results, calls := map[string]int{}, map[string]bool{}
	for _, m := range log {
		for _, c := range m.Calls {
			if calls[c.ID] {
				s.wrong("two calls are %s", c.ID)
			}
			calls[c.ID] = true
		}
		if m.Role == core.RoleTool && !m.Pending {
			results[m.CallID]++
		}
	}
	for id := range calls {
		if results[id] != 1 {
			s.wrong("I-3: call %s has %d results", id, results[id])
		}
	}
	if why := sim.Malformed(core.Transcript(log), false); why != "" {
		s.wrong("I-7: %s", why)
	}
}

// checkDecisions: what callers were told is what the journal says (I-2, I-3).
func (s *stage) checkDecisions(t *thread, journaled []decided) {
	for _, told := range t.told {
		if told.id == "deadline" && told.sus == "" {
			continue // many are called so
		}
		times, first := 0, ""
		for _, d := range journaled {
			if d.run != told.run {
				continue
			}
			if d.DecisionID == told.id && (told.sus == "" || d.Suspension == told.sus) {
				times++
			}
			if d.Suspension == told.sus && first == "" {
				first = d.DecisionID
			}
		}
		if times != 1 {
			s.wrong("I-2: decision %q on %s of %s was answered %s and is %d times in the journal", told.id, told.sus, told.run, told.answer, times)
		}
		if told.sus != "" && first != told.id {
			s.wrong("I-3: decision %q on %s was answered %s, but %q was first", told.id, told.sus, told.answer, first)
		}
	}
	applied := map[string]int{}
	for _, d := range journaled {
		if d.Applied {
			if applied[d.Suspension]++; applied[d.Suspension] > 1 {
				s.wrong("I-3: two decisions were applied on %s", d.Suspension)
			}
		}
	}
}

// checkTexts: what was accepted is in the conversation once, as a user's turn or as a call's answer; what was not, at most once.
func (s *stage) checkTexts(t *thread, log []core.Message, journaled []decided) {
	times := map[string]int{}
	for _, m := range log {
		if m.Role == core.RoleUser {
			times[m.Text()]++
		}
	}
	for _, d := range journaled {
		var text string
		if d.By == "message" && json.Unmarshal(d.Result, &text) == nil {
			times[text]++
		}
	}
	for text, said := range t.said {
		if n := times[text]; n > 1 || said.accepted && n != 1 {
			s.wrong("I-2, I-3: message %q (accepted: %v) is %d times in the journal", text, said.accepted, n)
		}
	}
}

func (s *stage) records(ctx context.Context, t *thread) []core.Record {
	records, _, err := s.db.Runs(ctx, anna.Tenant, t.id, "", 1000)
	if err != nil {
		s.wrong("listing runs: %v", err)
	}
	return records
}

func (s *stage) checkCancels(ctx context.Context, t *thread) {
	for _, r := range s.records(ctx, t) {
		if t.cancels[r.Run] && (r.End == nil || r.End.Kind != core.Cancelled) {
			s.wrong("I-2: the cancel of %s was accepted, and it ended %+v", r.Run, r.End)
		}
		if r.End != nil && r.End.Kind == core.Cancelled && !t.unwanted[r.Run] && !s.outside[r.Run] {
			s.wrong("%s was cancelled, and nobody asked for that", r.Run)
		}
	}
}

// conversation is the model's view of a thread in one line a message.
func conversation(s *stage, n int) (lines []string) {
	for _, m := range s.final[n] {
		lines = append(lines, fmt.Sprintf("%s %s%s %v: %s %s", m.Role, m.CallID, m.Tool, m.Error, m.Text(), core.Encode(m.Calls)))
	}
	return lines
}
