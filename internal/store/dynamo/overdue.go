package dynamo

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/partial"
)

// TakeOverdue implements [engine.Overdue]. The index may lag behind the table, so an entry is moved
// only if the head confirms it. An entry that cannot be moved, such as a throttled head, is
// skipped, and so is the rest of a shard that cannot be read: one hot key must not delay the runs
// of every tenant.
func (s *Store) TakeOverdue(ctx context.Context, now, next int64, limit int) ([]engine.Wakeup, error) {
	shards := s.shards()
	m := mover{s: s, next: next, limit: limit}
	for !m.full() && len(shards) > 0 && ctx.Err() == nil {
		share := max(leastPage, (m.left()+len(shards)-1)/len(shards))
		page, failed := s.readShards(ctx, shards, now, share)
		m.failed = append(m.failed, failed...)
		shards = slices.DeleteFunc(shards, func(r *shardReader) bool { return r.ended })
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
// index, which may lag behind, so use it only to measure how late the sweep is. With an error, it
// is that of the shards that can be read.
func (s *Store) OldestDue(ctx context.Context, now int64) (oldest int64, err error) {
	found, failed := s.readShards(ctx, s.shards(), now, 1)
	if len(found) > 0 {
		oldest = numberAt(found[0], attrDue)
	}
	return oldest, failed.OrNil()
}

// shardReader iterates over one partition of the index.
type shardReader struct {
	name  string
	from  item
	ended bool
}

// leastPage is how many entries a read asks a shard for at least: of few, the oldest of a full
// shard would wait for those of an empty one.
const leastPage = 25

func (s *Store) shards() []*shardReader {
	shards := make([]*shardReader, s.o.Reads)
	for i := range shards {
		shards[i] = &shardReader{name: shardName(i)}
	}
	return shards
}

// readShards reads the next page of each shard and returns their entries, the oldest first. A shard
// that cannot be read has ended.
func (s *Store) readShards(ctx context.Context, shards []*shardReader, now int64, limit int) (page []item, failed partial.Failures) {
	pages, errs := make([][]item, len(shards)), make([]error, len(shards))
	partial.Each(s.o.AtOnce, len(shards), func(i int) { pages[i], errs[i] = s.readShard(ctx, shards[i], now, limit) })
	for i, err := range errs {
		if err != nil {
			shards[i].ended = true
			failed = append(failed, err)
		}
	}
	page = slices.Concat(pages...)
	slices.SortStableFunc(page, func(a, b item) int { return int(numberAt(a, attrDue) - numberAt(b, attrDue)) })
	return page, failed
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
	failed partial.Failures
}

func (m *mover) left() int { return m.limit - len(m.taken) }

func (m *mover) full() bool { return m.left() <= 0 }

// move moves the entries of a page until there are enough or ctx ends.
func (m *mover) move(ctx context.Context, page []item) {
	for len(page) > 0 && !m.full() && ctx.Err() == nil {
		n := min(len(page), m.left())
		moves := make([]moved, n)
		partial.Each(m.s.o.AtOnce, n, func(i int) { moves[i] = m.one(ctx, page[i]) })
		for _, one := range moves {
			if one.err != nil {
				m.failed = append(m.failed, one.err)
			} else if one.won {
				m.taken = append(m.taken, one.Wakeup)
			}
		}
		page = page[n:]
	}
}

// moved is what became of one entry.
type moved struct {
	engine.Wakeup
	won bool // it was due, and no other sweep has moved it
	err error
}

// one moves an entry, unless ctx has ended: it then stays due.
func (m *mover) one(ctx context.Context, it item) moved {
	w, err := wakeupOf(it)
	if err != nil || ctx.Err() != nil {
		return moved{w, false, err}
	}
	won, err := m.s.moveDue(ctx, it, m.next)
	if err != nil {
		err = &partial.EntryError{Wakeup: w, Err: err}
	}
	return moved{w, won, err}
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
