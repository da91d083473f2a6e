package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// API is what a [Store] uses of the SDK's client.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

var _ API = (*dynamodb.Client)(nil)

// Options are what a store must be told. All but Shards are needed.
type Options struct {
	Table  string
	Clock  engine.Clock  // for the expiry of keys, and for waiting before a retry
	Random engine.Random // for keys that sign links, and for the jitter of retries

	// Shards is over how many partitions the due entries are spread, 4 if 0. It may rise and
	// never fall: a sweep that knows fewer does not see the entries of the others.
	Shards int
}

// Store is a table. It keeps nothing in memory, and is safe for concurrent use, by any number of
// processes.
type Store struct {
	api    API
	o      Options
	clock  engine.Clock
	random engine.Random
}

const usualShards = 4

// New returns the store on the table that o names. It asks the server nothing: a table that is not
// there is found by the first request. The client behind api should be made with [Retries].
func New(api API, o Options) *Store {
	if o.Shards <= 0 {
		o.Shards = usualShards
	}
	return &Store{api: api, o: o, clock: o.Clock, random: o.Random}
}

func (s *Store) now() int64 { return s.clock.Now().UnixMilli() }

const (
	mostAttempts = 3
	mostBackoff  = 300 * time.Millisecond
)

// Retries lets a client send a request again that was throttled, met a fault of the server or a
// broken connection, or stood in the way of a transaction: three attempts in all, the pauses random
// and short, since somebody pays for them: what is still refused then is [engine.ErrUnavailable],
// and comes again by the queue. There is no budget over all requests: each is bounded by itself,
// and what a retry may cost a full table is small beside a run that stops.
func Retries() func(*dynamodb.Options) {
	return func(o *dynamodb.Options) { o.Retryer = retryer(retry.DefaultRetryables, codeConflict, codeInternal) }
}

// onlyRefused is for a write that does not know itself: it is sent again if the server has said
// that it did not do it, and not if the answer is missing.
//
//	stored, answer lost ── a worker drains it ── sent again: stored twice
func onlyRefused(o *dynamodb.Options) {
	o.Retryer = retryer([]retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}}, codeConflict)
}

func retryer(what []retry.IsErrorRetryable, codes ...string) aws.Retryer {
	standard := retry.NewStandard(func(s *retry.StandardOptions) {
		s.MaxAttempts, s.MaxBackoff, s.Retryables = mostAttempts, mostBackoff, what
		s.RateLimiter = ratelimit.None
	})
	return retry.AddWithErrorCodes(standard, codes...)
}
