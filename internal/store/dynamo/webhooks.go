package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

const attrRevision = "rev"

// PutWebhook implements webhooks.Store. A put whose answer was lost finds itself.
func (s *Store) PutWebhook(ctx context.Context, w notice.Webhook) error {
	return s.putRevision(ctx, "storing a webhook", &update{key: webhookKey(w.Tenant, w.ID)}, w.Rev, encoded(w))
}

// putRevision stores a revision of an item if the one before it is stored, or none for revision 1.
// [engine.ErrRefused] otherwise, unless exactly this one is stored.
func (s *Store) putRevision(ctx context.Context, doing string, u *update, rev int64, body string) error {
	u.set(attrRevision, number(rev))
	u.set(attrBody, text(body))
	if rev == 1 {
		u.require("attribute_not_exists({pk})")
	} else {
		u.require("{rev} = :before")
		u.value("before", number(rev-1))
	}
	old, won, err := s.tryUpdate(ctx, doing, u)
	switch {
	case err != nil || won:
		return err
	case numberAt(old, attrRevision) == rev && textAt(old, attrBody) == body:
		return nil
	}
	return engine.ErrRefused
}

// tryUpdate sends an update. It returns the item as it is then, or the one that refused the update;
// nil if there is none.
func (s *Store) tryUpdate(ctx context.Context, doing string, u *update) (now item, won bool, err error) {
	out, err := s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.o.Table, Key: u.key.attributes(),
		UpdateExpression: u.changes(), ConditionExpression: u.condition(),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values, ReturnValues: types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	if err == nil {
		return out.Attributes, true, nil
	}
	old, refused := refusal(err)
	switch {
	case !refused:
		return nil, false, s.unavailable(doing, err)
	case len(old) == 0:
		old, err = s.get(ctx, doing, u.key)
		return old, false, err
	}
	return old, false, nil
}

// Webhook implements webhooks.Store.
func (s *Store) Webhook(ctx context.Context, tenant, id string) (notice.Webhook, error) {
	it, err := s.stored(ctx, "reading a webhook", webhookKey(tenant, id))
	if err != nil {
		return notice.Webhook{}, err
	}
	return readWebhook(tenant, it)
}

// Webhooks implements webhooks.Store.
func (s *Store) Webhooks(ctx context.Context, tenant string) (all []notice.Webhook, err error) {
	err = s.ofEndpoints(ctx, "listing webhooks", tenant, prefixWebhook, "", func(it item) (bool, error) {
		w, err := readWebhook(tenant, it)
		if err != nil {
			w = notice.Webhook{Tenant: tenant, ID: w.ID, Rev: numberAt(it, attrRevision), Damaged: true}
		}
		all = append(all, w)
		return true, nil
	})
	return all, err
}

func readWebhook(tenant string, it item) (w notice.Webhook, err error) {
	if w.ID, err = unescape(strings.TrimPrefix(textAt(it, attrSK), prefixWebhook)); err == nil {
		err = json.Unmarshal([]byte(textAt(it, attrBody)), &w)
	}
	if err != nil {
		return w, unreadable("webhook "+keyOf(it).String(), err)
	}
	w.Tenant, w.Rev = tenant, numberAt(it, attrRevision)
	return w, nil
}

// ofEndpoints calls each for a tenant's items whose sort keys begin with a prefix that ends in #,
// in their order and from behind one, until it returns false.
func (s *Store) ofEndpoints(ctx context.Context, doing, tenant, prefix, after string, each func(item) (bool, error)) error {
	var e expression
	condition := e.in("{pk} = :pk AND {sk} BETWEEN :first AND :last")
	e.value("pk", text(endpointsPK(tenant)))
	e.value("first", text(prefix+escape(after)))
	e.value("last", text(strings.TrimSuffix(prefix, "#")+"$")) // behind all with the prefix
	return s.query(ctx, doing, &dynamodb.QueryInput{KeyConditionExpression: &condition, ConsistentRead: aws.Bool(true),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values}, each)
}

// DeleteWebhook implements webhooks.Store.
func (s *Store) DeleteWebhook(ctx context.Context, tenant, id string) error {
	return s.remove(ctx, "deleting a webhook", s.deleteItem(webhookKey(tenant, id)), s.deleteItem(disabledKey(tenant, id)))
}

func (s *Store) deleteItem(k key) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: &s.o.Table, Key: k.attributes()}}
}

// remove deletes items, all or none. [engine.ErrNotFound] if the condition of one doesn't hold.
func (s *Store) remove(ctx context.Context, doing string, deletes ...types.TransactWriteItem) error {
	for n := range mostConflicts {
		_, err := s.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: deletes})
		if err == nil {
			return nil
		}
		switch _, reason := firstReason(err); aws.ToString(reason.Code) {
		case reasonConflict, reasonThrottled, reasonCapacity:
		case reasonRefused:
			return engine.ErrNotFound
		default:
			return s.unavailable(doing, err)
		}
		if err := s.pause(ctx, firstPause<<n); err != nil {
			return s.unavailable(doing, err)
		}
	}
	return s.unavailable(doing, errMoving)
}

var errMoving = errors.New("the items change all the time")

// DisableEndpoint implements webhooks.Store.
func (s *Store) DisableEndpoint(ctx context.Context, d notice.Disabled) (notice.Disabled, error) {
	u := &update{key: disabledKey(d.Tenant, d.Endpoint)}
	u.set(attrBody, text(encoded(d)))
	if gone := d.Gone(); gone != 0 {
		u.set(attrTTL, number(time.UnixMilli(gone).Unix()+1))
	}
	u.require("attribute_not_exists({pk})")
	now, _, err := s.tryUpdate(ctx, "disabling an endpoint", u)
	if err != nil || now == nil { // enabled again meanwhile
		return d, err
	}
	return readDisabled(d.Tenant, now)
}

// EnableEndpoint implements webhooks.Store.
func (s *Store) EnableEndpoint(ctx context.Context, tenant, endpoint string) error {
	return s.remove(ctx, "enabling an endpoint", s.deleteItem(disabledKey(tenant, endpoint)))
}

// Disabled implements webhooks.Store.
func (s *Store) Disabled(ctx context.Context, tenant string, endpoints []string) (map[string]notice.Disabled, error) {
	keys := make([]key, len(endpoints))
	for i, endpoint := range endpoints {
		keys[i] = disabledKey(tenant, endpoint)
	}
	items, err := s.items(ctx, "reading which endpoints are disabled", keys)
	found := map[string]notice.Disabled{}
	for _, it := range items {
		d, broken := readDisabled(tenant, it)
		if broken != nil {
			d = notice.DamagedMark(tenant, d.Endpoint)
		}
		found[d.Endpoint] = d
	}
	return found, err
}

// DisabledEndpoints implements webhooks.Store.
func (s *Store) DisabledEndpoints(ctx context.Context, tenant, after string, limit int) (all []notice.Disabled, err error) {
	err = s.ofEndpoints(ctx, "listing disabled endpoints", tenant, prefixDisabled, after, func(it item) (bool, error) {
		d, err := readDisabled(tenant, it)
		if err != nil {
			d = notice.DamagedMark(tenant, d.Endpoint)
		}
		if d.Endpoint != after {
			all = append(all, d)
		}
		return len(all) < limit, nil
	})
	return all, err
}

func readDisabled(tenant string, it item) (d notice.Disabled, err error) {
	if d.Endpoint, err = unescape(strings.TrimPrefix(textAt(it, attrSK), prefixDisabled)); err == nil {
		err = json.Unmarshal([]byte(textAt(it, attrBody)), &d)
	}
	if err != nil {
		return d, unreadable("mark of an endpoint "+keyOf(it).String(), err)
	}
	d.Tenant = tenant
	return d, nil
}
