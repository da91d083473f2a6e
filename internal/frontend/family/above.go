// Package family finds the runs above and below a run. Runs don't list their children: a child's
// place follows from the call that waits for it, and the child names its parent.
//
//	root ── call waits ── child ── call waits ── grandchild
//	     ◄──── Parent ────      ◄──── Parent ────
package family

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// mostAbove bounds how far up is looked. No agent allows a child that deep.
const mostAbove = 256

// Tree finds relatives. Its heads are read consistently.
type Tree struct {
	find func(ctx context.Context, tenant, run string) (journal.Place, error)
}

// In finds relatives among the runs of a journal.
func In(j *journal.Reader) *Tree { return &Tree{j.Find} }

// Remembering reads each run once. It is for one request, and for nothing that decides.
func (t *Tree) Remembering() *Tree {
	seen := map[string]journal.Place{}
	return &Tree{func(ctx context.Context, tenant, run string) (journal.Place, error) {
		if p, read := seen[run]; read {
			return p, nil
		}
		p, err := t.find(ctx, tenant, run)
		if err == nil {
			seen[run] = p
		}
		return p, err
	}}
}

// Above are the runs above the one at p, its parent first. A run that doesn't exist any more ends
// them.
func (t *Tree) Above(ctx context.Context, p journal.Place) (above []journal.Place, err error) {
	for at := p; at.Record.Parent != nil && len(above) < mostAbove; {
		at, err = t.find(ctx, p.Head.Tenant, at.Record.Parent.Run)
		if isMissing(err) {
			return above, nil
		}
		if err != nil {
			return nil, err
		}
		above = append(above, at)
	}
	return above, nil
}

// IsBelow says whether the run at p is below the other.
func (t *Tree) IsBelow(ctx context.Context, p journal.Place, run string) (bool, error) {
	above, err := t.Above(ctx, p)
	for _, up := range above {
		if up.Record.Run == run {
			return true, err
		}
	}
	return false, err
}

// Path are the runs from the root to the one at p, both included; none for a root.
func (t *Tree) Path(ctx context.Context, p journal.Place) ([]wire.PathStep, error) {
	above, err := t.Above(ctx, p)
	if err != nil || len(above) == 0 {
		return nil, err
	}
	path := make([]wire.PathStep, 0, len(above)+1)
	for i := len(above) - 1; i >= 0; i-- {
		path = append(path, stepOf(above[i].Record))
	}
	return append(path, stepOf(p.Record)), nil
}

func stepOf(r core.Record) wire.PathStep {
	step := wire.PathStep{RunID: r.Run, Agent: r.Agent}
	if r.Peer != nil {
		step.Agent = r.Peer.Tool // the agent that works has no name here
	}
	if r.Parent != nil {
		step.CallID = r.Parent.Call
	}
	return step
}

// Awaited refuses, with [refusal.CodeRunDone], what would be sent to a run whose work isn't wanted
// any more: a run above it has ended or is being cancelled, or waits for it no longer. A worker
// looks once more before it acts on what was sent, so a refusal here is only sooner.
func (t *Tree) Awaited(ctx context.Context, p journal.Place) error {
	for at, n := p, 0; at.Record.Parent != nil && n < mostAbove; n++ {
		link := *at.Record.Parent
		up, err := t.find(ctx, p.Head.Tenant, link.Run)
		if err != nil && !isMissing(err) {
			return err
		}
		_, cancelled := up.Head.Inbox[core.KeyCancel]
		switch {
		case isMissing(err), !up.Current, !up.Head.WaitsFor(link):
			return refusal.New(refusal.CodeRunDone, "the run works for run %s, which has ended or no longer waits for it", link.Run)
		case cancelled:
			return refusal.New(refusal.CodeRunDone, "the run works for run %s, which is being cancelled", link.Run)
		}
		at = up
	}
	return nil
}

func isMissing(err error) bool {
	refused, ok := errors.AsType[*refusal.Error](err)
	return ok && refused.Code == refusal.CodeRunNotFound
}
