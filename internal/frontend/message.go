package frontend

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// Message gives a thread a new turn: its open run gets the message, and if there is none, the next run starts with it. A run
// that waits for an answer a message is not refuses it with [CodeRunOpen]. With a key it is stored once.
func (f *Frontend) Message(ctx context.Context, c Caller, thread, key string, req wire.MessageRequest) (Started, error) {
	b, err := f.readMessage(thread, key, req)
	if err != nil {
		return Started{}, err
	}
	head, err := f.thread(ctx, c, thread)
	if err != nil {
		return Started{}, err
	}
	for n := range lostRaces {
		var s Started
		if head.Open() {
			s, head, err = f.deliver(ctx, c, head, b)
		} else {
			b.agent = head.Agent
			s, head, err = f.follow(ctx, c, head, b)
		}
		if !errors.Is(err, errMoved) {
			return s, err
		}
		if head.End != nil && head.Open() { // it is about to be done
			if err := f.pause(ctx, firstPause<<n); err != nil {
				return Started{}, err
			}
			if head, err = f.thread(ctx, c, thread); err != nil {
				return Started{}, err
			}
		}
	}
	return Started{}, contended()
}

func (f *Frontend) readMessage(thread, key string, req wire.MessageRequest) (beginning, error) {
	b, err := f.begin("message", key, req.OnPending, req.Input)
	if err != nil {
		return b, err
	}
	b.digest, err = digest(struct {
		Thread string `json:"thread"`
		wire.MessageRequest
	}{thread, req})
	return b, err
}

// deliver puts the message into the inbox of the open run. [errMoved], with the head that is there now, if that run ended.
func (f *Frontend) deliver(ctx context.Context, c Caller, head core.Head, b beginning) (Started, core.Head, error) {
	if len(b.parts) > f.limits.Inline {
		if s, known, err := f.known(ctx, c, b); known || err != nil {
			return s, head, err
		}
		if err := f.whyNot(head.Run, head); !errors.Is(err, errMoved) {
			return Started{}, head, err
		}
	}
	id := b.nonce
	if b.key != "" {
		id = core.Digest([]byte(b.record))[:24]
	}
	signal, err := f.value(ctx, c.Tenant, head.Thread, core.Signal{Kind: core.SignalMessage, ID: b.nonce, By: c.By, At: f.now()}, b.parts)
	if err != nil {
		return Started{}, head, err
	}
	w, err := f.send(ctx, engine.SignalRequest{Tenant: c.Tenant, Thread: head.Thread, Run: head.Run, InboxKey: core.MessageKey(id),
		Signal: signal, MaxMessages: f.limits.Messages, NobodyWaits: true,
		Key: f.key(c, b.key, b.record, head.Run, b.digest), Due: f.due(), Wake: &engine.Delay{}})
	var taken *engine.KeyTakenError
	switch {
	case err == nil, errors.Is(err, engine.ErrRefused) && w.Head.Inbox[core.MessageKey(id)].ID == b.nonce:
		f.wake(ctx, c.Tenant, head.Thread, w.Woken)
		run, err := f.show(ctx, place{head: w.Head, record: w.Head.Record(), current: true})
		return Started{Run: run, New: true}, w.Head, err
	case errors.As(err, &taken):
		s, err := f.keyTaken(ctx, c, taken.Key, b.digest)
		return s, head, err
	case errors.Is(err, engine.ErrRefused):
		return Started{}, w.Head, f.whyNot(head.Run, w.Head)
	}
	return Started{}, head, err
}

// whyNot finds in the head that refused a message why it did.
func (f *Frontend) whyNot(run string, h core.Head) error {
	switch {
	case h.Run != run || !h.Open() || h.End != nil:
		return errMoved
	case h.Pending > 0:
		return &Error{Code: CodeRunOpen, RunID: h.Run, Detail: "the thread's run waits for a decision; decide, or cancel the run, first"}
	case len(h.Inbox) >= f.limits.Messages:
		return &Error{Code: CodeInboxFull, Detail: "too many messages wait for the run", RetryAfter: time.Second}
	}
	return errMoved
}

// Cancel asks for the end of a run. Asking again while that is under way changes nothing. [CodeRunDone] if it ended before.
func (f *Frontend) Cancel(ctx context.Context, c Caller, run string) (wire.Run, error) {
	p, err := f.find(ctx, c, run)
	if err != nil {
		return wire.Run{}, err
	}
	if !p.current || !p.head.Open() || p.head.End != nil {
		return wire.Run{}, runDone()
	}
	w, err := f.send(ctx, engine.SignalRequest{Tenant: c.Tenant, Thread: p.head.Thread, Run: run, InboxKey: core.KeyCancel,
		Signal: core.Signal{Kind: core.SignalCancel, By: c.By, At: f.now()}, Due: f.due(), Wake: &engine.Delay{}})
	if err != nil && !errors.Is(err, engine.ErrRefused) {
		return wire.Run{}, err
	}
	if _, there := w.Head.Inbox[core.KeyCancel]; w.Head.Run != run || err != nil && !there {
		return wire.Run{}, runDone()
	}
	f.wake(ctx, c.Tenant, p.head.Thread, w.Woken)
	return f.show(ctx, place{head: w.Head, record: w.Head.Record(), current: true})
}

func runDone() *Error { return refuse(CodeRunDone, "the run is done") }
