package quota

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// PrefixBucket begins the partition key of a bucket: one per kind and tenant.
const PrefixBucket = "RL#"

// attrFull is the time at which a bucket is full again, in nanoseconds.
const attrFull = "full"

const (
	// answerTime limits what a request waits for its bucket. The request is then decided
	// without it.
	answerTime = time.Second

	// bucketLife is how long the item of a full bucket is kept: longer than clocks differ.
	bucketLife = time.Hour

	// mostKnown is of how many buckets a process remembers something. What is forgotten are
	// tokens that were taken ahead.
	mostKnown = 10_000

	// mostTries is how often a request asks its bucket: other processes change it meanwhile.
	mostTries = 4
)

// BucketAPI is the part of the SDK's client that [Buckets] uses.
type BucketAPI interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Buckets are the buckets of tokens that all processes of a stack take from. A process takes tokens
// ahead where there are plenty: see [pace.Ahead]. It is safe for concurrent use.
//
//	full ≥ now   SET full = full + n·every   if full ≤ now + (burst - n)·every
//	full < now   SET full = now + n·every    if full < now, or there is no item
//
// A write whose answer is lost is not sent again: its tokens are lost, and none is taken twice.
type Buckets struct {
	api   BucketAPI
	table string

	mu    sync.Mutex
	known map[bucket]*known
}

type bucket struct {
	kind   pace.Kind
	tenant string
}

func (at bucket) key() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{attrPK: text(PrefixBucket + string(at.kind) + "#" + at.tenant), attrSK: text("#")}
}

// known is what this process knows of one bucket. Requests for it take turns.
type known struct {
	turn  chan struct{}
	ahead pace.Ahead
}

// NewBuckets makes no request.
func NewBuckets(api BucketAPI, table string) *Buckets {
	return &Buckets{api: api, table: table, known: map[bucket]*known{}}
}

// Take takes n tokens of a tenant. If there are fewer, nothing is taken, and wait is how long to
// wait before the request is sent again. An error is an [engine.ErrUnavailable].
func (b *Buckets) Take(ctx context.Context, kind pace.Kind, tenant string, r pace.Rate, n int, now time.Time) (wait time.Duration, err error) {
	at := bucket{kind, tenant}
	k := b.of(at)
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if k.ahead.Use(n, now) {
		return 0, nil
	}
	if wait, err := k.ahead.Resting(now); wait > 0 || err != nil {
		return wait, err
	}
	return b.take(ctx, at, &k.ahead, r, n, now)
}

func (b *Buckets) of(at bucket) *known {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.known[at]
	if k == nil {
		if len(b.known) >= mostKnown {
			clear(b.known)
		}
		k = &known{turn: make(chan struct{}, 1)}
		b.known[at] = k
	}
	return k
}

// take asks for as many tokens as the process wants, and then for as many as there are.
func (b *Buckets) take(ctx context.Context, at bucket, ahead *pace.Ahead, r pace.Rate, n int, now time.Time) (time.Duration, error) {
	// a caller who leaves says nothing of the bucket
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	full, want := ahead.Full, ahead.Want(r, n, now)
	for range mostTries {
		after, done, err := b.write(ctx, at, r, full, want, now)
		if err != nil {
			err = fmt.Errorf("%w: taking from the bucket of %s of a tenant: %w", engine.ErrUnavailable, at.kind, err)
			ahead.Fail(err, now)
			return 0, err
		}
		if full = after; done {
			ahead.Took(want, n, full, now)
			return 0, nil
		}
		if r.Beyond(full, now) {
			full = b.correct(ctx, at, r, full, now)
		}
		if r.Free(full, now) < n {
			break
		}
		want = n
	}
	return ahead.Refused(r, n, full, now), nil
}

// write takes n tokens from a bucket that is full at full, as far as is known; done is false if it
// is not so, and after is then when it is.
func (b *Buckets) write(ctx context.Context, at bucket, r pace.Rate, full time.Time, n int, now time.Time) (after time.Time, done bool, err error) {
	change, unless := "SET #full = #full + :n, #ttl = :ttl", "#full BETWEEN :now AND :most"
	values := map[string]types.AttributeValue{":n": nanoseconds(r.Of(n)), ":now": moment(now), ":most": moment(now.Add(r.Of(r.Burst - n)))}
	if full.Before(now) {
		change, unless = "SET #full = :after, #ttl = :ttl", "attribute_not_exists(#full) OR #full < :now"
		values = map[string]types.AttributeValue{":after": moment(now.Add(r.Of(n))), ":now": moment(now)}
	}
	values[":ttl"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Add(r.Of(r.Burst)+bucketLife).Unix(), 10)}
	out, err := b.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &b.table,
		Key:              at.key(),
		UpdateExpression: &change, ConditionExpression: &unless,
		ExpressionAttributeNames:  map[string]string{"#full": attrFull, "#ttl": dynamo.TTLAttribute},
		ExpressionAttributeValues: values, ReturnValues: types.ReturnValueUpdatedNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}, once)
	if err == nil {
		after, err = fullAt(out.Attributes)
		return after, true, err
	}
	if refused, is := errors.AsType[*types.ConditionalCheckFailedException](err); is {
		if len(refused.Item) == 0 {
			return time.Time{}, false, nil
		}
		after, err = fullAt(refused.Item)
	}
	return after, false, err
}

// correct makes a bucket empty that can't be as empty as its time says, unless another process
// changes it meanwhile.
func (b *Buckets) correct(ctx context.Context, at bucket, r pace.Rate, full, now time.Time) time.Time {
	change, unless := "SET #full = :empty", "#full = :seen"
	_, err := b.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &b.table, Key: at.key(),
		UpdateExpression: &change, ConditionExpression: &unless, ExpressionAttributeNames: map[string]string{"#full": attrFull},
		ExpressionAttributeValues: map[string]types.AttributeValue{":empty": moment(r.Empty(now)), ":seen": moment(full)}}, once)
	if err != nil { // the next request sees it, too
		return full
	}
	return r.Empty(now)
}

// once sends a request one time: a repeat would take twice, and a bucket that is throttled must not
// hold up what it limits.
func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

func fullAt(item map[string]types.AttributeValue) (time.Time, error) {
	n, _ := item[attrFull].(*types.AttributeValueMemberN)
	if n == nil {
		return time.Time{}, errors.New("the item has no time")
	}
	at, err := strconv.ParseInt(n.Value, 10, 64)
	return time.Unix(0, at), err
}

func moment(t time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.UnixNano(), 10)}
}

func nanoseconds(d time.Duration) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(d), 10)}
}
