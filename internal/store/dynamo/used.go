package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Attributes of an idempotency key; its run is in run.
const (
	attrDigest = "digest"
	// attrExpires is a time in milliseconds; DynamoDB deletes the item some time later, and
	// readers do not depend on that
	attrExpires = "expires"
)

// keyPut records a request under its key. It replaces an expired record.
func (s *Store) keyPut(k engine.Key) *types.Put {
	it := usedKey(k.Tenant, k.Key).attributes()
	it[attrRun], it[attrDigest] = text(k.Run), text(k.Digest)
	if k.Expires > 0 {
		it[attrExpires] = number(k.Expires)
		it[attrTTL] = number(time.UnixMilli(k.Expires).Unix() + 1)
	}
	var e expression
	condition := e.in("attribute_not_exists({pk}) OR {expires} <= :now")
	e.value("now", number(s.now()))
	return &types.Put{TableName: &s.o.Table, Item: it, ConditionExpression: &condition, ExpressionAttributeNames: e.names,
		ExpressionAttributeValues: e.values, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
}

// takenBy returns who used a key, from the refusal or, if the server did not include it, from the
// table. gone reports that the record no longer exists.
func (s *Store) takenBy(ctx context.Context, k engine.Key, old item) (taken error, gone bool, err error) {
	if len(old) == 0 {
		if old, err = s.get(ctx, "reading a key", usedKey(k.Tenant, k.Key)); err != nil {
			return nil, false, err
		}
		if old == nil || s.expired(old) {
			return nil, true, nil
		}
	}
	return &engine.KeyTakenError{Key: readKey(k.Tenant, k.Key, old)}, false, nil
}

func readKey(tenant, name string, it item) engine.Key {
	return engine.Key{Tenant: tenant, Key: name, Run: textAt(it, attrRun), Digest: textAt(it, attrDigest), Expires: numberAt(it, attrExpires)}
}

func (s *Store) expired(it item) bool {
	at := numberAt(it, attrExpires)
	return at > 0 && at <= s.now()
}

// Used implements frontend.Store.
func (s *Store) Used(ctx context.Context, tenant, name string) (engine.Key, error) {
	it, err := s.get(ctx, "reading a key", usedKey(tenant, name))
	switch {
	case err != nil:
		return engine.Key{}, err
	case it == nil || s.expired(it):
		return engine.Key{}, engine.ErrNotFound
	}
	return readKey(tenant, name, it), nil
}
