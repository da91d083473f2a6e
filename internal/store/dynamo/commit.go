package dynamo

import (
	"context"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/headform"
)

// Commit implements [engine.Store]. It first stores the segment under its own stamp. The segment
// becomes part of the journal only when the head names it: a crash in between leaves an item that
// no one reads.
func (s *Store) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	if err := req.Check(); err != nil {
		return engine.Written{}, err
	}
	if seg := req.Segment; seg != nil {
		if seg.Seq != req.Next.Seq || seg.W != req.Next.CID {
			return engine.Written{}, fmt.Errorf("dynamo: segment %d (%d) does not belong to a commit of %d (%d)", seg.Seq, seg.W, req.Next.Seq,
				req.Next.CID)
		}
		if err := s.putSegment(ctx, req.Next.Tenant, req.Next.Thread, *seg); err != nil {
			return engine.Written{}, err
		}
	}
	h, won, err := s.changeHead(ctx, "committing", s.commitUpdate(req))
	if won || err != nil {
		return engine.Written{Head: h}, err
	}
	return engine.Written{Head: h}, refuseCommit(req, h)
}

func (s *Store) commitUpdate(req engine.CommitRequest) *update {
	h := req.Next
	u := &update{key: headKey(h.Tenant, h.Thread)}
	for _, a := range ownerAttributes(h) {
		u.put(a.name, a.value)
	}
	if req.Due != nil {
		s.setDue(u, *req.Due)
	}
	for i, key := range req.Drained {
		u.removes = append(u.removes, u.in("{inbox}.")+u.alias(fmt.Sprintf("in%d", i), headform.Short(h.Thread, key)))
	}
	changeVotes(u, h.Thread, req.Votes)
	u.require("{epoch} = :epoch AND {rev} = :was")
	u.value("epoch", number(h.Epoch))
	u.value("was", number(h.Rev-1))
	if req.AllSeen {
		u.require("{sigs} = :seen")
		u.value("seen", number(req.Seen))
	}
	return u
}

// refuseCommit says why a commit was refused. It checks the epoch first: once another owner has
// claimed the run, even a commit that landed no longer concerns the caller.
func refuseCommit(req engine.CommitRequest, old core.Head) error {
	switch {
	case old.Thread == "" || old.Epoch != req.Next.Epoch:
		return engine.ErrFenced
	case old.CID == req.Next.CID && old.Rev == req.Next.Rev: // a repeat of a commit that landed
		return nil
	case old.Rev == req.Next.Rev-1:
		return engine.ErrSignals
	}
	return engine.ErrFenced
}
