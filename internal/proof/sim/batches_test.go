package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// batchKey is under which the questions of a batch travel, by suspension.
type batchKey struct{}

// singles are the decisions of a request, each as a request of its own.
func singles(req engine.SignalRequest) []engine.SignalRequest {
	all := []engine.SignalRequest{req}
	all[0].Together = nil
	for _, one := range req.Together {
		single := req
		single.InboxKey, single.Signal, single.Call, single.Suspension, single.Together = one.Suspension, one.Signal, one.Call, one.Suspension, nil
		all = append(all, single)
	}
	return all
}

// asksOf is ctx with the question that is about one suspension of a batch.
func asksOf(ctx context.Context, sus string) context.Context {
	if all, ok := ctx.Value(batchKey{}).(map[string]*question); ok && all[sus] != nil {
		return context.WithValue(ctx, questionKey{}, all[sus])
	}
	return ctx
}

func (d desk) DecideTogether(ctx context.Context, c frontend.Caller, run string, all []wire.Decision) ([]wire.DecisionAnswer, error) {
	return d.Frontend.DecideTogether(d.by(ctx, request{who: c}), c, run, all)
}

// settleTogether decides what waits all or none, where one caller may decide several.
func (t *thread) settleTogether(ctx context.Context, run string, pending []wire.Pending) {
	if len(pending) < 2 || t.s.plan.calm || t.pick(2) == 0 {
		return
	}
	who, name := t.decider(pending[0]), t.s.w.Text(6)
	var batch []wire.Decision
	for _, p := range pending {
		if t.decider(p).By == who.By && len(batch) < frontend.MaxBatch {
			d := t.truth(run, p)
			d.DecisionID = fmt.Sprintf("batch %s %d", name, len(batch))
			batch = append(batch, d)
		}
	}
	if len(batch) < 2 {
		return
	}
	t.s.faults.Counts["batches"]++
	request := func(ctx context.Context) ([]wire.DecisionAnswer, error) { return t.ruledTogether(ctx, who, run, batch) }
	answers, err := persist(ctx, t.s, request)
	if err != nil {
		return
	}
	t.batches = append(t.batches, batch)
	for i, d := range batch {
		t.learn(who, run, d, answers[i], nil)
	}
	t.sent = append(t.sent, func(ctx context.Context) {
		if _, err := once(ctx, request); err != nil && !temporary(err) {
			t.s.wrong("BD-4: a batch of %s was accepted, and its repeat got %v", run, err)
		}
	})
}

// ruledTogether sends a batch once, and lets the referee judge what each of its decisions met.
func (t *thread) ruledTogether(ctx context.Context, who frontend.Caller, run string, batch []wire.Decision) ([]wire.DecisionAnswer, error) {
	asked := map[string]*question{}
	for _, d := range batch {
		asked[d.Target] = &question{who: who, run: run, decision: d, from: t.moment()}
	}
	answers, err := t.s.front.DecideTogether(context.WithValue(ctx, batchKey{}, asked), who, run, batch)
	t.s.w.Note("%q decides %d calls of %s together: is told %v", who.By, len(batch), run, err)
	for i, answer := range answers {
		t.s.referee.decided(t.id, asked[batch[i].Target], answer, nil)
	}
	refused, ok := errors.AsType[*refusal.Error](err)
	if !ok || refused.Code != refusal.CodeBatchRefused {
		return answers, err
	}
	t.s.faults.Counts["batches refused"]++
	for _, met := range refused.Answers {
		q := asked[met.Decision.Target]
		switch {
		case met.Err != nil:
			t.s.referee.decided(t.id, q, wire.DecisionAnswer{}, met.Err)
		case met.Same:
			same := true
			t.s.referee.decided(t.id, q, wire.DecisionAnswer{Code: string(refusal.CodeAlreadyDecided), Same: &same, Applied: met.Applied}, nil)
		case t.s.referee.thread(t.id).stored[met.Decision.Target] == q:
			t.s.wrong("BD-1: a batch of %s was refused, and its decision on %s was stored", run, met.Decision.Target)
		}
	}
	return answers, err
}

// checkBatches: the decisions of a batch are journaled once each, in one commit (BD-1, BD-2).
func (s *stage) checkBatches(t *thread, segments []core.Segment) {
	at := map[string][]int64{}
	for _, seg := range segments {
		for _, id := range decisionsIn(seg) {
			at[id] = append(at[id], seg.Seq)
		}
	}
	for _, batch := range t.batches {
		first := at[batch[0].DecisionID]
		for _, d := range batch {
			if got := at[d.DecisionID]; len(got) != 1 || len(first) != 1 || got[0] != first[0] {
				s.wrong("BD-2: decision %q of a batch is journaled in the segments %v, and %q in %v", d.DecisionID, got, batch[0].DecisionID, first)
			}
		}
	}
}

// decisionsIn are the ids of the decisions that a segment records.
func decisionsIn(seg core.Segment) (ids []string) {
	for _, e := range seg.Events {
		var rec core.DecisionRecord
		if e.Type == core.EventDecisionRecorded && json.Unmarshal(e.Data, &rec) == nil && !rec.Late {
			ids = append(ids, rec.DecisionID)
		}
	}
	return ids
}
