package dynamo

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

// PutPosted implements slack.Messages. The first record of a suspension stays.
func (s *Store) PutPosted(ctx context.Context, p notice.Posted) error {
	it := postedKey(p).attributes()
	it[attrBody] = text(encoded(p))
	it[attrTTL] = number(time.UnixMilli(p.Gone()).Unix() + 1)
	return s.putNew(ctx, "storing which message asks", it)
}

// Posted implements slack.Messages.
func (s *Store) Posted(ctx context.Context, p notice.Posted) (notice.Posted, error) {
	it, err := s.stored(ctx, "reading which message asks", postedKey(p))
	if err != nil {
		return notice.Posted{}, err
	}
	found := notice.Posted{Tenant: p.Tenant, Run: p.Run, Target: p.Target, Suspension: p.Suspension}
	if err := json.Unmarshal([]byte(textAt(it, attrBody)), &found); err != nil {
		return found, unreadable("item "+keyOf(it).String(), err)
	}
	return found, nil
}
