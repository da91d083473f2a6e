package dynamo

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// claimable expresses [core.Head.Claimable]. Another condition is that the claim differs, so that a
// late copy of a claim cannot take a run that has been released since; whether a refused claim is
// the caller's own is decided afterwards. A comparison with a missing attribute is false.
var claimable = []string{
	"{v} <= :schema",
	"attribute_not_exists({lease}) OR {lease} < :now",
	"attribute_not_exists({claim}) OR {claim} <> :claim",
	"({st} IN (:created, :st) AND (attribute_not_exists({not_before}) OR {not_before} <= :now OR size({inbox}) > :zero))" +
		" OR ({st} = :waiting AND (size({inbox}) > :zero OR {dl} <= :now))",
}

// Claim implements [engine.Store]. It is one conditional write.
func (s *Store) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	u := &update{key: headKey(req.Tenant, req.Thread)}
	u.set(attrLease, number(req.LeaseEnd))
	u.set(attrClaim, text(req.Claim))
	u.set(attrStatus, text(core.RunRunning.String()))
	s.setDue(u, req.Due)
	u.add(attrEpoch, 1)
	u.add(attrRev, 1)
	u.add(attrTries, 1)
	for _, condition := range claimable {
		u.require(condition)
	}
	u.value("schema", number(int64(req.Schema)))
	u.value("now", number(req.Now))
	u.value("zero", number(0))
	u.value("created", text(core.RunCreated.String()))
	u.value("waiting", text(core.RunWaiting.String()))
	h, won, err := s.changeHead(ctx, "claiming a run", u)
	if won || err != nil {
		return h, err
	}
	return refuseClaim(req, h)
}

// refuseClaim returns the result of a claim that old refused. A claim whose answer was lost finds
// itself in the head:
//
//	client: claim c ──────────────> server: epoch 6, claim c
//	                  answer lost <──
//	client: claim c, again ───────> server: refused, for claim = c; here is the head
//
// It is then granted, and the epoch has risen once. After a release the lease is gone, and the
// claim is an old copy.
func refuseClaim(req engine.ClaimRequest, old core.Head) (core.Head, error) {
	switch {
	case old.Thread == "":
		return core.Head{}, engine.ErrRefused
	case old.Claim == req.Claim && old.Lease != 0:
		return old, nil
	case old.Schema > req.Schema && old.Claimable(req.Now, req.Claim):
		return old, engine.ErrNewerSchema
	}
	return old, engine.ErrRefused
}
