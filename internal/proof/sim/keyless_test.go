package sim_test

import (
	"context"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// sayWithoutKey sends a message that cannot be told from its repeat. Its caller does not send it
// again, and nor may anyone on the way.
func (t *thread) sayWithoutKey(ctx context.Context, text string) {
	t.untilOwned(ctx)
	who := t.asker()
	t.said[text] = &saidText{keyless: true}
	q := &question{who: who, text: text, from: t.moment()}
	got, err := once(ctx, func(ctx context.Context) (frontend.Started, error) {
		return t.s.front.Message(context.WithValue(ctx, questionKey{}, q), who, t.id, "", wire.MessageRequest{Input: core.Encode(text)})
	})
	t.s.w.Note("says %q without a key: %v", text, err)
	t.s.referee.message(t.id, q, err)
	t.heard(who, text, got, err)
}

// untilOwned waits a while for somebody to work on the thread: what is stored then is soon taken
// up, and a repeat of it comes too late.
func (t *thread) untilOwned(ctx context.Context) {
	for range 60 {
		if h, err := t.s.db.Load(ctx, t.s.tenant, t.id); err != nil || h.Lease != 0 && h.Open() {
			return
		}
		_ = t.s.w.Sleep(ctx, 20*time.Millisecond+t.s.w.Upto(100*time.Millisecond))
	}
}

// startOn starts the next run of a thread, or sends its input to the run that is open if the
// request says what becomes of that; with a key or without, and now and then with permissions of
// its own.
func (t *thread) startOn(ctx context.Context, text string) {
	who, on := t.asker(), []string{"", "", "queue", "abandon"}[t.pick(4)]
	req := wire.StartRequest{Agent: fmt.Sprintf("agent-%d", t.n), ThreadID: t.id, Input: core.Encode(text), OnPending: on}
	if t.pick(3) == 0 {
		req.Permissions = core.Encode(map[string][]string{"deny": {toolNames[t.pick(len(toolNames))]}})
	}
	t.said[text] = &saidText{}
	t.s.watched.patient[text] = on == "queue"
	start := func(key string) func(context.Context) (frontend.Started, error) {
		return func(ctx context.Context) (frontend.Started, error) {
			q := &question{who: who, text: text, from: t.moment()}
			got, err := t.s.front.Start(context.WithValue(ctx, questionKey{}, q), who, key, req)
			t.s.w.Note("starts on the thread with %q, key %q: %v", text, key, err)
			return got, err
		}
	}
	if t.pick(2) == 0 {
		t.said[text].keyless = true
		got, err := once(ctx, start(""))
		t.heard(who, text, got, err)
		return
	}
	keyed := start("on " + text[:min(len(text), 40)])
	got, err := persist(ctx, t.s, keyed)
	run := t.heard(who, text, got, err)
	t.sent = append(t.sent, func(ctx context.Context) {
		again, err := once(ctx, keyed)
		if id := t.heard(who, text, again, err); id != "" && run != "" && id != run {
			t.s.wrong("one key of a start stands for %s and %s", run, id)
		}
	})
}
