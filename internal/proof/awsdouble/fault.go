package awsdouble

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Call is what a rule is told of a request before it happens.
type Call struct {
	Service   string // dynamodb or sqs
	Operation string // PutItem, SendMessage and so on
	Name      string // of the table or queue; of several the first
	Key       string // of the item, its values joined by a bar; of several the first
	Keys      []string
	Attempt   int // the SDK's: 1 for the first try
	N         int // which request to the double this is, from 1
}

type faultKind int

const (
	none faultKind = iota
	throttle
	rateLimit
	internalBefore
	internalAfter
	conflict
	loseReply
	loseRequest
	holdRequest
	copyRequest
	unprocessed
	doubleMessage
	delayMessage
	handOutTwice
	deny
)

// Fault is what goes wrong with a request. The zero Fault is nothing.
type Fault struct {
	kind  faultKind
	n     int
	delay time.Duration
}

// Throttle refuses the request because of the table's or queue's own throughput. A transaction is
// cancelled with ThrottlingError.
func Throttle() Fault { return Fault{kind: throttle} }

// RateLimit refuses it with ThrottlingException, which the services use for everything else that
// comes too fast.
func RateLimit() Fault { return Fault{kind: rateLimit} }

// Deny refuses it because the caller's policy does not allow it.
func Deny() Fault { return Fault{kind: deny} }

// InternalError answers 500 and does nothing.
func InternalError() Fault { return Fault{kind: internalBefore} }

// InternalErrorAfter does what is asked and answers 500.
func InternalErrorAfter() Fault { return Fault{kind: internalAfter} }

// Conflict refuses because a transaction is under way on the item: TransactionConflictException, or
// for a transaction its cancellation for TransactionConflict.
func Conflict() Fault { return Fault{kind: conflict} }

// LoseReply does what is asked; the caller only sees the connection break.
func LoseReply() Fault { return Fault{kind: loseReply} }

// LoseRequest does nothing; the caller sees the connection break.
func LoseRequest() Fault { return Fault{kind: loseRequest} }

// Hold keeps the request until Release; the caller sees the connection break, and may try again
// long before it lands.
func Hold() Fault { return Fault{kind: holdRequest} }

// Copy does what is asked and answers. Release does it once more.
func Copy() Fault { return Fault{kind: copyRequest} }

// Unprocessed lets a batch do its first n parts and hands the rest back.
func Unprocessed(n int) Fault { return Fault{kind: unprocessed, n: n} }

// DoubleMessage puts what is sent into the queue twice, under one message id.
func DoubleMessage() Fault { return Fault{kind: doubleMessage} }

// DelayMessage makes what is sent visible later than it should be.
func DelayMessage(d time.Duration) Fault { return Fault{kind: delayMessage, delay: d} }

// HandOutTwice hands messages to this receiver and leaves them visible for the next.
func HandOutTwice() Fault { return Fault{kind: handOutTwice} }

// Fail sets the rule that every request is shown to; nil is none. The rule is called outside of the
// double's lock, by whoever makes the request, so it must be safe for several at once; it may make
// requests itself, which is how a test puts one between two others.
func (d *Double) Fail(rule func(Call) Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rule = rule
}

// Chaos is a rule that gives one of the faults to a share of the requests, by a seed. The same
// requests in the same order have the same faults.
func Chaos(seed uint64, share float64, faults ...Fault) func(Call) Fault {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	return func(Call) Fault {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() >= share {
			return Fault{}
		}
		return faults[random.IntN(len(faults))]
	}
}

// Release lands every request that is held, in the order they came, and says how many did something
// other than being refused. A rule does not see them, they meet no throttle, and nobody counts what
// they consume.
func (d *Double) Release() (landed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.held) > 0 {
		if d.landFirst() {
			landed++
		}
	}
	return landed
}

// ReleaseOne is [Double.Release] for the request that is held longest. Held says whether there was
// one.
func (d *Double) ReleaseOne() (held bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.held) == 0 {
		return false
	}
	d.landFirst()
	return true
}

func (d *Double) landFirst() (landed bool) {
	c := d.held[0]
	d.held = d.held[1:]
	c.fault = Fault{}
	result, err := d.operate(c.metered())
	if err != nil {
		d.noted(c, errorOf(err))
	}
	return err == nil && result != nil
}

func (c *call) metered() *call {
	c.meter = newMeter(1)
	return c
}

// Held is how many requests wait for Release.
func (d *Double) Held() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.held)
}

// IndexLag makes indexes answer as of that many item writes to their table ago; 0 is up to date.
func (d *Double) IndexLag(writes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.indexLag = writes
	for _, t := range d.tables {
		for _, x := range t.indexes {
			x.settle(writes)
		}
	}
}

// ReadLag does the same to reads of tables that do not ask for consistency.
func (d *Double) ReadLag(writes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readLag = writes
	for _, t := range d.tables {
		t.stale.settle(writes)
	}
}

type period struct{ from, to time.Time }

// ThrottleFor refuses every request to the table or queue while the double's clock is within the
// period; requests that name several tables if the first is it.
func (d *Double) ThrottleFor(name string, from, to time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.throttles[name] = period{from, to}
}

func (d *Double) throttled(c *call) *apiError {
	p, ok := d.throttles[c.Name]
	if now := d.clock(); !ok || now.Before(p.from) || !now.Before(p.to) {
		return nil
	}
	return Throttle().before(c)
}

// before is the error that a fault answers without doing anything, if it is of that sort.
func (f Fault) before(c *call) *apiError {
	transaction := c.Operation == "TransactWriteItems" || c.Operation == "TransactGetItems"
	switch f.kind {
	case throttle:
		switch {
		case c.Service == serviceSQS:
			return sqsError("RequestThrottled", "The request was denied due to request throttling.")
		case transaction:
			return canceledFor(c, "ThrottlingError", "Throughput exceeds the current capacity for one or more tables.")
		}
		return refuse("ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded. "+
			"Consider increasing your provisioning level with the UpdateTable API.")
	case rateLimit:
		return refuse("ThrottlingException", "Rate exceeded")
	case deny:
		return refuse("AccessDeniedException", "User: arn:aws:sts::123456789012:assumed-role/function is not authorized to perform: %s:%s", c.Service, c.Operation)
	case internalBefore:
		return internalError()
	case conflict:
		if transaction {
			return canceledFor(c, "TransactionConflict", "Transaction is ongoing for the item")
		}
		return refuse("TransactionConflictException", "Transaction is ongoing for the item")
	}
	return nil
}

func internalError() *apiError {
	return &apiError{status: http.StatusInternalServerError, code: "InternalServerError", message: "Internal server error"}
}

// canceledFor blames the first part of a transaction.
func canceledFor(c *call, code, message string) *apiError {
	reasons := make([]reason, max(1, len(c.Keys)))
	reasons[0] = reason{code: code, message: message}
	return canceled(reasons)
}

// describe fills in what the request is about, as far as the body tells.
func (d *Double) describe(c *call) {
	type part struct {
		TableName string
		Key, Item item
	}
	var body struct {
		part
		QueueUrl, QueueName string
		TransactItems       []map[string]part
		RequestItems        map[string]json.RawMessage
	}
	if json.Unmarshal(c.body, &body) != nil {
		return // the operation itself will say what is wrong with it
	}
	parts := []part{body.part}
	for _, actions := range body.TransactItems {
		for _, p := range actions {
			parts = append(parts, p)
		}
	}
	for _, p := range parts {
		d.describePart(c, p.TableName, p.Key, p.Item)
	}
	if c.Name == "" {
		c.Name = queueName(body.QueueUrl) + body.QueueName
	}
	d.describeBatch(c, body.RequestItems)
}

func (d *Double) describePart(c *call, name string, key, it item) {
	if name != "" && c.Name == "" {
		c.Name = name
	}
	t := d.tables[name]
	if t == nil {
		return
	}
	if key == nil {
		key = t.keys.of(it)
	}
	if len(key) == 0 {
		return
	}
	c.Keys = append(c.Keys, t.keys.print(key))
	c.Key = c.Keys[0]
}
