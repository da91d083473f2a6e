package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// claimable is [core.Head.Claimable]. That the claim differs is among the conditions, so that a late copy of a claim does not take a run that
// was released since; whether a refused claim is the caller's own is decided afterwards. What is compared with an attribute that is not
// there does not hold.
var claimable = []string{
	"{v} <= :schema",
	"attribute_not_exists({lease}) OR {lease} < :now",
	"attribute_not_exists({claim}) OR {claim} <> :claim",
	"({st} IN (:created, :st) AND (attribute_not_exists({not_before}) OR {not_before} <= :now OR size({inbox}) > :zero))" +
		" OR ({st} = :waiting AND (size({inbox}) > :zero OR {dl} <= :now))",
}

// Claim implements [engine.Store]. It is one write.
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

// refuseClaim says what came of a claim that old refused. A claim whose answer was lost finds itself there:
//
//	client: claim c ──────────────> server: epoch 6, claim c
//	                  answer lost <──
//	client: claim c, again ───────> server: refused, for claim = c; here is the head
//
// It is granted, and the epoch was raised once. After a release the lease is gone, and it is an old copy.
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

// setDue sets when the sweep shall look; 0 takes the entry out of the index. The shard of a thread is always the same, so that a due time that
// does not change costs no write of the index.
func (s *Store) setDue(u *update, due int64) {
	if due == 0 {
		u.remove(attrDue)
		u.remove(attrShard)
		return
	}
	u.set(attrDue, number(due))
	u.set(attrShard, text(s.shard(u.key.pk)))
}

// changeHead sends an update of a head and returns the head after it; if it was refused, the head that refused, which is zero if there is
// none.
func (s *Store) changeHead(ctx context.Context, doing string, u *update, how ...func(*dynamodb.Options)) (h core.Head, won bool, err error) {
	out, err := s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.o.Table, Key: u.key.attributes(),
		UpdateExpression: u.changes(), ConditionExpression: u.condition(),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values, ReturnValues: types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}, how...)
	if err == nil {
		if h, err = readHead(out.Attributes); errors.Is(err, engine.ErrNewerSchema) { // which would say that nothing was written
			err = fmt.Errorf("%w: %s: done, and the head is of a newer version: %v", engine.ErrUnavailable, doing, err)
		}
		return h, err == nil, err
	}
	old, refused := refusal(err)
	if !refused {
		return core.Head{}, false, s.unavailable(doing, err)
	}
	h, err = s.refusedBy(ctx, u.key, old)
	return h, false, err
}

// refusedBy is the head that refused a write. A server that does not send it is asked. A later head is as good to judge by: of epoch, rev
// and seq it can only say more, so that what is found to be mine is mine, and what is not is somebody else's by now.
func (s *Store) refusedBy(ctx context.Context, at key, old item) (core.Head, error) {
	if len(old) == 0 {
		return s.head(ctx, at)
	}
	return readHead(old)
}
