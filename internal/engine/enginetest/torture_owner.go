package enginetest

import (
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// mostCommits is how many commits an activation of the torture makes at most.
const mostCommits = 4

// claimAndCommit is an activation: a claim, some commits, and most often a release.
func (h *hand) claimAndCommit(thread string) error {
	now := h.now()
	req := engine.ClaimRequest{Tenant: tenant, Thread: thread, Claim: h.fresh(), Now: now, LeaseEnd: now + 20 + h.rng.Int64N(200),
		Due: now + 300, Schema: core.SchemaVersion}
	head, err := h.store.Claim(h.ctx, req)
	if err != nil {
		return h.observed(head, err, engine.ErrRefused)
	}
	if err := h.tell(told{What: toldClaim, Thread: thread, Run: head.Run, ID: req.Claim, Head: positionOf(head)}); err != nil {
		return err
	}
	if err := h.look(head); err != nil {
		return err
	}
	var sent []engine.CommitRequest
	for put := 1; put <= mostCommits && head.Lease != 0; put++ {
		req := h.write(head, put)
		sent = append(sent, req)
		on, err := h.commit(&head, req)
		if err != nil || !on {
			return err
		}
	}
	return h.repeat(sent)
}

// repeat sends a commit of an activation once more, as a network may.
func (h *hand) repeat(sent []engine.CommitRequest) error {
	if len(sent) == 0 || h.rng.IntN(3) > 0 {
		return nil
	}
	w, err := h.store.Commit(h.ctx, sent[h.rng.IntN(len(sent))])
	return h.observed(w.Head, err, engine.ErrFenced, engine.ErrSignals)
}

// commit sends one commit and leaves the stored head in head. on is false if another worker owns
// the run or the store did not answer.
func (h *hand) commit(head *core.Head, req engine.CommitRequest) (on bool, err error) {
	w, err := h.store.Commit(h.ctx, req)
	if err == nil {
		line := told{What: toldCommit, Thread: head.Thread, Run: head.Run, Head: positionOf(req.Next), Stamp: int64(req.Next.CID)}
		if err := h.tell(line); err != nil {
			return false, err
		}
		if req.AllSeen && len(w.Head.Inbox) > 0 {
			line.What, line.Text = toldBroken, "a closing commit left an unseen signal behind"
			if err := h.tell(line); err != nil {
				return false, err
			}
		}
	}
	if err := h.observed(w.Head, err, engine.ErrFenced, engine.ErrSignals); err != nil {
		return false, err
	}
	*head = w.Head
	return err == nil || errors.Is(err, engine.ErrSignals), nil
}

// write makes a commit of a random kind, whose segment has everything that was in the inbox.
func (h *hand) write(head core.Head, put int) engine.CommitRequest {
	settled := head.Clone()
	if answered(settled) || h.rng.IntN(2) == 0 {
		// a decision on it that is stored meanwhile stays in the inbox
		settled.Calls, settled.Pending, settled.Oldest = nil, 0, ""
	}
	var req engine.CommitRequest
	switch due := h.now() + 200; h.rng.IntN(5) {
	case 0:
		req = next(settled, put, "a step")
	case 1, 2:
		req = suspend(settled, put, core.SuspensionID(head.Thread, head.Seq+1, h.fresh()))
	case 3:
		req = finish(settled, put)
	default:
		req = next(settled, put, "to be continued")
		req.Next.Lease, req.Due, req.Wake = 0, &due, &engine.Delay{}
	}
	for key, signal := range head.Inbox {
		req.Segment.Messages = append(req.Segment.Messages, core.Message{Role: core.RoleUser, RunID: head.Run, At: signal.At,
			CallID: key, Parts: core.TextParts(signal.ID)})
	}
	return req
}

// answered says whether the decision on the call is among what is drained now.
func answered(h core.Head) bool {
	_, there := h.Inbox[h.Calls["c1"].Sus]
	return there
}
