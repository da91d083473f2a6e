package dynamo

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// mostConflicts limits the attempts of a transaction that conflicts with others. The SDK does not
// retry those, because it cannot know that the request itself is valid.
const (
	mostConflicts = 9
	firstPause    = 10 * time.Millisecond
	mostPause     = time.Second
)

// transact stores a key, changes a head and stores a record, all or nothing; key and record may be
// nil. If the key is taken, it returns a [*engine.KeyTakenError]. Otherwise won says whether the
// head's conditions held, and old is the head that refused.
func (s *Store) transact(ctx context.Context, doing string, k *engine.Key, u *update, record item) (old core.Head, won bool, err error) {
	for n := range mostConflicts {
		var moved bool
		old, won, moved, err = s.tryTransaction(ctx, doing, k, u, record)
		if !moved {
			return old, won, err
		}
		if waitErr := s.pause(ctx, firstPause<<n); waitErr != nil {
			return core.Head{}, false, s.unavailable(doing, waitErr)
		}
	}
	return core.Head{}, false, s.unavailable(doing, err)
}

// tryTransaction sends the transaction once. If moved is true, it conflicted with others and may
// succeed when retried; err describes the conflict.
func (s *Store) tryTransaction(ctx context.Context, doing string, k *engine.Key, u *update, record item) (
	old core.Head, won, moved bool, err error) {
	writes := s.writes(k, u, record)
	_, err = s.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
	if err == nil {
		return core.Head{}, true, false, nil
	}
	at, reason := firstReason(err)
	switch code := aws.ToString(reason.Code); {
	case code == reasonConflict, code == reasonThrottled, code == reasonCapacity:
		return core.Head{}, false, true, err
	case code != reasonRefused:
		return core.Head{}, false, false, s.unavailable(doing, err)
	case k != nil && at == 0:
		taken, gone, err := s.takenBy(ctx, *k, reason.Item)
		if gone {
			return core.Head{}, false, true, errors.New("a conflicting key has expired")
		}
		return core.Head{}, false, false, errors.Join(err, taken)
	}
	old, err = s.refusedBy(ctx, u.key, reason.Item)
	return old, false, false, err
}

// writes returns the writes in the order in which their refusals count, the key first.
func (s *Store) writes(k *engine.Key, u *update, record item) (writes []types.TransactWriteItem) {
	old := types.ReturnValuesOnConditionCheckFailureAllOld
	if k != nil {
		writes = append(writes, types.TransactWriteItem{Put: s.keyPut(*k)})
	}
	writes = append(writes, types.TransactWriteItem{Update: &types.Update{TableName: &s.o.Table, Key: u.key.attributes(),
		UpdateExpression: u.changes(), ConditionExpression: u.condition(), ExpressionAttributeNames: u.names,
		ExpressionAttributeValues: u.values, ReturnValuesOnConditionCheckFailure: old}})
	if record != nil {
		writes = append(writes, types.TransactWriteItem{Put: &types.Put{TableName: &s.o.Table, Item: record}})
	}
	return writes
}

// firstReason returns the first reason for which a transaction was refused, in the order of its
// writes. A conflict may hide a later refusal, so nothing follows about later writes.
func firstReason(err error) (at int, reason types.CancellationReason) {
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return 0, types.CancellationReason{}
	}
	for i, r := range cancelled.CancellationReasons {
		if code := aws.ToString(r.Code); code != "" && code != reasonNone {
			return i, r
		}
	}
	return 0, types.CancellationReason{}
}

// pause waits for a random part of d.
func (s *Store) pause(ctx context.Context, d time.Duration) error {
	part, err := strconv.ParseInt(s.random.Text(6), 36, 64) // up to 36^6
	if err != nil {
		return err
	}
	const all = 36 * 36 * 36 * 36 * 36 * 36
	return engine.Sleep(ctx, s.clock, time.Duration(float64(min(d, mostPause))*float64(part)/all))
}
