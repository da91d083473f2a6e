package frontend

import (
	"context"
	"crypto/subtle"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// News has a run look at the task of its remote agent, which says that there is news. The token of
// the run alone opens this: [refusal.CodeRunNotFound] for a wrong one, too. Nothing is stored if
// the run has ended, knows already, or looks soon anyway.
func (f *Frontend) News(ctx context.Context, tenant, run, token string) error {
	p, err := f.Find(ctx, tenant, run)
	if err != nil {
		return err
	}
	work := p.Record.Peer
	if work == nil || work.Token == "" || subtle.ConstantTimeCompare([]byte(work.Token), []byte(token)) != 1 {
		return refusal.New(refusal.CodeRunNotFound, "the run doesn't exist; check its id")
	}
	if !p.Accepts() || looksSoon(p.Head, *work, f.Now()) {
		return nil
	}
	w, err := f.send(ctx, engine.SignalRequest{Tenant: tenant, Thread: p.Head.Thread, Run: run, InboxKey: core.KeyNews,
		Signal: core.Signal{Kind: core.SignalNews, Via: core.ViaAgent, At: f.Now()}, Due: f.due(), Wake: &engine.Delay{}})
	switch {
	case errors.Is(err, engine.ErrRefused): // the run ended, or others were first
		return nil
	case err != nil:
		return err
	}
	f.wake(ctx, tenant, p.Head.Thread, w.Woken)
	return nil
}

// Resubscribe has the owner of a run, if there is one, read again who is notified of it: the run
// doesn't ask or end unnoticed by an endpoint that was added before. Others who claim the run read
// it anyway.
func (f *Frontend) Resubscribe(ctx context.Context, c Caller, p journal.Place) error {
	if !p.Accepts() || p.Head.Lease == 0 {
		return nil
	}
	if len(p.Head.Inbox) >= f.limits.Messages {
		return inboxFull("too much is queued for the run; send this again after Retry-After")
	}
	w, err := f.send(ctx, engine.SignalRequest{Tenant: c.Tenant, Thread: p.Head.Thread, Run: p.Record.Run, InboxKey: notice.NewsKey(f.Random.Text(8)),
		Signal: core.Signal{Kind: core.SignalNews, By: c.By, Via: c.Via, At: f.Now()}, Due: f.due(), Wake: &engine.Delay{}})
	switch {
	case errors.Is(err, engine.ErrRefused): // the run ended
		return nil
	case err != nil:
		return err
	}
	f.wake(ctx, c.Tenant, p.Head.Thread, w.Woken)
	return nil
}

// looksSoon says that what is new now will be seen soon: the run knows that there is something, or
// its next look is due.
func looksSoon(h core.Head, work peer.Work, now int64) bool {
	_, known := h.Inbox[core.KeyNews]
	return known || h.Lease == 0 && h.NotBefore <= now || work.Hastened(h.NotBefore, now)
}
