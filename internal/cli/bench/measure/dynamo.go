//go:build !noaws

package measure

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/workload"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/meter"
)

// table is a table on a server that speaks DynamoDB's protocol. The functions of a stack work on
// it, in this process.
type table struct {
	client  *dynamodb.Client
	counted *dynamodb.Client // whose requests are counted in traffic
	traffic *traffic
	name    string
	cold    bool
	keys    []string // of an item
}

// openDynamoDB creates a table.
func openDynamoDB(ctx context.Context, url string, cold bool) (target, error) {
	t := &table{traffic: &traffic{}, name: "dormouse-bench-" + machine.Random{}.Text(8), cold: cold}
	config := aws.Config{Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("bench", "bench", "")}
	t.client = dynamodb.NewFromConfig(config, dynamo.Retries())
	config.HTTPClient = &http.Client{Transport: t.traffic}
	t.counted = dynamodb.NewFromConfig(config, dynamo.Retries())
	schema := dynamo.Schema(t.name)
	for _, key := range schema.KeySchema {
		t.keys = append(t.keys, *key.AttributeName)
	}
	if _, err := t.client.CreateTable(ctx, schema); err != nil {
		return nil, err
	}
	exists := dynamodb.NewTableExistsWaiter(t.client)
	return t, exists.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &t.name}, time.Minute)
}

func (t *table) close(ctx context.Context) error {
	_, err := t.client.DeleteTable(context.WithoutCancel(ctx), &dynamodb.DeleteTableInput{TableName: &t.name})
	return err
}

func (t *table) commits(ctx context.Context) (took []float64, err error) {
	item := map[string]types.AttributeValue{"body": &types.AttributeValueMemberS{Value: strings.Repeat("0123456789abcdef", 64)}}
	for _, key := range t.keys {
		item[key] = &types.AttributeValueMemberS{Value: "raw"}
	}
	for range rawCommits {
		began := time.Now()
		if _, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.name, Item: item}); err != nil {
			return nil, err
		}
		took = append(took, ms(time.Since(began)))
	}
	slices.Sort(took)
	return took, nil
}

// The timing of the step function of a stack, which has no reason to matter here: no run is
// cancelled, and no owner crashes.
const (
	invocation = 5 * time.Minute
	margin     = 10 * time.Second
	skew       = 5 * time.Second
	grain      = time.Minute
	watch      = 2 * time.Second
)

// atOnce limits how many steps run at once.
const atOnce = 64

// begin deploys the agent and works on wake-ups.
func (t *table) begin(ctx context.Context, dir string, desk *workload.Desk) (backend, error) {
	agents, err := writeAgents(dir)
	if err != nil {
		return nil, err
	}
	tools, err := tools(desk)
	if err != nil {
		return nil, err
	}
	s := &stack{meter: meter.New(t.counted), traffic: t.traffic, cold: t.cold, places: make(chan struct{}, atOnce), rest: map[string]chan struct{}{}}
	s.ctx, s.stop = context.WithCancelCause(ctx)
	store := dynamo.New(s.meter, dynamo.Options{Table: t.name, Clock: machine.Clock{}, Random: machine.Random{}})
	behind := program.NewAgents(store, program.Program{Tools: tools, Hooks: hook.NewRegistry(), Dir: agents, Clock: machine.Clock{}, Models: desk.Models()})
	if _, err := behind.Deploy(ctx, s.caller().Tenant); err != nil {
		return nil, err
	}
	s.options = engine.Options{Store: store, Earlier: store, Waker: s, Agents: behind, Clock: machine.Clock{}, Random: machine.Random{}, Logger: slog.New(slog.DiscardHandler),
		Lines: store, Newest: store, Margin: margin, Skew: skew, Grain: grain, Watch: watch}
	s.engine = engine.New(s.options)
	front := func(of *dynamo.Store) *frontend.Frontend {
		return frontend.New(frontend.Options{Store: of, Links: of, Catalog: behind.Catalog(), Waker: s, Clock: machine.Clock{}, Random: machine.Random{},
			Describe: behind.Describe, Tool: behind.Tool, Check: behind.Check, Accepts: behind.Accepts, Starters: behind.Starters, Narrow: behind.Narrow, DayBudget: behind.DayBudget})
	}
	s.front = front(store)
	s.unseen = front(dynamo.New(t.client, dynamo.Options{Table: t.name, Clock: machine.Clock{}, Random: machine.Random{}}))
	return s, nil
}

// stack is the functions of a stack, with a queue in memory between them.
type stack struct {
	ctx     context.Context
	stop    context.CancelCauseFunc
	options engine.Options
	engine  *engine.Engine
	front   *frontend.Frontend
	unseen  *frontend.Frontend // whose reads are not counted
	meter   *meter.Meter
	traffic *traffic
	cold    bool
	places  chan struct{}
	working sync.WaitGroup

	threads locks

	mu    sync.Mutex
	spent struct{ read, write, queue, invocations, lambda, http float64 }
	rest  map[string]chan struct{} // receive when a run waits or is done
}

func (s *stack) caller() frontend.Caller { return frontend.Caller{Tenant: "bench", By: "bench"} }

// Send implements [engine.Waker]. A message is sent, received and deleted. It is received after the
// step that sent it has ended, as from a queue that takes its time.
func (s *stack) Send(_ context.Context, w engine.Wakeup, delay time.Duration) error {
	s.mu.Lock()
	s.spent.queue += 3
	s.mu.Unlock()
	s.working.Add(1)
	go func() {
		defer s.working.Done()
		if machine.Sleep(s.ctx, delay) != nil {
			return
		}
		before := s.threads.of(w.Thread)
		before.Lock()
		defer before.Unlock()
		select {
		case s.places <- struct{}{}:
			s.invoke(w)
			<-s.places
		case <-s.ctx.Done():
		}
	}()
	return nil
}

// locks are those of threads.
type locks struct{ all sync.Map }

func (l *locks) of(thread string) *sync.Mutex {
	m, _ := l.all.LoadOrStore(thread, &sync.Mutex{})
	return m.(*sync.Mutex)
}

// invoke does what the step function does with a message.
func (s *stack) invoke(w engine.Wakeup) {
	began := time.Now()
	e := s.engine
	if s.cold {
		e = engine.New(s.options)
	}
	ctx, cancel := context.WithTimeout(s.ctx, invocation)
	defer cancel()
	report, err := e.Step(ctx, w)
	s.mu.Lock()
	s.spent.invocations++
	s.spent.lambda += ms(time.Since(began))
	s.mu.Unlock()
	switch {
	case err != nil:
		s.stop(err) // nothing fails here, except for the server that is measured
	case report.Asked && (report.Status == core.RunWaiting || report.Status == core.RunDone):
		s.resting(report.Run) <- struct{}{}
	}
}

func (s *stack) resting(run string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rest[run] == nil {
		s.rest[run] = make(chan struct{}, 1)
	}
	return s.rest[run]
}

// usable implements [backend]: what fails stops the stack.
func (s *stack) usable(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func (s *stack) start(ctx context.Context) (string, error) {
	s.called()
	started, err := s.front.Start(ctx, s.caller(), "", request())
	return started.Run.ID, err
}

func (s *stack) settled(ctx context.Context, run string) (wire.Run, error) {
	select {
	case <-s.resting(run):
		return s.unseen.Run(ctx, s.caller(), run)
	case <-s.ctx.Done():
		return wire.Run{}, context.Cause(s.ctx)
	case <-ctx.Done():
		return wire.Run{}, context.Cause(ctx)
	}
}

func (s *stack) decide(ctx context.Context, run string, d wire.Decision) error {
	s.called()
	_, err := s.front.Decide(ctx, s.caller(), run, d)
	return err
}

func (s *stack) called() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent.http++
}

func (s *stack) count() Costs {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, write := s.meter.Take()
	s.spent.read += read
	s.spent.write += write
	requests, sent := s.traffic.count()
	return Costs{ReadUnits: s.spent.read, WriteUnits: s.spent.write, StoreRequests: requests, SentBytes: sent, QueueRequests: s.spent.queue,
		Invocations: s.spent.invocations, LambdaTime: s.spent.lambda, HTTPRequests: s.spent.http}
}

var errOver = errors.New("the measurement is over")

func (s *stack) close() error {
	s.stop(errOver)
	s.working.Wait()
	return nil
}
