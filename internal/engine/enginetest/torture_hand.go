package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

const (
	tortureHands   = 2      // at work in each process
	tortureThreads = 8      // that all processes quarrel over
	postTenant     = "post" // of messages that are counted and wake no thread
)

// Run works on the store until the process is killed. It returns only with an error; an answer that
// a store may give is not one. now is the time in milliseconds.
func (w TortureWork) Run(ctx context.Context, store TortureStore, now func() int64) error {
	log, err := os.OpenFile(w.Log, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for i := range tortureHands {
		seed := uint64(w.Worker)<<40 | uint64(w.Life)<<8 | uint64(i)
		h := &hand{ctx: ctx, store: store, log: log, now: now, name: fmt.Sprintf("%d.%d.%d", w.Worker, w.Life, i),
			rng: rand.New(rand.NewPCG(w.Seed, seed)), seen: map[string]position{}}
		go func() { failed <- h.work() }()
	}
	return <-failed
}

// hand does one thing after the other.
type hand struct {
	ctx   context.Context
	store TortureStore
	log   *os.File

	now  func() int64
	name string
	rng  *rand.Rand
	made int
	seen map[string]position
}

func (h *hand) work() error {
	jobs := []struct {
		weight int
		do     func() error
	}{
		{6, h.receive}, {5, h.signal}, {2, h.startThread}, {3, h.startNext}, {3, h.workSome}, {2, h.post}, {1, h.sweep},
	}
	total := 0
	for _, j := range jobs {
		total += j.weight
	}
	for {
		n := h.rng.IntN(total)
		for _, j := range jobs {
			if n -= j.weight; n >= 0 {
				continue
			}
			if err := j.do(); err != nil {
				return err
			}
			break
		}
	}
}

// tell writes a line down before anything else is done. What one write call has put into a file
// outlives the process.
func (h *hand) tell(line told) error {
	line.By = h.name
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = h.log.Write(append(text, '\n'))
	return err
}

// fresh returns a text that is unique in the test.
func (h *hand) fresh() string {
	h.made++
	return fmt.Sprintf("%s.%d", h.name, h.made)
}

func (h *hand) someThread() string { return numbered("thr_", h.rng.IntN(tortureThreads)) }

// expected says whether an error is an answer that a store may give here; [engine.ErrUnavailable]
// may always come.
func expected(err error, allowed ...error) bool {
	for _, one := range append(allowed, engine.ErrUnavailable) {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// look holds a head to the one that was seen before it. Heads of requests that were sent one after
// the other never go back.
func (h *hand) look(head core.Head) error {
	if head.Thread == "" {
		return nil
	}
	at := positionOf(head)
	if before := h.seen[head.Thread]; at.behind(before) {
		return h.tell(told{What: toldBroken, Thread: head.Thread, Head: at, Text: fmt.Sprintf("the head went back from %+v to %+v", before, at)})
	}
	h.seen[head.Thread] = at
	return nil
}

func positionOf(h core.Head) position { return position{h.Epoch, h.Rev, h.Seq, h.Sigs} }

// startThread starts a thread that others start at the same time, under one key: its id is made of
// it.
func (h *hand) startThread() error {
	thread := h.someThread()
	if h.rng.IntN(2) == 0 {
		thread = fmt.Sprintf("thr_k%d", h.now()/50)
	}
	head := h.beginning(created(thread))
	w, err := h.store.Start(h.ctx, engine.StartRequest{Head: head, Due: h.now() + 200, Wake: &engine.Delay{}})
	return h.started(head, "", w, err)
}

// beginning is a head with an input that is unique in the test.
func (h *hand) beginning(head core.Head) core.Head {
	head.Inbox = map[string]core.Signal{core.KeyStart: message(h.fresh())}
	return head
}

// startNext starts the next run of a thread whose run is done. Now and then the key is one that was
// used for an earlier run.
func (h *hand) startNext() error {
	prior, err := h.store.Load(h.ctx, tenant, h.someThread())
	if err != nil || prior.Open() {
		return h.observed(prior, err, engine.ErrNotFound)
	}
	head := h.beginning(following(prior, core.RunID(prior.Thread, prior.Rev+1)))
	key := "after " + prior.Run
	if h.rng.IntN(3) == 0 {
		key = fmt.Sprintf("%s, part %d", prior.Thread, prior.Rev/50)
	}
	w, err := h.store.Start(h.ctx, engine.StartRequest{Head: head, Prior: &prior, Due: h.now() + 200, Wake: &engine.Delay{},
		Key: &engine.Key{Tenant: tenant, Key: key, Run: head.Run, Digest: "d"}})
	return h.started(head, key, w, err)
}

func (h *hand) started(head core.Head, key string, w engine.Written, err error) error {
	var taken *engine.KeyTakenError
	if errors.As(err, &taken) {
		return h.tell(told{What: toldTaken, Thread: head.Thread, Run: taken.Key.Run, Key: key})
	}
	if err == nil {
		line := told{What: toldStart, Thread: head.Thread, Run: head.Run, Key: key, ID: head.Inbox[core.KeyStart].ID, Head: positionOf(w.Head)}
		if err := h.tell(line); err != nil {
			return err
		}
	}
	return h.observed(w.Head, err, engine.ErrRefused)
}

// observed looks at the head that came with an answer; an error that is not allowed ends the
// process, which is a failure.
func (h *hand) observed(head core.Head, err error, allowed ...error) error {
	if err != nil && !expected(err, allowed...) {
		return err
	}
	if errors.Is(err, engine.ErrUnavailable) {
		return nil
	}
	return h.look(head)
}

// signal leaves something for a thread: a decision if a call waits, else a message under a key.
func (h *hand) signal() error {
	head, err := h.store.Load(h.ctx, tenant, h.someThread())
	if err != nil || !head.Open() {
		return h.observed(head, err, engine.ErrNotFound)
	}
	id := h.fresh()
	req := say(head, id)
	if call := head.Calls["c1"]; call.Status == core.CallSuspended && h.rng.IntN(3) > 0 {
		req = decide(head, call.Sus, id)
	} else {
		req.Key, req.MaxMessages = &engine.Key{Tenant: tenant, Key: id, Run: head.Run, Digest: "d"}, 20
	}
	req.Due, req.Wake = h.now()+200, &engine.Delay{}
	w, err := h.store.Signal(h.ctx, req)
	line := told{What: toldSignal, Thread: head.Thread, Run: head.Run, ID: id, Key: req.InboxKey, Head: positionOf(w.Head)}
	switch {
	case err == nil:
		if err := h.tell(line); err != nil {
			return err
		}
	case errors.Is(err, engine.ErrRefused):
		line.What = toldRefused
		if err := h.tell(line); err != nil {
			return err
		}
	}
	return h.observed(w.Head, err, engine.ErrRefused)
}

// post sends a message that is counted.
func (h *hand) post() error {
	id := h.fresh()
	err := h.store.Send(h.ctx, engine.Wakeup{Tenant: postTenant, Thread: id}, time.Duration(h.rng.IntN(50))*time.Millisecond)
	if err == nil {
		return h.tell(told{What: toldSent, ID: id})
	}
	return h.observed(core.Head{}, err)
}

// receive does what messages ask for, and takes them out of the queue.
func (h *hand) receive() error {
	got, err := h.store.Receive(h.ctx, 3)
	if err != nil {
		return h.observed(core.Head{}, err)
	}
	for _, d := range got {
		if d.Tenant != postTenant {
			if err := h.claimAndCommit(d.Thread); err != nil {
				return err
			}
		}
		if err := h.ack(d); err != nil {
			return err
		}
	}
	return nil
}

func (h *hand) ack(d engine.Delivery) error {
	if d.Tenant != postTenant {
		return h.observed(core.Head{}, h.store.Ack(h.ctx, d), engine.ErrRefused)
	}
	if err := h.tell(told{What: toldAcking, ID: d.Thread}); err != nil {
		return err
	}
	err := h.store.Ack(h.ctx, d)
	if err == nil {
		return h.tell(told{What: toldAcked, ID: d.Thread})
	}
	return h.observed(core.Head{}, err, engine.ErrRefused)
}

// sweep wakes what is due.
func (h *hand) sweep() error {
	now := h.now()
	taken, err := h.store.TakeOverdue(h.ctx, now, now+200, 20)
	for _, w := range taken {
		if err := h.observed(core.Head{}, h.store.Send(h.ctx, w, 0)); err != nil {
			return err
		}
	}
	return h.observed(core.Head{}, err)
}

func (h *hand) workSome() error { return h.claimAndCommit(h.someThread()) }
