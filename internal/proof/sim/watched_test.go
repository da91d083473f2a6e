package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/invariant"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// watched looks at the head after every write: what never goes back, what an open run must have,
// what is history.
type watched struct {
	sim.FullStore
	s     *stage
	last  map[string]core.Head
	runs  map[string]bool
	named map[string]string // segments that a head has named, by thread and number

	kinds map[string]core.Kind // of suspensions
	// of those: the model reads the result that answers them
	told     map[string]bool
	messages map[string]string          // and what they say
	turns    map[string][]core.ToolCall // the last turn of each run
	answered map[string]string          // by run and call: what somebody said yes to
	asked    map[string]core.ToolCall   // by run and call: as the model asked for it
	approved map[string]bool            // and whether somebody said yes to the gate's question,
	edited   map[string]json.RawMessage // with which arguments it runs instead of those,
	closed   map[string]string          // and why it may not run any more
	// by run and tool: an approver said yes for the rest of the turn
	granted map[string]grant
	// by run and call: the owner that has journaled its start under a grant
	covered map[string]int64

	deadlines map[string]int64 // of suspensions that have one
	moments   *moments
	// texts that are to begin a run of their own if theirs waits, or ends
	patient map[string]bool
	opened  map[string]bool  // runs that a user message was journaled of
	claims  map[string]int64 // the number of deploys before a claim, by run and epoch
	stored  []engine.SignalRequest
	sent    map[letter]posted    // what was ever put on a wire, if there is one
	begun   map[string]opening   // by opening: who asked for it there
	waited  map[string]int64     // ms that a run was seen to wait
	waiting map[string]int64     // since when it does
	down    map[string]outageRow // the failures of its model in a row, by run
	// calls that hooks have let through, and that have not started, by thread
	ready map[string]int
}

func watch(s *stage) *watched {
	store := s.db
	if s.table != nil {
		store = s.table
	}
	return &watched{FullStore: store, s: s, moments: newMoments(s.wrong, s.faults.Counts), last: map[string]core.Head{}, runs: map[string]bool{}, named: map[string]string{}, kinds: map[string]core.Kind{}, told: map[string]bool{},
		messages: map[string]string{}, turns: map[string][]core.ToolCall{}, answered: map[string]string{},
		approved: map[string]bool{}, asked: map[string]core.ToolCall{}, edited: map[string]json.RawMessage{}, closed: map[string]string{},
		granted: map[string]grant{}, covered: map[string]int64{}, deadlines: map[string]int64{}, patient: map[string]bool{}, opened: map[string]bool{}, claims: map[string]int64{}, sent: map[letter]posted{}, begun: map[string]opening{}, waited: map[string]int64{}, waiting: map[string]int64{}, down: map[string]outageRow{}, ready: map[string]int{}}
}

func (w *watched) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	w.mine(ctx, req.Thread, req.Tenant)
	old := w.last[req.Thread]
	h, err := w.FullStore.Claim(ctx, req)
	if err == nil {
		w.owned(old, h, req)
	}
	w.look(ctx, req.Tenant, req.Thread)
	return h, err
}

func (w *watched) took(ctx context.Context, req engine.ClaimRequest, t engine.Taken) {
	w.mine(ctx, req.Thread, req.Tenant)
	w.owned(w.last[req.Thread], t.Head, req)
	w.whole(ctx, t.Head, req)
	w.look(ctx, req.Tenant, req.Thread)
}

// owned notes a claim.
func (w *watched) owned(old, h core.Head, req engine.ClaimRequest) {
	w.claims[claimOf(h.Run, h.Epoch)] = int64(len(w.s.cast.denied))
	w.claimed(old, h, req)
}

// whole: a step that does not claim its run itself begins with the head as it is stored, under the
// claim that was asked for.
func (w *watched) whole(ctx context.Context, h core.Head, req engine.ClaimRequest) {
	if h.Claim != req.Claim {
		w.s.wrong("H5: a step of %s begins with the claim %s and not with its own, %s", h.Run, h.Claim, req.Claim)
	}
	if stored, err := w.s.db.Load(ctx, h.Tenant, h.Thread); err != nil || string(core.Encode(stored)) != string(core.Encode(h)) {
		w.s.wrong("I-2: a step begins with %s and not with what is stored, %s, %v", core.Encode(h), core.Encode(stored), err)
	}
}

// claimed: a claim counts, and nobody claims a run that is to be left alone.
func (w *watched) claimed(old, h core.Head, req engine.ClaimRequest) {
	if h.Epoch == old.Epoch {
		return // the answer to a repeat
	}
	// after somebody else's, a copy that lands late is a ghost, which costs a lease
	if old.Claim == req.Claim {
		w.s.wrong("H3: the claim %s of %s was granted twice in a row", req.Claim, h.Thread)
	}
	if h.Tries != old.Tries+1 {
		w.s.wrong("a claim of %s was not counted: %d tries after %d", h.Run, h.Tries, old.Tries)
	}
	if old.Status == core.RunRunning && old.NotBefore > req.Now && len(old.Inbox) == 0 {
		w.s.wrong("%s was claimed %d ms before its time", h.Run, old.NotBefore-req.Now)
	}
}

func (w *watched) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	old := w.last[req.Next.Thread]
	got, err := w.FullStore.Commit(ctx, req)
	w.refused(err)
	if got.Next != nil {
		w.whole(ctx, got.Next.Head, *req.Settle.Claim)
		if got.Next.Head.Epoch != old.Epoch {
			w.wentOn(old, got.Next.Head, req)
		}
	}
	w.look(ctx, req.Next.Tenant, req.Next.Thread)
	return got, err
}

// wentOn: a commit that released its run has claimed it as well. What lies between was never there
// to be seen.
func (w *watched) wentOn(old, h core.Head, req engine.CommitRequest) {
	released := old
	released.Rev, released.Lease, released.Tries, released.Status, released.NotBefore = req.Next.Rev, 0, 0, req.Next.Status, req.Next.NotBefore
	w.s.cast.flights.released(req.Next)
	w.owned(released, h, *req.Settle.Claim)
	released.CID, released.Ev = req.Next.CID, old.Ev
	w.last[h.Thread] = released
}

// refused: no store ever has to refuse a write because of what it would leave.
func (w *watched) refused(err error) {
	if broken, ok := errors.AsType[*invariant.Error](err); ok {
		w.s.wrong("the store refused a write: %v", broken)
	}
}

func (w *watched) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	w.mine(ctx, req.Head.Thread, req.Head.Tenant)
	if asked := openingOf(req.Head); w.begun[asked].ctx == nil {
		w.begun[asked] = opening{context.WithoutCancel(ctx), req}
	}
	got, err := w.FullStore.Start(ctx, req)
	if err == nil && w.s.table == nil {
		w.s.referee.begun(ctx, req)
	}
	w.look(ctx, req.Head.Tenant, req.Head.Thread)
	return got, err
}

func (w *watched) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	w.mine(ctx, req.Thread, req.Tenant)
	for _, one := range singles(req) {
		if w.s.table != nil {
			w.sent[letterOf(req.Thread, req.Run, one.InboxKey, one.Signal)] = posted{asksOf(context.WithoutCancel(ctx), one.Suspension), one}
		}
	}
	got, err := w.FullStore.Signal(ctx, req)
	for _, one := range singles(req) {
		if err == nil && w.s.table == nil {
			w.signalled(asksOf(ctx, one.Suspension), one, got.Head)
		}
	}
	w.look(ctx, req.Tenant, req.Thread)
	return got, err
}

// signalled: a signal was stored.
func (w *watched) signalled(ctx context.Context, req engine.SignalRequest, h core.Head) {
	w.stored = append(w.stored, req)
	w.s.referee.sent(ctx, req.Tenant, req.Thread, req.Run, req.InboxKey, req.Signal)
	if h.Run != req.Run {
		w.s.wrong("a signal for %s was stored in %s: %s", req.Run, h.Run, core.Encode(req.Signal))
	}
	switch req.Signal.Kind {
	case core.SignalDecision:
		w.s.referee.stored(ctx, req.Thread, req.Run, req.Suspension)
	case core.SignalWithdrawn:
		w.s.referee.undone(req.Thread, req)
	case core.SignalPause:
		w.s.referee.paused(req.Thread, req.Run, req.Signal.ID)
	case core.SignalMessage:
		w.s.referee.texted(ctx, req.Thread)
	}
}

// letter is what tells signals apart that somebody sends.
type letter struct{ thread, run, key, id, digest, by string }

func letterOf(thread, run, key string, s core.Signal) letter {
	return letter{thread, run, key, s.ID, s.Digest, s.By}
}

// openingOf tells starts apart: several may ask for a run under one id, and one of them gets it.
func openingOf(h core.Head) string { return h.Run + string(core.Encode(h.Inbox[core.KeyStart])) }

// opening is a start on a wire, and in whose name it is there.
type opening struct {
	ctx context.Context
	req engine.StartRequest
}

// posted is a signal on a wire, and in whose name it is there.
type posted struct {
	ctx context.Context
	req engine.SignalRequest
}

// landed finds what was stored since the last look. On a wire a write may land whose answer is
// lost, or that was given up long before; so what is answered does not tell.
func (w *watched) landed(old, h core.Head) {
	if by := w.begun[openingOf(h)]; by.ctx != nil && h.Run != old.Run {
		w.s.referee.begun(by.ctx, by.req)
	}
	for key, signal := range h.Inbox {
		_, before := old.Inbox[key]
		if p, ours := w.sent[letterOf(h.Thread, h.Run, key, signal)]; ours && !(before && h.Run == old.Run) {
			w.signalled(p.ctx, p.req, h)
		}
	}
}

// PutSegment and UpdateHead are the halves of a commit on a store that has them.

func (w *halved) PutSegment(tenant, thread string, s core.Segment) error {
	err := w.m.PutSegment(tenant, thread, s)
	w.s.follower.poll(context.Background())
	return err
}

func (w *halved) UpdateHead(req engine.CommitRequest) (engine.Written, error) {
	got, err := w.m.UpdateHead(req)
	w.refused(err)
	w.look(context.Background(), req.Next.Tenant, req.Next.Thread)
	return got, err
}

func (w *halved) DueBefore(now int64, limit int) []sim.Entry { return w.m.DueBefore(now, limit) }

func (w *halved) Move(e sim.Entry, next int64) bool {
	won := w.m.Move(e, next)
	if h, err := w.m.Load(context.Background(), e.Tenant, e.Thread); won && e.Endpoint == "" && (err != nil || h.Due != next) {
		w.s.wrong("the sweep took %s and left it due at %d", e.Thread, h.Due)
	}
	return won
}

// halved is what is watched of a store whose commits are two writes.
type halved struct {
	*watched
	m *sim.Memory
}

func (w *watched) look(ctx context.Context, tenant, thread string) {
	h, err := w.s.db.Load(ctx, tenant, thread)
	if err != nil {
		return
	}
	old := w.last[thread]
	w.last[thread], w.runs[h.Run] = h, true
	if h.Lease == 0 && old.Lease != 0 {
		w.s.cast.flights.released(h)
	}
	if h.Epoch < old.Epoch || h.Rev < old.Rev || h.Seq < old.Seq || h.Ev < old.Ev || h.Sigs < old.Sigs {
		w.s.wrong("the head of %s went back: %s\n after %s", thread, core.Encode(h), core.Encode(old))
	}
	if old.Thread != "" && (h.Rev > old.Rev+1 || h.Rev == old.Rev && (h.CID != old.CID || h.Seq != old.Seq || h.Epoch != old.Epoch)) {
		w.s.wrong("I-1: two writes have one predecessor: %s\n after %s", core.Encode(h), core.Encode(old))
	}
	if w.s.table != nil {
		w.landed(old, h)
	}
	w.count(old, h)
	if why := idle(h); why != "" {
		w.s.wrong("I-5: %s: %s", why, core.Encode(h))
	}
	if h.Seq > old.Seq {
		w.remember(ctx, old, h)
	}
	w.inTime(h)
	w.s.referee.saw(h)
	w.s.follower.poll(ctx)
}

// inTime: a run that waits is woken by the first deadline or moment of what it waits for, as the
// journal has it.
func (w *watched) inTime(h core.Head) {
	if h.Status != core.RunWaiting {
		return
	}
	if id, first := w.moments.due(h); len(h.Inbox) == 0 && h.Deadline != first || first != 0 && h.Due == 0 {
		w.s.wrong("I-5: %s waits until %d and is due at %d; %q is to be closed at %d", h.Run, h.Deadline, h.Due, id, first)
	}
}

func (w *watched) remember(ctx context.Context, old, h core.Head) {
	segments, err := w.s.db.Segments(ctx, h.Tenant, h.Thread, old.Seq+1, h.Seq)
	if err != nil || int64(len(segments)) != h.Seq-old.Seq {
		w.s.wrong("I-8: %d segments of %s behind %d: %v", len(segments), h.Thread, old.Seq, err)
	}
	for _, s := range segments {
		w.named[fmt.Sprint(h.Thread, s.Seq)] = w.s.inFull(s)
		w.moments.read(old, s)
		w.index(s)
		w.s.referee.read(h.Thread, s)
		w.inVain(old, h, s)
		w.undone(s)
		w.swallowed(old, h, s)
		w.inTurn(old, h, s)
		w.unready(old, h, s)
	}
	w.readied(old, h)
}

// inVain: an accepted decision takes effect, unless the run ends in the same commit; beside a
// cancel none does.
func (w *watched) inVain(old, h core.Head, seg core.Segment) {
	_, cancel := old.Inbox[core.KeyCancel]
	_, still := h.Inbox[core.KeyCancel]
	cancelled := cancel && !still && old.Run == h.Run
	for _, e := range seg.Events {
		var rec core.DecisionRecord
		if e.Type != core.EventDecisionRecorded || json.Unmarshal(e.Data, &rec) != nil || rec.Late {
			continue
		}
		if rec.Applied && !rec.TimedOut && cancelled {
			w.s.wrong("I-2: a cancel was taken up with decision %q on %s, and that was applied", rec.DecisionID, rec.CallID)
		}
		if !rec.Applied && e.RunID == h.Run && h.End == nil {
			w.s.wrong("I-2: decision %q on %s was accepted and not applied, and %s goes on", rec.DecisionID, rec.CallID, h.Run)
		}
	}
}

// undone: an interrupt is not taken up and let go in one commit, by what came with it.
func (w *watched) undone(seg core.Segment) {
	paused := map[string]bool{}
	for _, e := range seg.Events {
		var call core.SuspendedCall
		var rec core.DecisionRecord
		switch {
		case e.Type == core.EventCallSuspended && json.Unmarshal(e.Data, &call) == nil && call.Kind == core.KindInterrupt:
			paused[call.Suspension.ID] = true
		case e.Type == core.EventDecisionRecorded && json.Unmarshal(e.Data, &rec) == nil && paused[rec.Suspension]:
			w.s.wrong("I-2: the interrupt of %s was undone by %q, which came with it", e.RunID, rec.DecisionID)
		}
	}
}

// swallowed: a message that would wait for the end of its run begins another one if it comes
// together with a cancel, and is no last word of the run that nobody hears.
func (w *watched) swallowed(old, h core.Head, seg core.Segment) {
	ends := old.Run == h.Run && old.End == nil && h.End != nil && h.End.Kind == core.Cancelled
	for _, m := range seg.Messages {
		if m.Role != core.RoleUser {
			continue
		}
		if ends && w.opened[m.RunID] && w.patient[m.Text()] {
			w.s.wrong("I-2: %q was to wait for the end of %s, and is its last message", m.Text(), m.RunID)
		}
		w.opened[m.RunID] = true
	}
}

// inTurn: what the gate says of a new call, if that is more than yes, is used only when all calls
// before it have run: they may change what it says.
func (w *watched) inTurn(old, h core.Head, seg core.Segment) {
	judged := map[string]bool{}
	for _, e := range seg.Events {
		var call core.SuspendedCall
		if e.Type == core.EventCallSuspended && e.RunID == h.Run && json.Unmarshal(e.Data, &call) == nil && call.Kind == core.KindApproval &&
			call.Suspension.Action == "approve" { // and it is not its body that asks
			judged[call.CallID] = true
		}
	}
	for _, m := range seg.Messages {
		if m.Role == core.RoleTool && m.RunID == h.Run && strings.HasPrefix(m.Text(), "Not allowed:") {
			judged[m.CallID] = true
		}
	}
	before := ""
	for _, call := range w.turns[h.Run] {
		was, tracked := old.Calls[call.ID]
		isNew := old.Run != h.Run || !tracked || was.Status == core.CallNew
		if judged[call.ID] && isNew && before != "" {
			w.s.wrong("I-4: the gate of %s was used before %s ran: %s", call.ID, before, core.Encode(h))
		}
		if c, tracked := h.Calls[call.ID]; tracked && c.Status == core.CallNew && c.HeldBehind == "" && !roles[call.Name].spec.Finish {
			before = call.ID
		}
	}
}

// inFull is a segment as it must stay. The simulated store replaces segments, but never writes into
// one: its stamp will do.
func (s *stage) inFull(seg core.Segment) string {
	if s.plan.sqlite || s.plan.dynamo || s.plan.written {
		return string(core.Encode(seg))
	}
	return fmt.Sprint(seg.W, seg.Prev, len(seg.Messages), len(seg.Events))
}

func (w *watched) index(s core.Segment) {
	for _, m := range s.Messages {
		if m.Role == core.RoleAssistant {
			w.turns[m.RunID] = m.Calls
		}
		for _, c := range m.Calls {
			w.asked[m.RunID+"/"+c.ID] = c
			w.inOneForm(c)
		}
	}
	for _, e := range s.Events {
		var call core.SuspendedCall
		var rec core.DecisionRecord
		w.downRow(e)
		switch {
		case e.Type == core.EventCallSuspended && json.Unmarshal(e.Data, &call) == nil:
			w.kinds[call.Suspension.ID], w.messages[call.Suspension.ID] = call.Kind, call.Suspension.Message
			w.told[call.Suspension.ID] = call.Kind != core.KindApproval || call.ResumeMode != core.ReplayToolCall
			if call.Deadline != 0 {
				w.deadlines[call.Suspension.ID] = call.Deadline
			}
		case e.Type == core.EventDecisionRecorded && json.Unmarshal(e.Data, &rec) == nil:
			w.decided(e.RunID, rec)
		}
	}
	w.cover(s)
	w.endGrants(s)
}

// cover learns which calls an owner has begun to run under a grant. It runs them also if the grant
// ends before their bodies begin: the model asked for them without what ended it. Another owner
// asks again.
func (w *watched) cover(seg core.Segment) {
	spoken := map[string]bool{}
	for _, m := range seg.Messages {
		spoken[m.RunID] = spoken[m.RunID] || m.Role == core.RoleUser
	}
	for _, e := range seg.Events {
		what := e.RunID + "/" + callIn(e)
		if e.Type == core.EventCallStarted && !spoken[e.RunID] && w.granted[e.RunID+"/"+w.asked[what].Name].until == never {
			w.covered[what] = seg.W.Epoch()
		}
	}
}

// decided keeps what a decision that took effect lets a body do.
func (w *watched) decided(run string, rec core.DecisionRecord) {
	what := run + "/" + rec.CallID
	if strings.HasPrefix(rec.DecisionID, refusedResult) {
		w.s.wrong("a result that its schema refuses was journaled as a decision: %s", core.Encode(rec))
	}
	if strings.HasPrefix(rec.DecisionID, mistaken) && !rec.Late {
		w.s.wrong("W10: decision %q on %s was stored, and its sender was shown another question", rec.DecisionID, what)
	}
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
	w.approved[what], w.answered[what] = true, w.messages[rec.Suspension]
	if !core.IsNull(rec.Arguments) {
		w.edited[what] = rec.Arguments
	}
	if tool := w.asked[what].Name; rec.Grant == core.GrantRun && roles[tool].grants {
		w.granted[run+"/"+tool] = grant{until: never}
	}
}

// grant is what an approver allowed beyond the call at hand: to the owners of an epoch before
// until.
type grant struct{ until int64 }

const never = math.MaxInt64

// grants says whether a body that an owner of this epoch begins may spend a grant.
func (w *watched) grants(run string, call core.ToolCall, epoch int64) bool {
	g, given := w.granted[run+"/"+call.Name]
	return given && (epoch < g.until || w.covered[run+"/"+call.ID] == epoch)
}

// endGrants: no grant outlives its turn, the next user message, or an answer beside it. An owner
// that decided before the commit that ends it, and has not noticed that the run is another's, still
// acts on what it saw.
func (w *watched) endGrants(seg core.Segment) {
	ends := map[string]bool{}
	for _, m := range seg.Messages {
		ends[m.RunID] = ends[m.RunID] || m.Role == core.RoleUser
	}
	for _, e := range seg.Events {
		ends[e.RunID] = ends[e.RunID] || e.Type == core.EventTurnEnded && asksSomebody(e) || e.Type == core.EventDecisionRecorded && w.tells(e)
	}
	for key, g := range w.granted {
		run, _, _ := strings.Cut(key, "/")
		if ends[run] && g.until == never {
			w.granted[key] = grant{until: seg.W.Epoch()}
		}
	}
}

// tells says whether the model reads what a caller answered.
func (w *watched) tells(decided core.Event) bool {
	var rec core.DecisionRecord
	if json.Unmarshal(decided.Data, &rec) != nil {
		return false
	}
	if rec.Late {
		return rec.Error != "" || !core.IsNull(rec.Result) || rec.Reason != ""
	}
	if !rec.Applied || rec.TimedOut || w.kinds[rec.Suspension] == core.KindUnknownOutcome {
		return false
	}
	if rec.Action == core.ActionCancel {
		return rec.Reason != ""
	}
	return rec.Error != "" || !core.IsNull(rec.Result) && w.told[rec.Suspension]
}

// asksSomebody says whether a turn ends because the agent asks, and not only because nobody knows
// what became of a lost body.
func asksSomebody(turnEnded core.Event) bool {
	var ended struct {
		Pending []struct{ Kind core.Kind }
	}
	_ = json.Unmarshal(turnEnded.Data, &ended)
	for _, p := range ended.Pending {
		if p.Kind != core.KindUnknownOutcome {
			return true
		}
	}
	return len(ended.Pending) == 0
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
