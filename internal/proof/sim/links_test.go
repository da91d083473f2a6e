package sim_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/links"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// linkRecords are the approval links that were made. Their store has no faults: links are made
// once, and read.
type linkRecords map[[3]string]engine.Link

func (m linkRecords) PutLink(_ context.Context, l engine.Link) error {
	at := [3]string{l.Tenant, l.Run, l.ID}
	if _, there := m[at]; !there {
		m[at] = l
	}
	return nil
}

func (m linkRecords) Link(_ context.Context, tenant, run, id string) (engine.Link, error) {
	l, ok := m[[3]string{tenant, run, id}]
	if !ok {
		return l, engine.ErrNotFound
	}
	return l, nil
}

func (m linkRecords) Links(_ context.Context, tenant, run string) (all []engine.Link, err error) {
	for at, l := range m {
		if at[0] == tenant && at[1] == run {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b engine.Link) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

func (m linkRecords) RevokeLink(ctx context.Context, tenant, run, id string, _ int64, _ string) (engine.Link, error) {
	return m.Link(ctx, tenant, run, id)
}

// SwapLinkCode replaces nothing: no link of a simulation asks for a code.
func (m linkRecords) SwapLinkCode(context.Context, string, string, string, string, string) (bool, error) {
	return false, nil
}

// byLink lets a principal make an approval link for the newest approval that anybody saw, and its
// recipient answer by it.
func (t *thread) byLink(ctx context.Context) {
	for i := len(t.seen) - 1; i >= 0; i-- {
		if p := t.seen[i]; p.Kind == "approval" {
			t.sendLink(ctx, t.of[p.Suspension.ID], p)
			return
		}
	}
}

func (t *thread) sendLink(ctx context.Context, run string, p wire.Pending) {
	maker := t.answerer(p)
	order := links.LinkOrder{Target: p.Suspension.ID, For: "kim", Name: strings.TrimPrefix(maker.By, "token:"), Life: time.Hour}
	l, err := once(ctx, func(ctx context.Context) (engine.Link, error) { return t.s.front.MakeLink(ctx, maker, run, order) })
	if err != nil {
		t.s.w.Note("%q makes a link for %s: %v", maker.By, order.Target, err)
		if c := code(err); c == refusal.CodeNotAnApprover || c == refusal.CodeSeparationOfDuties {
			q := &question{who: frontend.LinkCaller(engine.Link{For: order.For, Maker: order.Name}), run: run, decision: wire.Decision{Target: order.Target}}
			t.s.referee.refusedFor(t.s.referee.thread(t.id), q, c)
		}
		return
	}
	_ = t.s.w.Sleep(ctx, t.s.w.Upto(4*time.Second))
	t.s.faults.Counts["answered by a link"]++
	d := wire.Decision{Target: l.Suspension, DecisionID: l.ID, Action: []string{"resume", "resume", "cancel"}[t.pick(3)]}
	t.decide(ctx, frontend.LinkCaller(l), run, d)
}
