package dynamo

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Attributes of a link's record; everything else is in its body.
const (
	attrRevoked   = "revoked" // in milliseconds; absent until the link is revoked
	attrRevokedBy = "revoked_by"
	attrCode      = "code" // what is known of one-time codes; absent before the first
)

// PutLink implements frontend.LinkStore. It never replaces a record, so a late or repeated put does
// not undo a revocation.
func (s *Store) PutLink(ctx context.Context, l engine.Link) error {
	it := linkKey(l.Tenant, l.Run, l.ID).attributes()
	it[attrBody] = text(encoded(l))
	it[attrTTL] = number(time.UnixMilli(l.Gone()).Unix() + 1)
	return s.putNew(ctx, "storing the record of an approval link", it)
}

// Link implements frontend.LinkStore.
func (s *Store) Link(ctx context.Context, tenant, run, id string) (engine.Link, error) {
	it, err := s.stored(ctx, "reading the record of an approval link", linkKey(tenant, run, id))
	if err != nil {
		return engine.Link{}, err
	}
	return readLink(tenant, run, it)
}

// Links implements frontend.LinkStore. The sort keys of a run's records order them by id.
func (s *Store) Links(ctx context.Context, tenant, run string) (links []engine.Link, err error) {
	var e expression
	condition := e.in("{pk} = :pk")
	e.value("pk", text(linksPK(tenant, run)))
	err = s.query(ctx, "reading the records of approval links", &dynamodb.QueryInput{KeyConditionExpression: &condition, ConsistentRead: aws.Bool(true),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values}, func(it item) (bool, error) {
		l, err := readLink(tenant, run, it)
		links = append(links, l)
		return true, err
	})
	return links, err
}

// RevokeLink implements frontend.LinkStore. The first revocation counts; later ones change nothing.
func (s *Store) RevokeLink(ctx context.Context, tenant, run, id string, at int64, by string) (engine.Link, error) {
	u := &update{key: linkKey(tenant, run, id)}
	u.set(attrRevoked, number(at))
	u.set(attrRevokedBy, text(by))
	u.require("attribute_exists({pk}) AND attribute_not_exists({revoked})")
	out, err := s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.o.Table, Key: u.key.attributes(), UpdateExpression: u.changes(),
		ConditionExpression: u.condition(), ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values, ReturnValues: types.ReturnValueAllNew})
	if err == nil {
		return readLink(tenant, run, out.Attributes)
	}
	if _, refused := refusal(err); refused {
		return s.Link(ctx, tenant, run, id)
	}
	return engine.Link{}, s.unavailable("revoking an approval link", err)
}

// SwapLinkCode implements frontend.LinkStore.
func (s *Store) SwapLinkCode(ctx context.Context, tenant, run, id, from, to string) (bool, error) {
	u := &update{key: linkKey(tenant, run, id)}
	u.set(attrCode, text(to))
	u.require("attribute_exists({pk})")
	if from == "" {
		u.require("attribute_not_exists({code})")
	} else {
		u.require("{code} = " + u.value("before", text(from)))
	}
	_, err := s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.o.Table, Key: u.key.attributes(), UpdateExpression: u.changes(),
		ConditionExpression: u.condition(), ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values})
	if err == nil {
		return true, nil
	}
	if _, refused := refusal(err); refused {
		return false, nil
	}
	return false, s.unavailable("storing the one-time code of an approval link", err)
}

func readLink(tenant, run string, it item) (engine.Link, error) {
	l := engine.Link{Tenant: tenant, Run: run, Revoked: numberAt(it, attrRevoked), RevokedBy: textAt(it, attrRevokedBy), Code: textAt(it, attrCode)}
	if err := json.Unmarshal([]byte(textAt(it, attrBody)), &l); err != nil {
		return l, unreadable("item "+keyOf(it).String(), err)
	}
	return l, nil
}
