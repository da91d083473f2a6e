package sim_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/pushes"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// storySweep is how often the sweep of a story looks, and patience how long a story waits for what
// must come.
const (
	storySweep = 30 * time.Second
	patience   = time.Hour
)

// performance is one story, played once.
type performance struct {
	*script
	seed   uint64
	points map[int64]string // faults by the number of their operation

	w       *sim.World
	faults  *sim.Faults
	db      *sim.Memory
	witness *witness
	bell    *bell
	queue   *storyQueue
	front   *query.Reader
	desk    *pushes.Desk
	cast    *storyCast
	began   time.Time
	changed chan struct{} // closed, and replaced, with each change of a head
	done    map[string]int
	wrongs  []string

	callers
}

// perform plays a story from its beginning to its end.
func perform(ctx context.Context, s *script, seed uint64, points map[int64]string, trace func(string)) *performance {
	p := &performance{script: s, seed: seed, points: points, w: sim.NewWorld(seed), changed: make(chan struct{}), done: map[string]int{},
		callers: newCallers()}
	p.w.Order, p.began = sim.Order(seed%3), p.w.Now()
	p.w.Trace(trace)
	p.build(ctx)
	p.w.Go(ctx, "the story", p.tell)
	if err := p.w.Run(300_000); err != nil {
		p.wrong("the story does not come to its end: %v", err)
		return p
	}
	p.check()
	return p
}

func (p *performance) wrong(format string, args ...any) {
	if len(p.wrongs) < 5 {
		p.wrongs = append(p.wrongs, p.w.Now().Format("15:04:05.000")+"  "+fmt.Sprintf(format, args...))
	}
}

func (p *performance) build(ctx context.Context) {
	p.faults = sim.NewFaults(p.w, 0)
	p.faults.Choose = func(n int64, _ string) string { return p.points[n] }
	p.db = sim.NewMemory(p.w)
	p.db.Written, p.db.Lag = p.seed%5 == 0, []int64{0, 0, 100, 2000}[p.seed%4]
	p.witness = newWitness(p)
	messages := &sim.MemoryQueue{Clock: p.w, Visibility: visibility}
	p.bell = &bell{FullQueue: messages, w: p.w, rung: make(chan struct{})}
	p.queue = &storyQueue{bell: p.bell, messages: messages, p: p}
	p.cast = newStoryCast(p)
	store, queue := p.connect(nil)
	p.front = query.New(frontend.New(frontend.Options{Store: store, Catalog: p.cast, Waker: queue, Clock: p.w, Random: p.w,
		Limits:   frontend.Limits{Inline: p.setting.inline, Messages: p.setting.messages, Pages: inNobodysWay},
		Accepts:  p.cast.accepts,
		Starters: func(context.Context, engine.Definition) ([]string, error) { return p.setting.starters, nil }}))
	p.desk = pushes.New(pushes.Options{Store: p.cast, Lines: store, Waker: queue, Frontend: p.front.Frontend})
	for i := range p.setting.workers {
		p.w.Daemon(ctx, fmt.Sprintf("worker %d", i+1), p.work)
	}
	p.w.Daemon(ctx, "the sweep", p.sweep)
	p.w.Daemon(ctx, "whoever is asked what happened", p.tellTruth)
	if p.setting.stuck {
		p.addStuck(ctx)
	}
}

// process is one life of a worker. Once it is lost, nothing of it reaches store or queue any more,
// whoever in it tries. Callers and the sweep have none: they hold nothing between two requests.
type process struct{ lost bool }

func (q *process) end(string) {
	if q != nil {
		q.lost = true
	}
}

func (q *process) mustLive() {
	if q != nil && q.lost {
		panic(sim.Crash{Where: "what was left of a lost process"})
	}
}

// connect gives a process its way to store and queue.
func (p *performance) connect(of *process) (*tampered, *processQueue) {
	store := &tampered{Store: sim.Store{Inner: p.witness, Faults: p.faults, Lose: of.end, Joint: p.joint()}, p: p, of: of}
	return store, &processQueue{sim.Queue{Inner: p.queue, Faults: p.faults, Lose: of.end}, of}
}

// joint is the queue where it shares the writes of the store: if the story says so, and in every
// second order of one whose requests and messages are otherwise left alone.
func (p *performance) joint() sim.Joint {
	alone := len(p.setting.mischief) == 0 && !p.setting.lost && !p.setting.doubled
	if p.setting.joint || alone && p.seed%2 == 0 {
		return p.queue
	}
	return nil
}

// processQueue is a queue to one process.
type processQueue struct {
	sim.Queue
	of *process
}

func (q *processQueue) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	q.of.mustLive()
	return q.Queue.Send(ctx, w, delay)
}

// storyQueue loses and doubles what is sent, as the story says.
type storyQueue struct {
	*bell
	messages *sim.MemoryQueue
	p        *performance
	sweep    bool // the sender is the sweep
}

func (q *storyQueue) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	if q.p.setting.lost && !q.sweep {
		q.p.w.Note("a wake-up is lost")
		return nil
	}
	times := 1
	if q.p.setting.doubled {
		times = 2
	}
	for range times {
		if err := q.bell.Send(ctx, w, delay); err != nil {
			return err
		}
	}
	return nil
}

// work is one worker: when its process is lost, another one takes its place a little later.
func (p *performance) work(ctx context.Context) {
	for {
		of := &process{}
		store, queue := p.connect(of)
		e := engine.New(engine.Options{Store: store, Waker: queue, Agents: storyAgents{p.cast, of}, Clock: p.w, Random: p.w,
			Lease: lease, Margin: margin, Grain: sweepPeriod, Subscribers: p.cast, Lines: store, Scheduler: p.w, Limits: p.limits()})
		d := delivery.New(delivery.Options{Lines: store, Journal: store, Endpoints: p.cast, Waker: queue, Clock: p.w, Random: p.w, Lease: lease, Margin: margin, Grain: sweepPeriod})
		survive(func() {
			for {
				p.await(ctx, queue)
				of.mustLive()
				p.handle(ctx, e, d, store, queue)
				of.mustLive()
			}
		})
		p.w.Note("its process is lost")
		_ = p.w.Sleep(ctx, 200*time.Millisecond+p.w.Upto(time.Second))
	}
}

// limits are the usual ones. Whoever loses a second process asks for a life more: what happens at
// the limit is a story of its own.
func (p *performance) limits() plans.Limits {
	limits := plans.DefaultLimits
	limits.BodyTries += max(0, len(p.points)-1)
	return limits
}

// await waits for the bell if there is nothing to receive at all; a message that is not visible yet
// rings when it is.
func (p *performance) await(context.Context, *processQueue) {
	for p.queue.messages.Len() == 0 {
		p.w.Await(p.bell.next(), nil)
	}
}

func (p *performance) handle(ctx context.Context, e *engine.Engine, d *delivery.Deliverer, store *tampered, queue *processQueue) {
	rung := p.bell.next()
	t, some, err := queue.Take(ctx, store.Store, e.ClaimFor)
	if err != nil || !some {
		p.w.Await(rung, nil)
		return
	}
	for next := &t; next != nil; {
		t = *next
		report, err := stepOrDeliver(ctx, e, d, t)
		switch {
		case err != nil:
			if !errors.Is(err, engine.ErrUnavailable) && err.Error() != leaseOver {
				p.wrong("a step failed: %v", err)
			}
			p.w.Note("gives the wake-up back: %v", err)
			_ = queue.Nack(ctx, t.Delivery, time.Second, err.Error())
		case !report.Settled:
			_ = queue.Ack(ctx, t.Delivery)
		case report.Next != nil:
			p.done["a step goes on"]++
		}
		next = report.Next
	}
}

func stepOrDeliver(ctx context.Context, e *engine.Engine, d *delivery.Deliverer, t engine.Taken) (report engine.Report, err error) {
	if t.Endpoint != "" {
		_, err = d.Deliver(ctx, t.Wakeup)
		return report, err
	}
	return e.StepFor(ctx, t, func() bool { return true })
}

// sweep looks when there is something to find: looking in vain is nothing that a crash could
// disturb.
func (p *performance) sweep(ctx context.Context) {
	store, queue := p.connect(nil)
	for {
		_ = p.w.Sleep(ctx, storySweep)
		if len(p.db.DueBefore(p.w.Now().UnixMilli(), 1)) == 0 {
			continue
		}
		survive(func() { _ = sweeper.Sweep(ctx, sweeping{store}, sweepingQueue{queue, p.queue}, p.w, storySweep) })
	}
}

// sweeping is the store as the sweep sees it.
type sweeping struct{ *tampered }

func (s sweeping) TakeOverdue(ctx context.Context, now, next int64, limit int) ([]engine.Wakeup, error) {
	if s.p.setting.oneByOne {
		limit = 1
	}
	return s.Store.TakeOverdue(ctx, now, next, limit)
}

// sweepingQueue marks what the sweep sends.
type sweepingQueue struct {
	*processQueue
	q *storyQueue
}

func (s sweepingQueue) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	inner := s.Queue
	inner.Inner = fromSweep{s.q}
	return inner.Send(ctx, w, delay)
}

type fromSweep struct{ *storyQueue }

func (s fromSweep) Send(ctx context.Context, w engine.Wakeup, delay time.Duration) error {
	s.sweep = true
	defer func() { s.sweep = false }()
	return s.storyQueue.Send(ctx, w, delay)
}

// until waits for what must come; false if it does not.
func (p *performance) until(limit time.Duration, there func() bool) bool {
	over := make(chan struct{})
	defer p.w.AfterFunc(limit, func() { close(over) })()
	for !there() {
		if closedNow(over) {
			return false
		}
		p.w.Await(p.changed, over)
	}
	return true
}

func closedNow(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// change tells whoever waits that something is different.
func (p *performance) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// tell plays the steps, then lets everything come to rest.
func (p *performance) tell(ctx context.Context) {
	for _, s := range p.steps {
		p.w.Note("— %s.", s.said)
		if !p.play(ctx, s) {
			p.wrong("%q does not come true: %s", s.said, p.situation())
			return
		}
	}
	p.rest()
	_ = p.w.Sleep(ctx, 6*time.Minute) // whatever is late comes now
	p.rest()
}

func (p *performance) rest() {
	if !p.until(patience, p.atRest) {
		p.wrong("it does not come to rest: %s", p.situation())
	}
}

// atRest: the run is done, or waits for somebody who is not asked by this story.
func (p *performance) atRest() bool {
	h := p.head()
	switch {
	case h.Run == "":
		return len(p.threads) == 0
	case len(h.Inbox) > 0 || len(h.Out) > 0:
		return false
	case !h.Open():
		return true
	}
	return h.Status == core.RunWaiting && !p.asksWhatHappened(h)
}

func (p *performance) asksWhatHappened(h core.Head) bool {
	for _, c := range h.Calls {
		if c.Status == core.CallSuspended && c.Kind == core.KindUnknownOutcome {
			return true
		}
	}
	return false
}

// head is the thread's head, read past all faults.
func (p *performance) head() core.Head { return p.witness.last[p.witness.thread] }

func (p *performance) situation() string { return string(core.Encode(p.head())) }
