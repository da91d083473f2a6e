package frontend

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// MaxBatch is how many decisions are stored all or none.
const MaxBatch = 16

// member is one decision of a batch.
type member struct {
	asked  wire.Decision
	call   core.SuspendedCall
	rec    core.DecisionRecord
	refuse *refusal.Error // why it was refused on reading; nil: it can be stored
}

// DecideTogether answers several suspended calls of one run, all or none, in one write: the run
// takes them up together, in one turn. That run is the one that is addressed or one below it. Each
// is one that [Frontend.Decide] could store, and the same rules hold: a batch and a single decision
// meet in one condition. All are accepted, or all had been before; otherwise the error is
// [refusal.CodeBatchRefused], with what each of them met, and nothing is stored.
func (f *Frontend) DecideTogether(ctx context.Context, c Caller, run string, asked []wire.Decision) ([]wire.DecisionAnswer, error) {
	if n := len(asked); n == 0 || n > MaxBatch {
		return nil, refusal.New(refusal.CodeInvalid, "all_or_none takes 1 to %d decisions", MaxBatch)
	}
	p, err := f.addressedTogether(ctx, c, run, asked)
	if err != nil {
		return nil, err
	}
	batch, err := f.readBatch(ctx, c, p, asked)
	if err != nil {
		return nil, err
	}
	for range lostRaces {
		stored, err := f.tryBatch(ctx, c, p, batch)
		if !errors.Is(err, errMoved) {
			return stored.answers, err
		}
		if p, err = f.moved(ctx, c, p, stored.head); err != nil {
			return nil, err
		}
	}
	return nil, refusal.Contended()
}

// addressedTogether is [Frontend.Addressed] for targets that must mean one run. Those that it
// doesn't find are refused where they are read.
func (f *Frontend) addressedTogether(ctx context.Context, c Caller, run string, asked []wire.Decision) (p journal.Place, err error) {
	of := ""
	for _, one := range asked {
		there, err := f.Addressed(ctx, c, run, one.Target)
		refused, ok := errors.AsType[*refusal.Error](err)
		switch {
		case ok && refused.Code == refusal.CodeCallNotFound:
			continue
		case err != nil:
			return p, err
		case of != "" && there.Record.Run != of:
			return p, refusal.New(refusal.CodeBatchSpansRuns, "the decisions answer calls of run %s and of run %s; send all_or_none for the calls of one run", of, there.Record.Run)
		}
		p, of = there, there.Record.Run
	}
	if of == "" {
		return f.Find(ctx, c.Tenant, run)
	}
	return p, nil
}

// readBatch reads each decision separately, so that one answer reports the faults of all of them.
func (f *Frontend) readBatch(ctx context.Context, c Caller, p journal.Place, asked []wire.Decision) ([]member, error) {
	batch := make([]member, len(asked))
	answered := map[string]bool{}
	for i, one := range asked {
		m, err := f.readMember(ctx, c, p, one)
		if refused, ok := errors.AsType[*refusal.Error](err); ok && refused.Code != refusal.CodeUnavailable {
			batch[i] = member{asked: one, refuse: refused}
			continue
		}
		if err != nil {
			return nil, err
		}
		sus := m.rec.Suspension
		if answered[sus] {
			return nil, refusal.New(refusal.CodeInvalid, "two decisions answer suspension %s; send one", sus)
		}
		answered[sus] = true
		batch[i] = m
	}
	return batch, nil
}

func (f *Frontend) readMember(ctx context.Context, c Caller, p journal.Place, asked wire.Decision) (member, error) {
	in, err := DecisionInput(asked, f.Now())
	if err != nil {
		return member{}, err
	}
	call, err := f.Target(ctx, p, asked.Target)
	if err != nil {
		return member{}, err
	}
	if asked.Hold != 0 {
		return member{}, refusal.New(refusal.CodeHoldUnavailable, "the decisions of a batch can't be held; send them without hold, or each on its own")
	}
	if call.Counted() {
		return member{}, refusal.New(refusal.CodeVotesAreCounted, "several people decide about %s, so its decision can't be stored together with others; send it on its own", call.Named())
	}
	rec, err := f.readDecision(ctx, c, p, &call, in)
	return member{asked: asked, call: call, rec: rec}, err
}

// tried is what became of a batch on one head; head is there with [errMoved].
type tried struct {
	answers []wire.DecisionAnswer
	head    core.Head
}

func (f *Frontend) tryBatch(ctx context.Context, c Caller, p journal.Place, batch []member) (tried, error) {
	met, all, err := f.meet(ctx, c, p, batch)
	switch {
	case err != nil:
		return tried{}, err
	case all == allMadeBefore:
		return tried{answers: answersOf(met, refusal.CodeAlreadyDecided, "")}, nil
	case all != allAwaited:
		for i, m := range batch {
			if met[i].Err != nil {
				f.noteRefused(ctx, c, p, m.call, met[i].Err)
			}
		}
		return tried{}, &refusal.Error{Code: refusal.CodeBatchRefused, Detail: "none of the decisions was stored, because at least one can't be; answers has the result of each", Answers: met}
	}
	w, err := f.storeBatch(ctx, p.Head, batch)
	switch {
	case err == nil:
		f.wake(ctx, c.Tenant, p.Head.Thread, w.Woken)
		return tried{answers: answersOf(met, refusal.CodeAccepted, journal.EndOf(w.Head.Record()))}, nil
	case errors.Is(err, engine.ErrRefused):
		return tried{head: w.Head}, errMoved
	}
	return tried{}, err
}

// What the decisions of a batch have in common.
const (
	allAwaited = iota + 1
	allMadeBefore
	mixed
)

// meet says what each decision meets in the head, and what they have in common.
func (f *Frontend) meet(ctx context.Context, c Caller, p journal.Place, batch []member) (met []refusal.BatchAnswer, all int, err error) {
	met = make([]refusal.BatchAnswer, len(batch))
	awaited, before := 0, 0
	for i, m := range batch {
		met[i] = refusal.BatchAnswer{Decision: m.asked, CallID: m.rec.CallID, Err: m.refuse}
		if m.refuse != nil {
			continue
		}
		met[i].Decision.DecisionID = m.rec.DecisionID
		if awaits(p, m.rec.CallID, m.rec.Suspension) {
			if met[i].Err, err = asRefusal(f.mayStore(ctx, c, p, m.call, m.rec)); err != nil {
				return nil, 0, err
			}
			if met[i].Err == nil {
				awaited++
			}
			continue
		}
		answer, why := f.explain(ctx, c, p, m.call, m.rec)
		if met[i].Err, err = asRefusal(why); err != nil {
			return nil, 0, err
		}
		if met[i].Err == nil {
			met[i].Same, met[i].Applied = true, answer.Applied
			before++
		}
	}
	switch len(batch) {
	case awaited:
		return met, allAwaited, nil
	case before:
		return met, allMadeBefore, nil
	}
	return met, mixed, nil
}

// asRefusal separates a refusal, which the caller gets, from a failure of the server.
func asRefusal(err error) (*refusal.Error, error) {
	refused, ok := errors.AsType[*refusal.Error](err)
	if ok && refused.Code != refusal.CodeUnavailable {
		return refused, nil
	}
	return nil, err
}

func (f *Frontend) storeBatch(ctx context.Context, h core.Head, batch []member) (engine.Written, error) {
	req := engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Due: f.due(), Wake: &engine.Delay{}}
	for i, m := range batch {
		signal, err := f.offload(ctx, h.Tenant, h.Thread, m.rec.Signal(core.SignalDecision))
		if err != nil {
			return engine.Written{}, err
		}
		if i == 0 {
			req.InboxKey, req.Signal, req.Call, req.Suspension = m.rec.Suspension, signal, m.rec.CallID, m.rec.Suspension
			continue
		}
		req.Together = append(req.Together, engine.Answer{Signal: signal, Call: m.rec.CallID, Suspension: m.rec.Suspension})
	}
	return f.send(ctx, req)
}

func answersOf(met []refusal.BatchAnswer, code refusal.Code, cursor string) []wire.DecisionAnswer {
	answers := make([]wire.DecisionAnswer, len(met))
	for i, m := range met {
		answers[i] = wire.DecisionAnswer{Code: string(code), Target: m.Decision.Target, CallID: m.CallID, DecisionID: m.Decision.DecisionID,
			Applied: m.Applied, Cursor: cursor}
		if m.Same {
			same := true
			answers[i].Same = &same
		}
	}
	return answers
}
