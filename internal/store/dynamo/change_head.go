package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// setDue sets when the sweep checks the thread; 0 removes the entry from the index. The shard
// changes only with their number, so an unchanged due time costs no write of the index.
func (s *Store) setDue(u *update, due int64) {
	if due == 0 {
		u.remove(attrDue)
		u.remove(attrShard)
		return
	}
	u.set(attrDue, number(due))
	u.set(attrShard, text(s.shard(u.key.pk)))
}

// changeHead sends an update of a head. If the update is applied, it returns the new head; if it is
// refused, it returns the head that refused it, or a zero head if there is none.
func (s *Store) changeHead(ctx context.Context, doing string, u *update, how ...func(*dynamodb.Options)) (h core.Head, won bool, err error) {
	out, err := s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.o.Table, Key: u.key.attributes(),
		UpdateExpression: u.changes(), ConditionExpression: u.condition(),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values, ReturnValues: types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}, how...)
	if err == nil {
		// an ErrNewerSchema would mean that nothing was written
		if h, err = s.seen(out.Attributes); errors.Is(err, engine.ErrNewerSchema) {
			err = fmt.Errorf("%w: %s: written, but a newer version of the program wrote the head: %v", engine.ErrUnavailable, doing, err)
		}
		return h, err == nil, err
	}
	old, refused := refusal(err)
	if !refused {
		return core.Head{}, false, s.unavailable(doing, err)
	}
	h, err = s.refusedBy(ctx, u.key, old)
	return h, false, err
}

// refusedBy returns the head that refused a write. If the server did not send it, it is read. A
// later head serves as well: epoch, rev and seq only grow, so a write that the head shows as the
// caller's did land, and any other is superseded by now.
func (s *Store) refusedBy(ctx context.Context, at key, old item) (core.Head, error) {
	if len(old) == 0 {
		return s.head(ctx, at)
	}
	return s.seen(old)
}
