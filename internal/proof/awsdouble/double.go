package awsdouble

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Options are what a double takes from outside.
type Options struct {
	Clock func() time.Time // what the services take for the time; nil is the machine's
	Seed  uint64           // of message ids, of the order of messages and of scans
}

// Double is a DynamoDB and an SQS, empty at first. All its methods may be called at any time by
// anybody.
type Double struct {
	clock func() time.Time

	mu       sync.Mutex
	random   *rand.Rand
	tables   map[string]*table
	queues   map[string]*queue
	tokens   map[string]spentToken
	arrival  chan struct{} // closed when a message may have become visible
	units    Units
	requests map[string]int
	unknown  []string
	serial   int

	rule      func(Call) Fault
	throttles map[string]period
	indexLag  int
	readLag   int
	held      []*call
}

// New returns a double with no tables and no queues.
func New(o Options) *Double {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Double{
		clock: o.Clock, random: rand.New(rand.NewPCG(o.Seed, 0)), tables: map[string]*table{}, queues: map[string]*queue{},
		tokens: map[string]spentToken{}, arrival: make(chan struct{}), requests: map[string]int{}, throttles: map[string]period{},
	}
}

// Unknown lists the operations, parameters and types that somebody asked for and the double does
// not know. A test that ends with any has tested less than it seems.
func (d *Double) Unknown() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.unknown)
}

// call is one request on its way through the double.
type call struct {
	Call
	body  []byte
	host  string
	meter *meter
	fault Fault
	until time.Time // of a receive that waits
}

// reply is what goes back: a result, or an error of the service.
type reply struct {
	result any
	err    *apiError
}

// serve does the request with whatever fault is due. lost means that the caller gets no reply at
// all.
func (d *Double) serve(ctx context.Context, c *call) (r reply, lost bool) {
	rule := d.enter(c)
	if rule != nil {
		c.fault = rule(c.Call) // outside of the lock: a rule may make requests of its own
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if throttled := d.throttled(c); throttled != nil {
		return reply{err: throttled}, false
	}
	if err := c.fault.before(c); err != nil {
		return reply{err: err}, false
	}
	switch c.fault.kind {
	case loseRequest:
		return reply{}, true
	case holdRequest:
		d.held = append(d.held, c)
		return reply{}, true
	}
	r = d.perform(ctx, c)
	switch c.fault.kind {
	case copyRequest:
		d.held = append(d.held, c.again())
	case internalAfter:
		return reply{err: internalError()}, false
	}
	return r, c.fault.kind == loseReply
}

func (c *call) again() *call {
	return &call{Call: c.Call, body: c.body, host: c.host}
}

// enter counts the request and finds out what it is about.
func (d *Double) enter(c *call) (rule func(Call) Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests[c.Operation]++
	d.serial++
	c.N = d.serial
	// nobody else asks, and it reads the whole body once more
	if d.rule != nil || len(d.throttles) > 0 {
		d.describe(c)
	}
	return d.rule
}

// perform is called with the lock held, and gives it up only while a receive waits.
func (d *Double) perform(ctx context.Context, c *call) reply {
	for {
		c.meter = newMeter(1)
		result, err := d.operate(c)
		total := c.meter.total()
		d.units.Read += total.Read
		d.units.Write += total.Write
		d.units.IndexWrite += total.IndexWrite
		if err != nil {
			return reply{err: d.noted(c, errorOf(err))}
		}
		if result != nil || !d.wait(ctx, c) {
			return reply{result: result}
		}
	}
}

func (d *Double) operate(c *call) (any, error) {
	f, ok := operations[c.Service][c.Operation]
	if !ok {
		return nil, unknown("operation %s", c.Operation)
	}
	return f(d, c)
}

func (d *Double) noted(c *call, err *apiError) *apiError {
	if err.code == unknownCode {
		d.unknown = append(d.unknown, fmt.Sprintf("%s: %s", c.Operation, err.message))
	}
	return err
}

func newMeter(factor float64) *meter {
	return &meter{factor: factor, tables: map[string]*consumption{}}
}

// id is a random name of the form that the services use for requests and messages.
func (d *Double) id() string {
	a, b := d.random.Uint64(), d.random.Uint64()
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff|0x4000, b>>48&0x3fff|0x8000, b&0xffffffffffff)
}
