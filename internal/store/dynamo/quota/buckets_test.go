package quota_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/quota"
)

// buckets are those of processes on one table, at one time.
type buckets struct {
	*testing.T
	*awsdouble.Double
	now    time.Time
	mu     sync.Mutex
	writes map[string]int // of each bucket, refused ones too
}

func newBuckets(t *testing.T) *buckets {
	b := &buckets{T: t, Double: awsdouble.New(awsdouble.Options{}), now: time.Unix(1_800_000_000, 0), writes: map[string]int{}}
	if _, err := dynamodb.NewFromConfig(b.Config(), dynamo.Retries()).CreateTable(t.Context(), dynamo.Schema("table")); err != nil {
		t.Fatal(err)
	}
	b.Fail(b.count)
	return b
}

func (b *buckets) count(c awsdouble.Call) awsdouble.Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes[c.Key]++
	return awsdouble.Fault{}
}

func (b *buckets) process() *quota.Buckets {
	return quota.NewBuckets(dynamodb.NewFromConfig(b.Config(), dynamo.Retries()), "table")
}

func (b *buckets) take(q *quota.Buckets, tenant string, r pace.Rate, n int) (wait time.Duration) {
	b.Helper()
	wait, err := q.Take(b.Context(), pace.Starts, tenant, r, n, b.now)
	if err != nil {
		b.Fatal(err)
	}
	return wait
}

func TestProcessesShareABucket(t *testing.T) {
	b, r := newBuckets(t), pace.PerSecond(1, 0)
	one, other := b.process(), b.process()
	for n := range 10 {
		if wait := b.take([]*quota.Buckets{one, other}[n%2], "acme", r, 1); wait != 0 {
			t.Fatalf("request %d has to wait %v", n, wait)
		}
	}
	for _, q := range []*quota.Buckets{one, other, b.process()} {
		if wait := b.take(q, "acme", r, 1); wait != time.Second {
			t.Errorf("wait %v", wait)
		}
		if wait := b.take(q, "zoo", r, 1); wait != 0 {
			t.Errorf("another tenant has to wait %v", wait)
		}
	}
	b.now = b.now.Add(time.Second)
	if b.take(other, "acme", r, 1) != 0 || b.take(one, "acme", r, 1) != time.Second {
		t.Error("a second does not give one token to both")
	}
	b.now = b.now.Add(time.Hour)
	if b.take(one, "acme", r, 10) != 0 || b.take(other, "acme", r, 1) != time.Second {
		t.Error("a bucket is not full after an hour, or more than full")
	}
}

// TestConcurrentProcessesAreHeldToTheRate has requests of many processes meet each other.
func TestConcurrentProcessesAreHeldToTheRate(t *testing.T) {
	b, r := newBuckets(t), pace.PerSecond(5, 0)
	var group sync.WaitGroup
	admitted := make([]int, 20)
	for i := range admitted {
		q := b.process()
		for range 2 {
			group.Go(func() {
				for range 10 {
					wait, err := q.Take(t.Context(), pace.Starts, "acme", r, 1, b.now)
					if err != nil {
						t.Error(err)
					}
					if b.mu.Lock(); wait == 0 {
						admitted[i]++
					}
					b.mu.Unlock()
				}
			})
		}
	}
	group.Wait()
	sum := 0
	for _, n := range admitted {
		sum += n
	}
	// at least: what a process takes ahead and does not need is lost
	if sum > r.Burst || sum < r.Burst/2 {
		t.Errorf("%d of 400 are admitted at once, of a burst of %d", sum, r.Burst)
	}
}

func TestRequestsFarFromTheLimitCostFewWrites(t *testing.T) {
	b, r := newBuckets(t), pace.PerSecond(100, 0)
	one := b.process()
	for range 1000 {
		if b.take(one, "acme", r, 1) != 0 {
			t.Fatal("refused at half of the rate")
		}
		b.now = b.now.Add(20 * time.Millisecond)
	}
	if n := b.writes["RL#starts#acme|#"]; n > 30 || n == 0 {
		t.Errorf("1,000 requests cost %d writes", n)
	} else {
		t.Logf("1,000 requests at half of the rate cost %d writes", n)
	}
	b, r = newBuckets(t), pace.PerSecond(1, 0)
	flooded := b.process()
	for range 1000 {
		b.take(flooded, "acme", r, 1)
		b.now = b.now.Add(time.Millisecond)
	}
	if n := b.writes["RL#starts#acme|#"]; n > 12 {
		t.Errorf("1,000 requests of a flood within a second cost %d writes", n)
	} else {
		t.Logf("1,000 requests of a flood within a second cost %d writes", n)
	}
}

func TestABucketThatDoesNotAnswerIsLeftAloneForASecond(t *testing.T) {
	for name, fault := range map[string]awsdouble.Fault{"throttled": awsdouble.Throttle(), "no answer": awsdouble.LoseReply(), "denied": awsdouble.Deny(), "broken": awsdouble.InternalError()} {
		t.Run(name, func(t *testing.T) {
			b, r := newBuckets(t), pace.PerSecond(1, 0)
			q, calls := b.process(), 0
			b.Fail(func(awsdouble.Call) awsdouble.Fault { calls++; return fault })
			for range 100 {
				if wait, err := q.Take(t.Context(), pace.Starts, "acme", r, 1, b.now); !errors.Is(err, engine.ErrUnavailable) || wait < 0 {
					t.Fatalf("%v, %v", wait, err)
				}
			}
			if calls != 1 {
				t.Errorf("100 requests sent %d to the table", calls)
			}
			b.Fail(nil)
			if wait := b.take(q, "zoo", r, 1); wait != 0 {
				t.Errorf("another tenant: wait %v", wait)
			}
			b.now = b.now.Add(time.Second)
			if wait := b.take(q, "acme", r, 1); wait != 0 {
				t.Errorf("a second later: wait %v", wait)
			}
		})
	}
}

// TestACallerWhoLeavesTakesTheBucketFromNoOne: a flood of canceled requests must not make a bucket
// look broken.
func TestACallerWhoLeavesTakesTheBucketFromNoOne(t *testing.T) {
	b, r := newBuckets(t), pace.PerSecond(100, 0)
	q := b.process()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		_, _ = q.Take(ctx, pace.Starts, "acme", r, 1, b.now)
	}
	if wait := b.take(q, "acme", r, 1); wait != 0 {
		t.Errorf("wait %v", wait)
	}
}

func TestNoTwoBucketsHaveOneKey(t *testing.T) {
	b, r := newBuckets(t), pace.PerSecond(1, 0)
	q := b.process()
	for _, tenant := range []string{"a", "a#b", "", strings.Repeat("x", 60)} {
		for _, kind := range []pace.Kind{pace.Starts, pace.Decisions, pace.Streams, pace.Held, pace.HeldByAll} {
			if wait, err := q.Take(t.Context(), kind, tenant, r, 10, b.now); err != nil || wait != 0 {
				t.Errorf("%s of %q: %v, %v", kind, tenant, wait, err)
			}
		}
	}
	if len(b.writes) != 20 {
		t.Errorf("%d buckets: %v", len(b.writes), b.writes)
	}
}

// full is a table whose buckets are empty, or full, at a time.
type full struct{ at time.Time }

func (f full) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{Attributes: map[string]types.AttributeValue{"full": &types.AttributeValueMemberN{Value: strconv.FormatInt(f.at.UnixNano(), 10)}}}, nil
}

// TestAProcessForgetsTheBucketsOfManyTenants: its memory does not grow with their number.
func TestAProcessForgetsTheBucketsOfManyTenants(t *testing.T) {
	now, r := time.Unix(1_800_000_000, 0), pace.PerSecond(100, 0)
	q := quota.NewBuckets(full{now}, "table")
	tenants := func(from int) (grown uint64) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for n := range 100_000 {
			if wait, err := q.Take(t.Context(), pace.Starts, strconv.Itoa(from+n), r, 1, now); wait != 0 || err != nil {
				t.Fatal(wait, err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		return after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
	}
	tenants(0)
	if grown := tenants(100_000); grown > 4<<20 {
		t.Errorf("100,000 tenants take %d bytes", grown)
	}
}

// TestABucketIsNoEmptierThanEmpty: the clock of one process was ahead by half an hour, or the rate
// was lower before. Neither refuses what comes for so long.
func TestABucketIsNoEmptierThanEmpty(t *testing.T) {
	for name, before := range map[string]struct {
		rate  pace.Rate
		ahead time.Duration
	}{"a clock ahead": {pace.PerSecond(1, 0), 30 * time.Minute}, "a lower rate": {pace.PerSecond(0.001, 20), 0}} {
		t.Run(name, func(t *testing.T) {
			b, r := newBuckets(t), pace.PerSecond(1, 0)
			usual := b.now
			b.now = usual.Add(before.ahead)
			if wait := b.take(b.process(), "acme", before.rate, before.rate.Burst); wait != 0 {
				t.Fatalf("the first has to wait %v", wait)
			}
			b.now = usual
			one, other := b.process(), b.process()
			if wait := b.take(one, "acme", r, 1); wait != time.Second {
				t.Errorf("an empty bucket has to be waited for %v", wait)
			}
			b.now = usual.Add(time.Second)
			if wait := b.take(other, "acme", r, 1); wait != 0 {
				t.Errorf("a second later, wait %v", wait)
			}
			if wait := b.take(one, "acme", r, 1); wait != time.Second {
				t.Errorf("the token is taken, wait %v", wait)
			}
		})
	}
}
