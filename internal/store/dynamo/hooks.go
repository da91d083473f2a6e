package dynamo

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// attrOwner is the tenant of a hook; an item without it is of a hook that was removed.
const attrOwner = "owner"

// PutHook deploys a hook file in place of the one with its name. It returns [engine.ErrRefused] if
// that belongs to another tenant.
func (s *Store) PutHook(ctx context.Context, f engine.HookFile) error {
	u := &update{key: hookKey(f.Name)}
	u.set(attrOwner, text(f.Tenant))
	u.set(attrBody, text(f.Text))
	u.require("attribute_not_exists({owner}) OR {owner} = :tenant")
	u.value("tenant", text(f.Tenant))
	return s.changeHook(ctx, "deploying a hook", u)
}

// RemoveHook undeploys a hook of a tenant. It returns [engine.ErrRefused] if the tenant has none
// with this name.
func (s *Store) RemoveHook(ctx context.Context, tenant, name string) error {
	u := &update{key: hookKey(name)}
	u.remove(attrOwner)
	u.remove(attrBody)
	u.require("{owner} = :tenant")
	u.value("tenant", text(tenant))
	return s.changeHook(ctx, "removing a hook", u)
}

func (s *Store) changeHook(ctx context.Context, doing string, u *update) error {
	_, won, err := s.tryUpdate(ctx, doing, u)
	if err == nil && !won {
		err = engine.ErrRefused
	}
	return err
}

// HookFile returns a deployed hook file, or [engine.ErrNotFound].
func (s *Store) HookFile(ctx context.Context, name string) (engine.HookFile, error) {
	it, err := s.get(ctx, "reading a hook", hookKey(name))
	f := engine.HookFile{Name: name, Tenant: textAt(it, attrOwner), Text: textAt(it, attrBody)}
	if err == nil && f.Tenant == "" {
		err = engine.ErrNotFound
	}
	return f, err
}

// HookFiles returns the hook files of all tenants, by name.
func (s *Store) HookFiles(ctx context.Context) (all []engine.HookFile, err error) {
	var e expression
	condition := e.in("{pk} = :pk")
	e.value("pk", text(hooksPK))
	err = s.query(ctx, "listing hooks", &dynamodb.QueryInput{KeyConditionExpression: &condition, ConsistentRead: aws.Bool(true),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values}, func(it item) (bool, error) {
		name, err := unescape(strings.TrimPrefix(textAt(it, attrSK), "#"))
		if err != nil {
			return false, unreadable("item "+keyOf(it).String(), err)
		}
		if tenant := textAt(it, attrOwner); tenant != "" {
			all = append(all, engine.HookFile{Name: name, Tenant: tenant, Text: textAt(it, attrBody)})
		}
		return true, nil
	})
	return all, err
}
