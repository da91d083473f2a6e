package dynamo

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// TakeOverdue implements [engine.Overdue]. The index may lag behind the table, so an entry is moved
// only if the head confirms it. An entry that cannot be moved, such as a throttled head, is
// skipped, and so is the rest of a shard that cannot be read: one hot key must not delay the runs
// of every tenant.
func (s *Store) TakeOverdue(ctx context.Context, now, next int64, limit int) ([]engine.Wakeup, error) {
	shards := make([]*shardReader, s.o.Shards)
	for i := range shards {
		shards[i] = &shardReader{name: shardName(i)}
	}
	m := mover{s: s, next: next, limit: limit}
	for !m.full() && len(shards) > 0 && ctx.Err() == nil {
		var page []item
		for _, r := range shards {
			found, err := s.readShard(ctx, r, now, limit-len(m.taken))
			if err != nil {
				r.ended = true
				m.failed = append(m.failed, err)
			}
			page = append(page, found...)
		}
		shards = slices.DeleteFunc(shards, func(r *shardReader) bool { return r.ended })
		slices.SortStableFunc(page, func(a, b item) int { return int(numberAt(a, attrDue) - numberAt(b, attrDue)) })
		m.move(ctx, page)
	}
	if len(m.failed) > 0 {
		return m.taken, m.failed
	}
	return m.taken, s.ended(ctx)
}

// ended is the error of a request that was not made because ctx had ended.
func (s *Store) ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return s.unavailable("moving what is due", context.Cause(ctx))
}

// OldestDue returns the earliest due time at or before now, or 0 if nothing is due. It reads the
// index, which may lag behind, so use it only to measure how late the sweep is.
func (s *Store) OldestDue(ctx context.Context, now int64) (oldest int64, err error) {
	for i := range s.o.Shards {
		found, err := s.readShard(ctx, &shardReader{name: shardName(i)}, now, 1)
		if err != nil {
			return 0, err
		}
		for _, it := range found {
			if due := numberAt(it, attrDue); oldest == 0 || due < oldest {
				oldest = due
			}
		}
	}
	return oldest, nil
}

// shardReader iterates over one partition of the index.
type shardReader struct {
	name  string
	from  item
	ended bool
}

// readShard reads the next page of due entries.
func (s *Store) readShard(ctx context.Context, r *shardReader, now int64, limit int) ([]item, error) {
	var e expression
	condition := e.in("{dsh} = :shard AND {due} <= :now")
	e.value("shard", text(r.name))
	e.value("now", number(now))
	out, err := s.api.Query(ctx, &dynamodb.QueryInput{TableName: &s.o.Table, IndexName: aws.String(indexDue), KeyConditionExpression: &condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values, Limit: aws.Int32(int32(limit)), ExclusiveStartKey: r.from})
	if err != nil {
		return nil, s.unavailable("reading what is due", err)
	}
	r.from, r.ended = out.LastEvaluatedKey, len(out.LastEvaluatedKey) == 0
	return out.Items, nil
}

// mover moves due entries and collects the results.
type mover struct {
	s      *Store
	next   int64
	limit  int
	taken  []engine.Wakeup
	failed engine.Failures
}

func (m *mover) full() bool { return len(m.taken) >= m.limit }

// move moves the entries of a page until there are enough or ctx ends.
func (m *mover) move(ctx context.Context, page []item) {
	for _, it := range page {
		if m.full() || ctx.Err() != nil {
			return
		}
		w, err := wakeupOf(it)
		if err != nil {
			m.failed = append(m.failed, err)
			continue
		}
		won, err := m.s.moveDue(ctx, it, m.next)
		if err != nil {
			m.failed = append(m.failed, &engine.EntryError{Wakeup: w, Err: err})
		} else if won {
			m.taken = append(m.taken, w)
		}
	}
}

// wakeupOf returns what an entry of the index is for: a thread's run, or one of its lines.
func wakeupOf(it item) (engine.Wakeup, error) {
	w, err := threadOf(textAt(it, attrPK))
	if name, ofLine := strings.CutPrefix(textAt(it, attrSK), prefixLine); ofLine && err == nil {
		w.Endpoint, err = unescape(name)
	}
	return w, err
}

func (s *Store) moveDue(ctx context.Context, it item, next int64) (won bool, err error) {
	u := &update{key: keyOf(it)}
	u.set(attrDue, number(next))
	u.require("{due} = :seen")
	u.value("seen", it[attrDue])
	_, err = s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.o.Table, Key: u.key.attributes(), UpdateExpression: u.changes(),
		ConditionExpression: u.condition(), ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
		ReturnValues: types.ReturnValueNone})
	if _, refused := refusal(err); refused {
		return false, nil
	}
	if err != nil {
		return false, s.unavailable("moving what is due", err)
	}
	return true, nil
}
