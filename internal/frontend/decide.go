package frontend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/answer"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
	"github.com/dormouse-dev/dormouse/internal/core/planner"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/holds"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// Decide answers a suspended call of the run, or of one below it. The first decision on a
// suspension counts and returns [refusal.CodeAccepted]; a repeat returns
// [refusal.CodeAlreadyDecided] with Same, regardless of what has happened to the run since. Every
// refusal is an [*refusal.Error]. The HTTP layer sets the answer's Status.
func (f *Frontend) Decide(ctx context.Context, c Caller, run string, d wire.Decision) (wire.DecisionAnswer, error) {
	in, err := DecisionInput(d, f.Now())
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	p, err := f.Addressed(ctx, c, run, d.Target)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	call, err := f.Target(ctx, p, d.Target)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	rec, err := f.readDecision(ctx, c, p, &call, in)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	if d.Hold > 0 {
		rec.Hold = in.At + int64(d.Hold)*1000
	}
	return f.decide(ctx, c, p, d.Target, call, rec)
}

// DecideSuspension is [Frontend.Decide] for a caller who does not know the run.
func (f *Frontend) DecideSuspension(ctx context.Context, c Caller, sus string, d wire.Decision) (wire.DecisionAnswer, error) {
	d.Target = sus
	// an invalid decision is refused before the store is read, as in Decide
	if _, err := DecisionInput(d, f.Now()); err != nil {
		return wire.DecisionAnswer{}, err
	}
	p, err := f.SuspensionPlace(ctx, c.Tenant, sus)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	return f.Decide(ctx, c, p.Record.Run, d)
}

// readDecision reads and checks what a caller wrote about a suspended call. It returns the record
// that the journal will hold if the decision is the first. Edited arguments may be under another
// rule than the call's own; then the call takes over who may not approve them.
func (f *Frontend) readDecision(ctx context.Context, c Caller, p journal.Place, call *core.SuspendedCall, in answer.Input) (core.DecisionRecord, error) {
	if err := awaitsChild(*call); err != nil {
		return core.DecisionRecord{}, err
	}
	in.Suspension = call.Suspension.ID
	resume, err := answer.Read(answer.QuestionOf(*call), in)
	if err != nil {
		return core.DecisionRecord{}, decisionRefused(err)
	}
	if resume.Grant != "" && !call.Grantable {
		return core.DecisionRecord{}, refusal.New(refusal.CodeBadGrant, "this call must be approved individually; omit grant")
	}
	if call.Counted() && call.ResumeMode == core.PassDecisionToTool && !core.IsNull(resume.Result) {
		return core.DecisionRecord{}, refusal.New(refusal.CodeWrongKind, "several people decide about this call, so no one sends its result; send action resume or cancel")
	}
	if err := checkSchema(*call, resume); err != nil {
		f.noteMisfit(ctx, c, p, *call, err)
		return core.DecisionRecord{}, err
	}
	notBy, err := f.checkArguments(ctx, c, p.Record, *call, resume)
	if err != nil {
		return core.DecisionRecord{}, err
	}
	call.NotBy = cmp.Or(call.NotBy, notBy)
	rec := core.DecisionRecord{CallID: call.CallID, Suspension: call.Suspension.ID, Digest: in.Digest(), By: c.By, Via: c.Via, Resume: resume}
	if c.Link != nil {
		rec.Link, rec.MintedBy, rec.Verified = c.Link.ID, makerOf(*c.Link), c.Verified
	}
	return rec, nil
}

// noteMisfit leaves word in the journal that a client's result was refused: stock clients take
// their call for answered once they have sent a result, and learn here that it still waits. It is a
// courtesy: the caller has the refusal either way, so nothing is said of a write that fails, and no
// more than a few are made for one suspension.
func (f *Frontend) noteMisfit(ctx context.Context, c Caller, p journal.Place, call core.SuspendedCall, why error) {
	refused, ok := errors.AsType[*refusal.Error](why)
	tracked := p.Head.Calls[call.CallID]
	if !ok || refused.Code != refusal.CodeSchemaMismatch || call.Kind != core.KindClient || !p.Accepts() ||
		tracked.Status != core.CallSuspended || tracked.Sus != call.Suspension.ID || tracked.InvalidAnswers >= planner.MostMisfits {
		return
	}
	f.leaveWord(ctx, c, p, core.MisfitKey(tracked.Sus), core.Signal{Kind: core.SignalMisfit, Call: call.CallID, Sus: tracked.Sus,
		Value: core.Encode(core.CutResult(refused.Detail, 300))})
}

// awaits says whether a decision on the suspension of this call would be stored: the call waits,
// and no decision is on its way.
func awaits(p journal.Place, callID, suspension string) bool {
	call, ok := p.Head.Calls[callID]
	_, taken := p.Head.Inbox[suspension]
	return p.Current && ok && call.Status == core.CallSuspended && call.Sus == suspension && p.Head.End == nil && !taken
}

// changed says whether the decision answers another question than its approver was shown. It
// compares with what the write below is conditional on: the store takes it only while exactly this
// run's call waits on exactly this suspension. A run's version is pinned when the run starts, and a
// call, its arguments and its preview are journaled once under the suspension's id, so that none of
// them can change between here and the write. Without a claim there is nothing to compare.
func changed(h core.Head, call core.SuspendedCall, rec core.DecisionRecord) bool {
	return rec.Shown != "" && rec.Shown != core.Fingerprint(h.Tenant, h.Run, h.Version, call)
}

// decide answers with the target as its caller named it.
func (f *Frontend) decide(ctx context.Context, c Caller, p journal.Place, target string, call core.SuspendedCall, rec core.DecisionRecord) (wire.DecisionAnswer, error) {
	store := f.storeOrExplain
	if call.Counted() {
		store = f.storeVote
	}
	if rec.Hold != 0 && (call.Counted() || call.Kind == core.KindInterrupt) {
		return wire.DecisionAnswer{}, refusal.New(refusal.CodeHoldUnavailable, "a decision on %s can't be held; send it without hold", call.Named())
	}
	stored, err := store(ctx, c, p, call, rec)
	if err != nil {
		f.noteRefused(ctx, c, p, call, err)
		return wire.DecisionAnswer{}, err
	}
	stored.Target, stored.CallID, stored.DecisionID = target, rec.CallID, rec.DecisionID
	return stored, nil
}

// storeOrExplain stores the decision if its call waits for it, and else explains why not. A plain
// read comes first: repeats must not be writes on a busy thread. Who may approve is checked only
// for what is about to be stored: the repeat of a decision that was accepted is recognized even if
// its caller has sent a message since.
func (f *Frontend) storeOrExplain(ctx context.Context, c Caller, p journal.Place, call core.SuspendedCall, rec core.DecisionRecord) (wire.DecisionAnswer, error) {
	for range lostRaces {
		if slices.Contains(hold.Withdrawn(p.Head, rec.CallID, rec.Suspension), rec.DecisionID) && p.Current {
			return wire.DecisionAnswer{}, holds.Spent()
		}
		if !awaits(p, rec.CallID, rec.Suspension) {
			return f.explain(ctx, c, p, call, rec)
		}
		if err := f.mayStore(ctx, c, p, call, rec); err != nil {
			return wire.DecisionAnswer{}, err
		}
		w, err := f.storeDecision(ctx, p.Head, rec)
		if err == nil {
			f.wakeAt(ctx, p.Head, w.Woken, rec.Hold)
			return wire.DecisionAnswer{Code: string(refusal.CodeAccepted), AppliesAt: holds.At(rec.Hold), Cursor: journal.EndOf(w.Head.Record())}, nil
		}
		if !errors.Is(err, engine.ErrRefused) {
			return wire.DecisionAnswer{}, err
		}
		if p, err = f.moved(ctx, c, p, w.Head); err != nil {
			return wire.DecisionAnswer{}, err
		}
	}
	return wire.DecisionAnswer{}, refusal.Contended()
}

// mayStore says why a decision that its call awaits is not stored.
func (f *Frontend) mayStore(ctx context.Context, c Caller, p journal.Place, call core.SuspendedCall, rec core.DecisionRecord) error {
	if err := f.Family.Awaited(ctx, p); err != nil {
		return err
	}
	if err := f.MayApprove(ctx, c, p, call, rec.Resume); err != nil {
		return err
	}
	switch {
	case c.Link != nil && f.Passed(call):
		return refusal.Late()
	case changed(p.Head, call, rec):
		return refusal.New(refusal.CodeChanged, "the question has changed since it was shown; nothing was stored, so read it again")
	}
	return nil
}

func (f *Frontend) storeDecision(ctx context.Context, h core.Head, rec core.DecisionRecord) (engine.Written, error) {
	signal, err := f.offload(ctx, h.Tenant, h.Thread, rec.Signal(core.SignalDecision))
	if err != nil {
		return engine.Written{}, err
	}
	req := engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: rec.Suspension, Signal: signal,
		Call: rec.CallID, Suspension: rec.Suspension, Due: f.due(), Wake: &engine.Delay{}}
	if rec.Hold != 0 {
		return f.holds().Store(ctx, h, req)
	}
	return f.send(ctx, req)
}

// moved is the place after a write was refused by the head h.
func (f *Frontend) moved(ctx context.Context, c Caller, p journal.Place, h core.Head) (journal.Place, error) {
	if h.Run == p.Record.Run {
		return journal.Place{Head: h, Record: h.Record(), Current: true}, nil
	}
	return f.Find(ctx, c.Tenant, p.Record.Run)
}

// explain says what became of the suspension that the decision answers. The order is the contract:
// what waits in the inbox, a deadline that decided, what the journal holds, then the state of call
// and run.
func (f *Frontend) explain(ctx context.Context, c Caller, p journal.Place, call core.SuspendedCall, rec core.DecisionRecord) (wire.DecisionAnswer, error) {
	if p.Current {
		if s, ok := p.Head.Inbox[rec.Suspension]; ok {
			return f.answerWaiting(ctx, p.Head, s, rec)
		}
		if _, timed := p.Head.TimedOut[rec.Suspension]; timed {
			return wire.DecisionAnswer{}, f.late(ctx, c, p, call, rec)
		}
	}
	first, ok, err := f.recordedDecision(ctx, p, rec.Suspension)
	switch {
	case err != nil:
		return wire.DecisionAnswer{}, err
	case ok && first.TimedOut:
		return wire.DecisionAnswer{}, refusal.Late()
	case ok && first.DecisionID == rec.DecisionID && first.Digest == rec.Digest:
		return same(&first.Applied), nil
	case ok:
		return wire.DecisionAnswer{}, refusal.OtherWasFirst(first)
	}
	return wire.DecisionAnswer{}, whyClosed(p, rec.CallID, rec.Suspension)
}

// late stores the first answer that comes after the deadline, for the record. A link ends at the
// deadline, so its answer is not stored; nor is one to another question than was shown.
func (f *Frontend) late(ctx context.Context, c Caller, p journal.Place, call core.SuspendedCall, rec core.DecisionRecord) error {
	h := p.Head
	if _, there := h.Inbox[core.LateKey(rec.Suspension)]; there || c.Link != nil || changed(h, call, rec) {
		return refusal.Late()
	}
	if err := f.MayApprove(ctx, c, p, call, rec.Resume); err != nil {
		return err
	}
	signal, err := f.offload(ctx, h.Tenant, h.Thread, rec.Signal(core.SignalLate))
	if err != nil {
		return err
	}
	w, err := f.send(ctx, engine.SignalRequest{Tenant: c.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: core.LateKey(rec.Suspension), Signal: signal,
		Late: rec.Suspension, Due: f.due(), Wake: &engine.Delay{}})
	switch {
	case err == nil:
		f.wake(ctx, c.Tenant, h.Thread, w.Woken)
	case !errors.Is(err, engine.ErrRefused):
		return err
	}
	return refusal.Late()
}

// answerWaiting compares with the decision that is stored and not yet taken up. The same one wakes
// the run again. One that may be withdrawn is the same for its own caller alone: another person's
// answer would go with it. That is so until it is taken up, also after its hold by this clock.
func (f *Frontend) answerWaiting(ctx context.Context, h core.Head, s core.Signal, rec core.DecisionRecord) (wire.DecisionAnswer, error) {
	if s.ID == rec.DecisionID && s.Digest == rec.Digest && (s.Hold == 0 || s.By == rec.By && s.Link == rec.Link) {
		answer := same(nil)
		if hold.Held(s, f.Now()) {
			answer.AppliesAt = holds.At(s.Hold)
		} else {
			f.wake(ctx, h.Tenant, h.Thread, false)
		}
		return answer, nil
	}
	first, err := f.FirstResume(ctx, h, s)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	return wire.DecisionAnswer{}, refusal.OtherWasFirst(s.Record(rec.Suspension, first))
}

// FirstResume is what a decision says that is stored and not yet taken up.
func (f *Frontend) FirstResume(ctx context.Context, h core.Head, s core.Signal) (core.Resume, error) {
	first := core.Resume{DecisionID: s.ID}
	value := []byte(s.Value)
	if s.Ref != "" {
		var err error
		value, err = storecall.Try(ctx, f.Clock, func() ([]byte, error) { return f.Store.Payload(ctx, h.Tenant, h.Thread, s.Ref) })
		if err != nil {
			return first, err
		}
	}
	return first, json.Unmarshal(value, &first)
}

func same(applied *bool) wire.DecisionAnswer {
	return wire.DecisionAnswer{Code: string(refusal.CodeAlreadyDecided), Same: new(true), Applied: applied}
}

// whyClosed says why a suspension that was never answered takes no answer any more.
func whyClosed(p journal.Place, callID, suspension string) error {
	call, there := p.Head.Calls[callID]
	switch {
	case !p.Accepts():
		return runDone()
	case there && call.Sus != suspension:
		return refusal.New(refusal.CodeStaleSuspension, "the call was suspended again; answer its newest suspension")
	}
	return refusal.New(refusal.CodeNotSuspended, "the call is no longer suspended")
}

// recordedDecision looks for the decision on a suspension in the run's journal, which is not one
// that came too late. The suspension's id says where to begin.
func (f *Frontend) recordedDecision(ctx context.Context, p journal.Place, sus string) (rec core.DecisionRecord, found bool, err error) {
	seq, _ := core.SuspensionSeq(sus)
	return f.findDecision(ctx, p, max(seq, p.Record.Seq0+1), func(r core.DecisionRecord) bool { return r.Suspension == sus && !r.Late })
}

// findDecision is the first decision in the run's journal, from a segment on, that is the one
// meant.
func (f *Frontend) findDecision(ctx context.Context, p journal.Place, from int64, meant func(core.DecisionRecord) bool) (rec core.DecisionRecord, found bool, err error) {
	var broken error
	err = f.Journal(ctx, p, from, func(s core.Segment) bool {
		for _, e := range s.Events {
			var r core.DecisionRecord
			if e.Type != core.EventDecisionRecorded {
				continue
			}
			if broken = json.Unmarshal(e.Data, &r); broken != nil {
				return false
			}
			if meant(r) {
				rec, found = r, true
				return false
			}
		}
		return true
	})
	return rec, found, errors.Join(err, broken)
}
