package dynamo

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

// PutPushes implements pushes.Store. A put whose answer was lost finds itself.
func (s *Store) PutPushes(ctx context.Context, p notice.Pushes) error {
	u := &update{key: pushesKey(p.Tenant, p.Group)}
	u.set(attrTTL, number(time.UnixMilli(p.Gone()).Unix()+1))
	return s.putRevision(ctx, "storing push notifications", u, p.Rev, encoded(p))
}

// Pushes implements pushes.Store.
func (s *Store) Pushes(ctx context.Context, tenant, group string) (notice.Pushes, error) {
	found := notice.Pushes{Tenant: tenant, Group: group}
	it, err := s.stored(ctx, "reading push notifications", pushesKey(tenant, group))
	if err != nil {
		return found, err
	}
	found.Rev = numberAt(it, attrRevision)
	if err := json.Unmarshal([]byte(textAt(it, attrBody)), &found); err != nil {
		return found, unreadable("item "+keyOf(it).String(), err)
	}
	return found, nil
}
