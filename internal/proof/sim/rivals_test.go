package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// rival does what callers should not, and what they may.
func (t *thread) rival(ctx context.Context) {
	for n := range t.s.plan.acts + t.pick(2*t.s.plan.acts) {
		_ = t.s.w.Sleep(ctx, t.s.w.Upto(8*time.Second))
		if t.id == "" || len(t.runs) == 0 || !t.s.w.Happens("act", 1) {
			continue
		}
		t.act(ctx, n)
	}
}

func (t *thread) pick(n int) int { return int(t.s.w.Upto(time.Duration(n - 1))) }

func (t *thread) act(ctx context.Context, n int) {
	switch run := t.runs[t.pick(len(t.runs))]; t.pick(21) {
	case 0:
		if t.pick(4) == 0 {
			t.cancel(ctx, run)
		}
	case 1, 2:
		t.say(ctx, t.asker(), fmt.Sprintf("rival %d %s", n, t.s.w.Text(8)), t.pick(2) == 0)
	case 3, 4:
		if len(t.sent) > 0 {
			t.sent[t.pick(len(t.sent))](ctx)
		}
	case 5:
		_, _ = t.look(ctx, run)
	case 6:
		t.race(ctx)
	case 7, 10, 11:
		for range 1 + t.pick(3) {
			t.sayWithoutKey(ctx, t.lengthy(fmt.Sprintf("keyless %d %s", n, t.s.w.Text(8))))
		}
	case 8:
		t.startOn(ctx, t.lengthy(fmt.Sprintf("on the thread %d %s", n, t.s.w.Text(4))))
	case 9:
		t.contradict(ctx)
	case 17:
		t.browse(ctx)
	case 20:
		if n := len(t.undoable); n > 0 {
			t.takeBack(ctx, t.undoable[n-1-min(t.pick(n), t.pick(n))])
		}
	case 18:
		t.byLink(ctx)
	case 19:
		t.trespass(ctx)
	default:
		t.meddle(ctx)
	}
}

func (t *thread) cancel(ctx context.Context, run string) {
	t.unwanted[run] = true
	who := t.someone()
	request := func(ctx context.Context) (wire.Run, error) {
		from := t.moment()
		got, err := t.s.front.Cancel(ctx, who, run)
		t.s.w.Note("cancels %s: %v", run, err)
		t.s.referee.closing(t.id, cancelling, run, "", from, err)
		return got, err
	}
	if _, err := persist(ctx, t.s, request); err == nil {
		t.cancels[run] = true
	}
	t.sent = append(t.sent, func(ctx context.Context) {
		if _, err := once(ctx, request); err == nil {
			t.cancels[run] = true
		}
	})
}

// meddle decides anything, in any way, on a suspension that somebody once saw, by its id or by its
// call's.
func (t *thread) meddle(ctx context.Context) {
	if len(t.seen) == 0 {
		return
	}
	p := t.seen[len(t.seen)-1-min(t.pick(len(t.seen)), t.pick(len(t.seen)))]
	run := t.of[p.Suspension.ID]
	d := wire.Decision{Target: p.Suspension.ID, DecisionID: "rival " + t.s.w.Text(8)}
	switch t.pick(7) {
	case 0:
		d.Target = p.CallID
	case 1:
		run = t.runs[t.pick(len(t.runs))]
	case 2:
		d.DecisionID = ""
	case 3:
		// there may be one, now or soon
		d.Target = []string{"c", "c0", "call", "call_2"}[t.pick(4)]
	}
	t.anything(&d)
	if d.DecisionID != "" {
		t.maybeHold(p, &d)
	}
	t.decide(ctx, t.someone(), run, d)
	t.agree(ctx, p, run, d)
}

// anything is what a decision may say, sense or not.
func (t *thread) anything(d *wire.Decision) {
	results := []string{"", "", `true`, `false`, `{"approved":false}`, `{"approved":true}`, `"enough"`, `null`, `{"x":1}`, `"` + tooLong + `"`}
	if r := results[t.pick(len(results))]; r != "" {
		d.Result = json.RawMessage(r)
	} else if t.pick(3) == 0 {
		d.Error = "bad"
	}
	d.Action = []string{"resume", "cancel", "", "resume"}[t.pick(4)]
}

// contradict decides anything under the id that another caller uses for the same suspension.
func (t *thread) contradict(ctx context.Context) {
	if len(t.seen) == 0 {
		return
	}
	p := t.seen[len(t.seen)-1-min(t.pick(len(t.seen)), t.pick(len(t.seen)))]
	d := t.truth(t.of[p.Suspension.ID], p)
	d.Result, d.Error, d.Reason = nil, "", ""
	t.anything(&d)
	t.decide(ctx, t.someone(), t.of[p.Suspension.ID], d)
}

// tooLong is text that no head has room for: it is kept beside it.
var tooLong = strings.Repeat("and so on ", 40)

// lengthy makes some texts so long.
func (t *thread) lengthy(text string) string {
	if t.pick(3) == 0 {
		return text + ", " + tooLong
	}
	return text
}
