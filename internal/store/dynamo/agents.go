package dynamo

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// PutDefinition stores a version of an agent. It never replaces a version.
func (s *Store) PutDefinition(ctx context.Context, d engine.Definition) error {
	return s.putOnce(ctx, "storing a version of an agent", versionKey(d.Tenant, d.Name, d.Digest).attributes(), d.Body)
}

// Deploy makes a stored version the one that new runs start with. It returns [engine.ErrNotFound]
// if the version is not stored. Versions are never removed, so nothing can happen to it between the
// check and the write.
func (s *Store) Deploy(ctx context.Context, tenant, name, digest string) error {
	const doing = "deploying an agent"
	version, err := s.get(ctx, doing, versionKey(tenant, name, digest))
	switch {
	case err != nil:
		return err
	case version == nil:
		return engine.ErrNotFound
	}
	// first, because a tenant that is listed may have no agents
	_, err = s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.o.Table, Item: tenantKey(tenant).attributes()})
	if err != nil {
		return s.unavailable(doing, err)
	}
	return s.setCurrent(ctx, doing, tenant, name, digest)
}

// Undeploy prevents new runs of the agent. Its versions stay for the runs that are pinned to them.
func (s *Store) Undeploy(ctx context.Context, tenant, name string) error {
	return s.setCurrent(ctx, "undeploying an agent", tenant, name, "")
}

// setCurrent records which version is deployed; "" means none, and keeps the item with its
// revision. The write is conditional on what was read, so that a late copy changes nothing:
//
//	deploy 1 (+ copy) ── deploy 2, which denies more ── the copy arrives: refused
//
// Of several concurrent calls the last one to read wins, as if they had run one after the other.
func (s *Store) setCurrent(ctx context.Context, doing, tenant, name, digest string) error {
	at := currentKey(tenant, name)
	for n := range mostConflicts {
		was, err := s.get(ctx, doing, at)
		if err != nil || textAt(was, attrDigest) == digest {
			return err
		}
		moved, err := s.moveCurrent(ctx, doing, at, was, tenant, name, digest)
		if err != nil || moved {
			return err
		}
		if err := s.pause(ctx, firstPause<<n); err != nil {
			return s.unavailable(doing, err)
		}
	}
	return s.unavailable(doing, errors.New("too many concurrent deployments of the same agent"))
}

func (s *Store) moveCurrent(ctx context.Context, doing string, at key, was item, tenant, name, digest string) (moved bool, err error) {
	u := &update{key: at}
	u.set(attrRev, number(numberAt(was, attrRev)+1))
	u.put(attrDigest, unlessEmpty(digest))
	if digest == "" { // and removes it from the list
		u.remove(attrListPK)
		u.remove(attrListSK)
	} else {
		u.set(attrListPK, text(agentsPartition(tenant)))
		u.set(attrListSK, text(name))
	}
	u.require("attribute_not_exists({rev}) OR {rev} = :was")
	u.value("was", number(numberAt(was, attrRev)))
	_, err = s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.o.Table, Key: at.attributes(), UpdateExpression: u.changes(),
		ConditionExpression: u.condition(), ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values})
	if _, refused := refusal(err); err == nil || refused {
		return !refused, nil
	}
	return false, s.unavailable(doing, err)
}

// Definition returns a stored version, or [engine.ErrNotFound].
func (s *Store) Definition(ctx context.Context, tenant, name, digest string) (engine.Definition, error) {
	const doing = "reading a version of an agent"
	it, err := s.stored(ctx, doing, versionKey(tenant, name, digest))
	if err != nil {
		return engine.Definition{}, err
	}
	body, err := s.body(ctx, doing, it)
	return engine.Definition{Tenant: tenant, Name: name, Digest: digest, Body: body}, err
}

// Newest returns the digest of the deployed version, or [engine.ErrNotFound] if none is deployed.
func (s *Store) Newest(ctx context.Context, tenant, name string) (digest string, err error) {
	it, err := s.get(ctx, "reading what is deployed", currentKey(tenant, name))
	if digest = textAt(it, attrDigest); err == nil && digest == "" {
		err = engine.ErrNotFound
	}
	return digest, err
}

// Current implements frontend.Catalog.
func (s *Store) Current(ctx context.Context, tenant, name string) (engine.Definition, error) {
	digest, err := s.Newest(ctx, tenant, name)
	if err != nil {
		return engine.Definition{}, err
	}
	return s.Definition(ctx, tenant, name, digest)
}

// Deployed implements frontend.Catalog. The index that it reads may briefly miss what was just
// deployed.
func (s *Store) Deployed(ctx context.Context, tenant string) (all []engine.Definition, err error) {
	in := indexQuery(indexList, attrListPK, agentsPartition(tenant), attrListSK, "", true, mostInBatch)
	err = s.query(ctx, "listing agents", in, func(hit item) (bool, error) {
		d, err := s.Current(ctx, tenant, textAt(hit, attrListSK))
		switch {
		case errors.Is(err, engine.ErrNotFound):
			return true, nil
		case errors.Is(err, engine.ErrUnreadable):
			d.Body, err = nil, nil
		}
		all = append(all, d)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Tenants returns the tenants that have a deployed agent, by name. One that can't be read hides no
// other: all others are returned with the error, which is [engine.ErrUnreadable].
func (s *Store) Tenants(ctx context.Context) (tenants []string, err error) {
	const doing = "listing tenants"
	var damaged error
	var e expression
	condition := e.in("{pk} = :pk")
	e.value("pk", text(tenantsPK))
	err = s.query(ctx, doing, &dynamodb.QueryInput{KeyConditionExpression: &condition, ConsistentRead: aws.Bool(true),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values}, func(it item) (bool, error) {
		tenant, err := unescape(strings.TrimPrefix(textAt(it, attrSK), "#"))
		if err != nil {
			damaged = errors.Join(damaged, unreadable("item "+keyOf(it).String(), err))
			return true, nil
		}
		deployed := false
		err = s.query(ctx, doing, indexQuery(indexList, attrListPK, agentsPartition(tenant), attrListSK, "", true, 1), func(item) (bool, error) {
			deployed = true
			return false, nil
		})
		if deployed {
			tenants = append(tenants, tenant)
		}
		return true, err
	})
	return tenants, cmp.Or(err, damaged)
}
