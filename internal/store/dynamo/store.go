package dynamo

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// API is the part of the SDK's client that a [Store] uses.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

var _ API = (*dynamodb.Client)(nil)

// Options configure a store. All but Shards, Reads and AtOnce are required.
type Options struct {
	Table  string
	Clock  engine.Clock  // for the expiry of keys and the pauses before retries
	Random engine.Random // for keys that sign links and the jitter of retries

	// Shards is the number of partitions of the index of due entries that are written to; 0
	// means 4. Reads is how many the sweep reads, and at least Shards: it sees no other entry.
	Shards, Reads int

	// AtOnce is how many requests of a sweep are under way at once; 0 means 16.
	AtOnce int

	Bound notice.Bound // of delivery lines; zero: [notice.Most]

	// Seen is called with each head that a request returned, and with the time until which it
	// is watched; see [Store.MarkWatched]. It must not block. Nil is not called.
	Seen func(h core.Head, watched time.Time)
}

// Store stores its data in one table. It keeps nothing in memory and is safe for concurrent use by
// any number of processes.
type Store struct {
	api    API
	o      Options
	clock  engine.Clock
	random engine.Random
}

const (
	usualShards = 4
	usualAtOnce = 16
)

// New returns the store on the table that o names. It makes no request: the first request finds out
// whether the table exists. Create the client behind api with [Retries].
func New(api API, o Options) *Store {
	if o.Shards <= 0 {
		o.Shards = usualShards
	}
	o.Reads, o.Bound, o.AtOnce = max(o.Reads, o.Shards), cmp.Or(o.Bound, notice.Most), cmp.Or(o.AtOnce, usualAtOnce)
	return &Store{api: api, o: o, clock: o.Clock, random: o.Random}
}

func (s *Store) now() int64 { return s.clock.Now().UnixMilli() }

const (
	mostAttempts = 3
	mostBackoff  = 300 * time.Millisecond
)

// Retries makes a client retry a request that was throttled, failed in the server, lost its
// connection or conflicted with a transaction. There are three attempts with short random pauses,
// because a function is billed while it waits; a request that still fails is
// [engine.ErrUnavailable] and is retried by the queue. There is no retry budget across requests:
// each request is limited by itself, and the cost of retries on a busy table is small compared with
// a run that stops.
func Retries() func(*dynamodb.Options) {
	return func(o *dynamodb.Options) { o.Retryer = retryer(retry.DefaultRetryables, codeConflict, codeInternal) }
}

// onlyRefused is for a write that cannot recognize its own repeat: it is retried if the server said
// that it did nothing, and not if the answer is missing.
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
