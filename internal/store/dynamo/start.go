package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Start implements [engine.Store] and frontend.Store. The first run of a thread is one write; a
// later one is a transaction.
func (s *Store) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	if err := req.Check(); err != nil {
		return engine.Written{}, err
	}
	req.Head.Due = req.Due
	if req.Prior == nil && req.Key == nil {
		return s.create(ctx, req.Head)
	}
	u := s.startUpdate(req)
	old, won, err := s.transact(ctx, "starting a run", req.Key, u, s.recordOf(req))
	switch {
	case err != nil:
		return engine.Written{}, err
	case won:
		h, err := readHead(s.headItem(req.Head))
		return engine.Written{Head: h}, err
	case old.Schema > core.SchemaVersion:
		return engine.Written{Head: old}, engine.ErrNewerSchema
	case req.Owned:
		return engine.Written{Head: old}, refuseOwned(req, old)
	}
	return engine.Written{Head: old}, engine.ErrRefused
}

// create stores the head of a new thread.
func (s *Store) create(ctx context.Context, h core.Head) (engine.Written, error) {
	var e expression
	condition := e.in("attribute_not_exists({pk})")
	created := s.headItem(h)
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.o.Table, Item: created, ConditionExpression: &condition,
		ExpressionAttributeNames: e.names, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	if err == nil {
		h, err := readHead(created)
		return engine.Written{Head: h}, err
	}
	old, refused := refusal(err)
	if !refused {
		return engine.Written{}, s.unavailable("starting a thread", err)
	}
	h, err = s.refusedBy(ctx, keyOf(created), old)
	return engine.Written{Head: h}, orRefused(err)
}

func (s *Store) headItem(h core.Head) item {
	it := headKey(h.Tenant, h.Thread).attributes()
	for _, a := range append(s.startAttributes(h), ownerAttributes(h)...) {
		if a.value != nil {
			it[a.name] = a.value
		}
	}
	return it
}

// startUpdate writes every attribute of the head that this program knows, and no other. The caller
// continues the counters, which never decrease.
func (s *Store) startUpdate(req engine.StartRequest) *update {
	h := req.Head
	u := &update{key: headKey(h.Tenant, h.Thread)}
	for _, a := range append(s.startAttributes(h), ownerAttributes(h)...) {
		u.put(a.name, a.value)
	}
	if req.Prior == nil {
		u.require("attribute_not_exists({pk})")
		return u
	}
	u.require("{v} <= :schema")
	u.require("{rev} = :was")
	// the new head's own schema may be less: see [core.SchemaOf]
	u.value("schema", number(core.SchemaVersion))
	u.value("was", number(req.Prior.Rev))
	u.value("done", text(core.RunDone.String()))
	if !req.Owned {
		u.require("{st} = :done")
		return u
	}
	u.require("{st} <> :done AND attribute_exists({end}) AND {epoch} = :owner AND {sigs} = :seen")
	u.value("owner", number(req.Prior.Epoch))
	u.value("seen", number(req.Seen))
	return u
}

// refuseOwned says why an owner cannot start a run after its own.
func refuseOwned(req engine.StartRequest, old core.Head) error {
	switch {
	case old.Run == req.Head.Run && old.Rev == req.Head.Rev: // a repeat of a start that landed
		return nil
	case old.Run == req.Prior.Run && old.Epoch == req.Prior.Epoch && old.Rev == req.Prior.Rev && old.Sigs != req.Seen:
		return engine.ErrSignals
	}
	return engine.ErrFenced
}

// recordOf returns the item that keeps the previous run, or nil if there is none.
func (s *Store) recordOf(req engine.StartRequest) item {
	if req.Prior == nil {
		return nil
	}
	r := req.Prior.Record()
	r.Status = core.RunDone // the run of an owner ends with this write
	it := recordKey(req.Prior.Tenant, req.Prior.Thread, r.Run).attributes()
	it[attrBody] = text(encoded(r))
	it[attrListPK] = text(runsPartition(req.Prior.Tenant))
	it[attrListSK] = text(runPosition(r.Born, r.Run))
	return it
}
