package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

const tableName = "dormouse"

// table is the store on DynamoDB's protocol, spoken with the real client to a double. What goes
// wrong on the wire goes wrong inside of one operation of the store, where the faults between
// operations do not reach: a process is lost between the put of a segment and the update of the
// head; an answer is lost, and the client meets its own first copy; a request lands much later, or
// a second time; the table is throttled; the indexes are behind.
type table struct {
	*dynamo.Store
	s      *stage
	double *awsdouble.Double
	still  bool // nothing goes wrong: somebody only looks
	wrote  bool // something may have changed since the last look

	lookAll func() // looks at all threads, whatever wrote them
}

// readLag is how many writes behind a read of the table is that does not ask for consistency. The
// store has none on which anything depends.
const readLag = 5

func (s *stage) onTable(t *testing.T) *table {
	at := &table{s: s, lookAll: s.lookAtAll, double: awsdouble.New(awsdouble.Options{Clock: s.w.Now, Seed: s.seed})}
	client := dynamodb.NewFromConfig(at.double.Config(), func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxAttempts, r.Backoff = 3, retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		})
	})
	if _, err := client.CreateTable(t.Context(), dynamo.Schema(tableName)); err != nil {
		t.Fatal(err)
	}
	at.Store = dynamo.New(client, dynamo.Options{Table: tableName, Clock: s.w, Random: s.w, Bound: s.plan.bound(), AtOnce: 1})
	at.double.Fail(at.wire)
	at.double.ReadLag(readLag)
	s.w.Daemon(t.Context(), "the network", at.network)
	return at
}

// network lets what is on its way land, and the indexes fall behind and catch up.
func (at *table) network(ctx context.Context) {
	for n := 0; at.s.w.Sleep(ctx, time.Second+at.s.w.Upto(4*lease)) == nil; n++ {
		at.land()
		at.double.IndexLag(n % 2 * int(at.s.plan.lag) / 100)
	}
}

// settle ends everything that goes wrong, and lets what is on its way land.
func (at *table) settle() {
	at.double.IndexLag(0)
	at.land()
	at.still = true
	if unknown := at.double.Unknown(); len(unknown) > 0 {
		at.s.wrong("the double was asked for what it does not know: %q", unknown)
	}
}

// land lets what is on its way land. Two of that may be granted, so each is looked at before the
// next.
func (at *table) land() {
	for at.double.ReleaseOne() {
		at.lookAtAll()
	}
}

// lookAtAll is done before each request, so that no two writes come between two looks, whatever a
// lost process has left.
func (at *table) lookAtAll() {
	at.wrote = false
	at.lookAll()
}

func (s *stage) lookAtAll() {
	for _, of := range s.tenants() {
		for thread := range of.watched.last {
			of.watched.look(context.Background(), of.tenant, thread)
		}
	}
}

// wire decides what becomes of one request.
func (at *table) wire(c awsdouble.Call) awsdouble.Fault {
	s := at.s
	if at.still {
		return awsdouble.Fault{}
	}
	if at.wrote {
		at.lookAtAll()
	}
	at.wrote = c.Operation == "UpdateItem" || c.Operation == "PutItem" || c.Operation == "TransactWriteItems"
	if s.w.Happens("wire: process lost", s.plan.rate/4) {
		s.w.Lose("in " + c.Operation)
	}
	for _, fault := range []struct {
		kind string
		rate float64
		of   awsdouble.Fault
	}{
		{"wire: answer lost", s.plan.rate / 2, awsdouble.LoseReply()},
		{"wire: request lost", s.plan.rate / 4, awsdouble.LoseRequest()},
		{"wire: request late", s.plan.late / 4, awsdouble.Hold()},
		{"wire: landed again", s.plan.late / 2, awsdouble.Copy()},
		{"wire: throttled", s.plan.rate / 4, awsdouble.Throttle()},
		{"wire: conflict", s.plan.rate / 4, awsdouble.Conflict()},
	} {
		if s.w.Happens(fault.kind, fault.rate) {
			s.faults.Counts[fault.kind]++
			return fault.of
		}
	}
	return awsdouble.Fault{}
}

// shown is the table for those who look at it from outside of the world.
type shown struct{ *table }

func (v shown) look() (done func()) {
	was := v.still
	v.still = true
	return func() { v.still = was }
}

func (v shown) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	defer v.look()()
	return v.table.Load(ctx, tenant, thread)
}

func (v shown) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	defer v.look()()
	return v.table.Segments(ctx, tenant, thread, from, to)
}

func (v shown) Approvals(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error) {
	defer v.look()()
	return v.table.Approvals(ctx, tenant, cursor, limit)
}

func (v shown) Feed(ctx context.Context, tenant string, q engine.FeedQuery) ([]engine.FeedEntry, error) {
	defer v.look()()
	return v.table.Feed(ctx, tenant, q)
}

func (v shown) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	defer v.look()()
	return v.table.Runs(ctx, tenant, thread, cursor, limit)
}

func (v shown) Line(ctx context.Context, k notice.Key) (notice.Line, error) {
	defer v.look()()
	return v.table.Line(ctx, k)
}

func (v shown) ThreadLines(ctx context.Context, tenant, thread string) (map[string]notice.Line, error) {
	defer v.look()()
	return v.table.ThreadLines(ctx, tenant, thread)
}

func (v shown) RedriveNotice(ctx context.Context, k notice.Key, event, now int64) error {
	defer v.look()()
	return v.table.RedriveNotice(ctx, k, event, now)
}

func (v shown) Records(ctx context.Context, tenant string, q engine.RecordQuery) ([]notice.Record, string, error) {
	defer v.look()()
	return v.table.Records(ctx, tenant, q)
}
