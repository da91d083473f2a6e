package frontend

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Message gives a thread a new turn: its open run gets the message, and if there is none, the next
// run starts with it. If the run waits for something that a message cannot answer, the result is
// [refusal.CodeRunOpen], unless the message says what to do: the run gives up what it waits for, or
// the message waits for the run's end. With a key it is stored once. What it supplies is for the
// run that it starts. An open run keeps its own: people have approved calls on that.
func (f *Frontend) Message(ctx context.Context, c Caller, thread, key string, req wire.MessageRequest) (Started, error) {
	b, err := f.readMessage(c, thread, key, req)
	if err != nil {
		return Started{}, err
	}
	head, err := f.LoadThread(ctx, c.Tenant, thread)
	if err != nil {
		return Started{}, err
	}
	return f.goOn(ctx, c, head, b)
}

// MessageKept is [Frontend.Message] for a caller who has just answered what the run waited for, and
// can't know what it has asked since. The message answers nothing and gives nothing up: a run that
// waits keeps it until it goes on.
//
//	answers stored ── message stored ── the run takes both
//	answers stored ── the run takes them and asks: pay 60? ── message: pay 60 is open
func (f *Frontend) MessageKept(ctx context.Context, c Caller, thread, key string, req wire.MessageRequest) (Started, error) {
	req.OnPending = ""
	b, err := f.readMessage(c, thread, key, req)
	if err != nil {
		return Started{}, err
	}
	b.kept = true
	head, err := f.LoadThread(ctx, c.Tenant, thread)
	if err != nil {
		return Started{}, err
	}
	return f.goOn(ctx, c, head, b)
}

func (f *Frontend) readMessage(c Caller, thread, key string, req wire.MessageRequest) (beginning, error) {
	b, err := f.begin(c, "message", key, req.OnPending, req.Input)
	if err != nil {
		return b, err
	}
	b.message = true
	if b.given, err = readGiven(req.Supplied); err != nil {
		return b, err
	}
	if b, err = b.named(thread, req.MessageID); err != nil {
		return b, err
	}
	if req.MessageID != "" {
		req.Supplied = wire.Supplied{} // a repeat comes with what the client has then
	}
	b.digest, err = digest(struct {
		Thread string `json:"thread"`
		wire.MessageRequest
	}{thread, req})
	return b, err
}

// deliver puts the message into the inbox of the open run. [errMoved], with the head that is there
// now, if that run ended.
func (f *Frontend) deliver(ctx context.Context, c Caller, head core.Head, b beginning) (Started, core.Head, error) {
	why := f.whyNot(head.Run, head, b)
	if refused := !errors.Is(why, errMoved); refused || len(b.parts) > f.limits.Inline {
		if s, known, err := f.known(ctx, c, b); known || err != nil {
			return s, head, err
		}
		if refused {
			return Started{}, head, why
		}
	}
	leave, s, known, err := f.roomInRun(ctx, c, b, head)
	if known || err != nil {
		return s, head, err
	}
	defer leave()
	id := b.nonce
	if b.key != "" {
		id = core.Digest([]byte(b.record))[:24]
	}
	pinned := engine.Definition{Tenant: head.Tenant, Name: head.Agent, Digest: head.Version}
	if err := f.MayStart(ctx, c, pinned); err != nil {
		return Started{}, head, err
	}
	question, err := f.question(ctx, head, b)
	if err != nil {
		if s, known, knownErr := f.known(ctx, c, b); known || knownErr != nil {
			return s, head, knownErr
		}
		return Started{}, head, err
	}
	signal, err := f.offload(ctx, c.Tenant, head.Thread, core.Signal{Kind: core.SignalMessage, ID: b.nonce, Msg: b.messageID, Value: b.parts,
		By: c.By, Via: c.Via, At: f.Now(), On: b.on, Sus: question})
	if err != nil {
		return Started{}, head, err
	}
	w, err := f.send(ctx, engine.SignalRequest{Tenant: c.Tenant, Thread: head.Thread, Run: head.Run, InboxKey: core.MessageKey(id),
		Signal: signal, MaxMessages: f.limits.Messages, NobodyWaits: b.refuses(),
		Key: f.key(c, b.key, b.record, head.Run, b.digest), Due: f.due(), Wake: &engine.Delay{}})
	var taken *engine.KeyTakenError
	switch {
	case err == nil, errors.Is(err, engine.ErrRefused) && w.Head.Inbox[core.MessageKey(id)].ID == b.nonce:
		f.wake(ctx, c.Tenant, head.Thread, w.Woken)
		run, err := f.Show(ctx, journal.Place{Head: w.Head, Record: w.Head.Record(), Current: true})
		return Started{Run: run, New: true}, w.Head, err
	case errors.As(err, &taken):
		s, err := f.keyTaken(ctx, c, taken.Key, b.digest)
		return s, head, err
	case errors.Is(err, engine.ErrRefused):
		return Started{}, w.Head, f.whyNot(head.Run, w.Head, b)
	}
	return Started{}, head, err
}

// whyNot finds in a head why it takes no message, or [errMoved] if it is not that. How many
// messages are held is looked at before one is stored and not when it is: a few more may come in at
// once.
func (f *Frontend) whyNot(run string, h core.Head, b beginning) error {
	refuses := b.refuses()
	switch {
	case !b.message && refuses && h.Open():
		return runOpen(h.Run, "the thread's run is still open; wait until it is done, or set on_pending")
	case h.Run != run || !h.Open() || h.End != nil:
		return errMoved
	case !b.message && !b.fits(h):
		return runOpen(h.Run, "the thread's open run takes the input as a message, but no other agent, metadata, permissions, memory, client_tools, context or state; send only the input, or wait until the run is done")
	case b.on == core.PendingQueue && b.given.digest != "":
		return runOpen(h.Run, "a queued message supplies no client_tools, context or state; omit them, or wait until the run is done")
	case refuses && h.Pending > 0:
		return runOpen(h.Run, "the thread's run waits for a decision; submit one, cancel the run, or set on_pending to abandon or queue")
	case b.on == core.PendingQueue && len(h.Held) >= f.limits.Held:
		return inboxFull("too many messages are queued for the end of the run; send this one again after Retry-After")
	case len(h.Inbox) >= f.limits.Messages:
		return inboxFull("too many messages are queued for the run; send this one again after Retry-After")
	}
	return errMoved
}

func runOpen(run, detail string) *refusal.Error {
	return &refusal.Error{Code: refusal.CodeRunOpen, RunID: run, Detail: detail}
}

func inboxFull(detail string) *refusal.Error {
	return &refusal.Error{Code: refusal.CodeInboxFull, Detail: detail, RetryAfter: time.Second}
}

// Cancel asks for the end of a run. Asking again, while that is under way or after it, changes
// nothing and is answered alike: the reply to the first may have been lost. [refusal.CodeRunDone]
// if the run ended otherwise.
func (f *Frontend) Cancel(ctx context.Context, c Caller, run string) (wire.Run, error) {
	p, err := f.Find(ctx, c.Tenant, run)
	if err != nil {
		return wire.Run{}, err
	}
	if !p.Accepts() {
		return f.cancelled(ctx, p)
	}
	w, err := f.send(ctx, engine.SignalRequest{Tenant: c.Tenant, Thread: p.Head.Thread, Run: run, InboxKey: core.KeyCancel,
		Signal: core.Signal{Kind: core.SignalCancel, By: c.By, Via: c.Via, At: f.Now()}, Due: f.due(), Wake: &engine.Delay{}})
	if err != nil && !errors.Is(err, engine.ErrRefused) {
		return wire.Run{}, err
	}
	if _, there := w.Head.Inbox[core.KeyCancel]; w.Head.Run != run || err != nil && !there {
		if p, err = f.moved(ctx, c, p, w.Head); err != nil {
			return wire.Run{}, err
		}
		return f.cancelled(ctx, p)
	}
	f.wake(ctx, c.Tenant, p.Head.Thread, w.Woken)
	return f.Show(ctx, journal.Place{Head: w.Head, Record: w.Head.Record(), Current: true})
}

// cancelled is the answer to a cancel of a run that takes nothing any more.
func (f *Frontend) cancelled(ctx context.Context, p journal.Place) (wire.Run, error) {
	if end := p.Record.End; end == nil || end.Kind != core.Cancelled {
		return wire.Run{}, runDone()
	}
	return f.Show(ctx, p)
}

func runDone() *refusal.Error { return refusal.New(refusal.CodeRunDone, "the run is done") }
