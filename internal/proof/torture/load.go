package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

// world is what callers share.
type world struct {
	door    *door
	kept    *Promises
	over    chan struct{} // closed when nothing new is begun
	session string        // makes keys of this torture its own
	seed    uint64
	agents  []string
	input   string // what is said to foreign agents
	own     bool   // the agents are this package's own
	shared  bool   // others may use the server, too
	ledger  string // file of effects; "" for none
}

// How often callers do something out of the ordinary: one time in so many.
const (
	oneInRepeatedStart = 8
	oneInMessage       = 4
	oneInAfterthought  = 3
	oneInCancel        = 40
)

const (
	mostMessages = 4 // in a conversation, beside its input
	// how often a run that works is looked at; a read that is held would be told later
	lookEvery    = 20 * time.Millisecond
	requestLimit = 15 * time.Second // after which a request counts as unanswered
)

// work lets n callers have conversations until it is over, and finish what they have begun.
func (w *world) work(ctx context.Context, n int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for i := range n {
		c := &caller{world: w, n: i + 1, random: rand.New(rand.NewPCG(w.seed, uint64(i+1)))}
		wg.Go(func() {
			if err := c.converse(ctx); err != nil {
				stop(fmt.Errorf("caller %d: %w", c.n, err))
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// caller has one conversation after the other.
type caller struct {
	*world
	n      int
	random *rand.Rand
	made   int // texts, keys and ids made so far
}

func (c *caller) chance(oneIn int) bool { return c.random.IntN(oneIn) == 0 }

// mark is a text that nobody else has.
func (c *caller) mark(sort string) string {
	c.made++
	return fmt.Sprintf("%s-%s-%d-%d", c.session, sort, c.n, c.made)
}

// text is something to say that the agents understand, with a mark by which it is found again.
func (c *caller) text(mark string) string {
	if !c.own {
		return c.input + " [" + mark + "]"
	}
	order := func() string { return ownOrders[c.random.IntN(len(ownOrders))] }
	amount := func() int { return 1 + c.random.IntN(mostPaid) }
	return fmt.Sprintf("pay %s %d and %s %d [%s]", order(), amount(), order(), amount(), mark)
}

func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // a string always has a JSON form
	return raw
}

// converse has one conversation after another until the time is over, and one at least, however
// short that is.
func (c *caller) converse(ctx context.Context) error {
	for first := true; ; first = false {
		select {
		case <-c.over:
			if !first {
				return nil
			}
		case <-ctx.Done():
			return nil // the first reason is kept
		default:
		}
		t, err := c.start(ctx)
		if err == nil {
			err = t.follow(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// talk is one conversation.
type talk struct {
	*caller
	thread   string
	run      string // the newest
	messages int    // that may still be sent
	seen     string // the state it was seen in
}

// start begins a conversation; now and then the start is sent once more although it was answered.
func (c *caller) start(ctx context.Context) (*talk, error) {
	key := c.mark("start")
	text := c.text(key)
	s := Start{Caller: c.n, Key: key, Text: text,
		Request: wire.StartRequest{Agent: c.agents[c.random.IntN(len(c.agents))], Input: quoted(text)}}
	for again := true; again; again = c.chance(oneInRepeatedStart) {
		run, err := ask(ctx, c.door, func(api *client.Client) (wire.Run, error) { return api.StartRun(ctx, s.Request, s.Key) })
		if err != nil {
			return nil, fmt.Errorf("starting a run of %s: %w", s.Request.Agent, err)
		}
		s.Run, s.Thread = run.ID, run.ThreadID
		note(c.kept, &c.kept.Starts, s)
	}
	return &talk{caller: c, thread: s.Thread, run: s.Run, messages: c.random.IntN(mostMessages + 1)}, nil
}

// follow does what the conversation needs until all its runs are done.
func (t *talk) follow(ctx context.Context) error {
	for {
		run, err := ask(ctx, t.door, func(api *client.Client) (wire.Run, error) { return api.Run(ctx, t.run) })
		code, _, err := refusal(err)
		if err != nil {
			return fmt.Errorf("reading run %s: %w", t.run, err)
		}
		if code != "" {
			t.gone("run "+t.run, code)
			return nil
		}
		if run.Status != "done" {
			if err := t.attend(ctx, run); err != nil {
				return fmt.Errorf("run %s: %w", run.ID, err)
			}
			continue
		}
		over, err := t.next(ctx)
		if over || err != nil {
			return err
		}
	}
}

// gone notes that the server does not know something that it has acknowledged.
func (t *talk) gone(what, code string) {
	note(t.kept, &t.kept.Broken, Violation{Rule: "what was started can be read", To: t.n,
		Promised: what + " was acknowledged", Found: "the server answers " + code})
}

// next goes on with the run that a message began; over says that there is none.
func (t *talk) next(ctx context.Context) (over bool, err error) {
	thread, err := ask(ctx, t.door, func(api *client.Client) (wire.Thread, error) { return api.Thread(ctx, t.thread) })
	code, _, err := refusal(err)
	switch {
	case err != nil:
		return false, fmt.Errorf("reading thread %s: %w", t.thread, err)
	case code != "":
		t.gone("thread "+t.thread, code)
		return true, nil
	case thread.RunID != t.run:
		t.run = thread.RunID
		return false, nil
	case t.messages == 0:
		return true, nil
	}
	return false, t.saying(ctx, "")()
}

// attend acts once on each state that a run is seen in.
func (t *talk) attend(ctx context.Context, run wire.Run) error {
	seen := run.ID + run.Status + run.UpdatedAt.String()
	for _, p := range run.Pending { // a run below may have begun to wait
		seen += p.Suspension.ID
	}
	if t.seen == seen {
		return machine.Sleep(ctx, lookEvery)
	}
	t.seen = seen
	return t.act(ctx, run)
}

// act answers whatever the run waits for. At times it says something as well, or wants the run to
// end. All of it is sent at once, so that it meets in the inbox while a worker takes things out.
func (t *talk) act(ctx context.Context, run wire.Run) error {
	var sends []func() error
	if t.messages > 0 && t.chance(oneInMessage) {
		sends = append(sends, t.saying(ctx, t.onPending()))
	}
	if t.chance(oneInCancel) {
		sends = append(sends, func() error { return t.cancel(ctx, run.ID) })
	}
	for _, p := range run.Pending {
		if len(p.Path) > 0 && t.chance(oneInCancel) {
			sends = append(sends, func() error { return t.cancel(ctx, waits(run.ID, p)) })
		}
		answers, err := t.answers(ctx, run.ID, p)
		if err != nil {
			return err
		}
		sends = append(sends, answers...)
	}
	if err := atOnce(sends); err != nil || t.messages == 0 || !t.chance(oneInAfterthought) {
		return err
	}
	return t.saying(ctx, t.onPending())() // it meets the run while that works on the answers
}

func (t *talk) onPending() string { return []string{"", "abandon", "queue"}[t.random.IntN(3)] }

// atOnce does all of it at the same time and returns the first error.
func atOnce(sends []func() error) error {
	errs := make([]error, len(sends))
	var wg sync.WaitGroup
	for i, send := range sends {
		wg.Go(func() { errs[i] = send() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (t *talk) cancel(ctx context.Context, run string) error {
	_, err := ask(ctx, t.door, func(api *client.Client) (wire.Run, error) { return api.Cancel(ctx, run) })
	code, _, err := refusal(err)
	if err != nil {
		return fmt.Errorf("cancelling: %w", err)
	}
	note(t.kept, &t.kept.Cancels, Cancel{Caller: t.n, Run: run, Accepted: code == ""})
	return nil
}

// saying is what sends a message. A run that waits may refuse it.
func (t *talk) saying(ctx context.Context, onPending string) func() error {
	t.messages--
	key := t.mark("say")
	m := Message{Caller: t.n, Thread: t.thread, Text: t.text(key)}
	req := wire.MessageRequest{Input: quoted(m.Text), OnPending: onPending}
	return func() error {
		run, err := ask(ctx, t.door, func(api *client.Client) (wire.Run, error) { return api.SendMessage(ctx, m.Thread, req, key) })
		if m.Refusal, _, err = refusal(err); err != nil {
			return fmt.Errorf("sending a message: %w", err)
		}
		if m.Refusal == "" {
			t.run = run.ID
		}
		note(t.kept, &t.kept.Messages, m)
		return nil
	}
}
