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

// setDue sets when the sweep shall look; 0 takes the entry out of the index. The shard of a thread
// is always the same, so that a due time that does not change costs no write of the index.
func (s *Store) setDue(u *update, due int64) {
	if due == 0 {
		u.remove(attrDue)
		u.remove(attrShard)
		return
	}
	u.set(attrDue, number(due))
	u.set(attrShard, text(s.shard(u.key.pk)))
}

// changeHead sends an update of a head and returns the head after it; if it was refused, the head
// that refused, which is zero if there is none.
func (s *Store) changeHead(ctx context.Context, doing string, u *update, how ...func(*dynamodb.Options)) (h core.Head, won bool, err error) {
	out, err := s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.o.Table, Key: u.key.attributes(),
		UpdateExpression: u.changes(), ConditionExpression: u.condition(),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values, ReturnValues: types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}, how...)
	if err == nil {
		// which would say that nothing was written
		if h, err = readHead(out.Attributes); errors.Is(err, engine.ErrNewerSchema) {
			err = fmt.Errorf("%w: %s: done, and the head is of a newer version: %v", engine.ErrUnavailable, doing, err)
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

// refusedBy is the head that refused a write. A server that does not send it is asked. A later head
// is as good to judge by: of epoch, rev and seq it can only say more, so that what is found to be
// mine is mine, and what is not is somebody else's by now.
func (s *Store) refusedBy(ctx context.Context, at key, old item) (core.Head, error) {
	if len(old) == 0 {
		return s.head(ctx, at)
	}
	return readHead(old)
}
