package sim_test

import (
	"context"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// meddler pauses runs and lets them go on, answers around and after deadlines, sends messages that
// give up what waits, or that wait themselves, and retries what failed.
func (t *thread) meddler(ctx context.Context) {
	for n := range t.s.plan.acts + t.pick(2*t.s.plan.acts) {
		_ = t.s.w.Sleep(ctx, t.s.w.Upto(12*time.Second))
		if t.id == "" || len(t.runs) == 0 || !t.s.w.Happens("act", 1) {
			continue
		}
		switch run := t.runs[len(t.runs)-1-min(t.pick(len(t.runs)), t.pick(len(t.runs)))]; t.pick(15) {
		case 0, 1:
			for range 1 + t.pick(2) {
				t.pause(ctx, run)
			}
		case 2, 12:
			t.goOn(ctx, run)
		case 3:
			t.sayOn(ctx, t.lengthy(fmt.Sprintf("abandoning %d %s", n, t.s.w.Text(4))), "abandon")
		case 4, 5:
			t.sayOn(ctx, t.lengthy(fmt.Sprintf("queued %d %s", n, t.s.w.Text(4))), "queue")
		case 6:
			t.s.outside[run] = t.s.outside[run] || t.pick(4) == 0
		case 7, 8:
			t.race(ctx)
		case 9:
			t.retry(ctx, run)
		case 10:
			t.s.cast.deploy()
		case 13:
			t.byLink(ctx)
		case 14:
			t.trespass(ctx)
		default:
			t.tooLate(ctx)
		}
	}
	if len(t.runs) > 0 && t.s.w.Happens("act", 1) {
		_ = t.s.w.Sleep(ctx, t.s.w.Upto(12*time.Second))
		t.retry(ctx, t.runs[len(t.runs)-1])
	}
}

// again keeps a request that its caller may send again at any time.
func (t *thread) again(request func(context.Context) error) {
	t.sent = append(t.sent, func(ctx context.Context) {
		_, err := once(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, request(ctx) })
		if !temporary(err) {
			t.s.known(err)
		}
	})
}

// ask sends a request of which nothing is kept but that it may be sent again, and says what it was
// refused with.
func (t *thread) ask(ctx context.Context, request func(context.Context) error) refusal.Code {
	_, err := persist(ctx, t.s, func(ctx context.Context) (struct{}, error) { return struct{}{}, request(ctx) })
	t.again(request)
	return code(err)
}

func (t *thread) pause(ctx context.Context, run string) {
	key, who := "pause "+t.s.w.Text(6), t.someone()
	refused := t.ask(ctx, func(ctx context.Context) error {
		from := t.moment()
		_, err := t.s.front.Interrupt(ctx, who, run, key)
		t.s.w.Note("pauses %s: %v", run, err)
		t.s.referee.closing(t.id, pausing, run, key, from, err)
		return err
	})
	if refused != "" && refused != refusal.CodeRunDone {
		t.s.wrong("an interrupt of %s was refused: %s", run, refused)
	}
}

func (t *thread) goOn(ctx context.Context, run string) {
	req := wire.ResumeRequest{DecisionID: "on " + t.s.w.Text(6)}
	if old := t.resumed[run]; old != "" && t.pick(2) == 0 {
		req.DecisionID = old // it does not know that it was answered
	}
	t.resumed[run] = req.DecisionID
	who := t.someone()
	t.ask(ctx, func(ctx context.Context) error {
		q := &question{who: who, run: run, decision: wire.Decision{DecisionID: req.DecisionID, Action: "resume"}, from: t.moment()}
		answer, err := t.s.front.Resume(context.WithValue(ctx, questionKey{}, q), who, run, req)
		t.s.w.Note("lets %s go on: is told %s", run, toldOf(answer, err))
		if err == nil {
			q.decision.Target = answer.Target
			t.s.referee.decided(t.id, q, answer, nil)
		}
		if err == nil {
			t.learn(who, run, wire.Decision{Target: answer.Target}, answer, nil)
		}
		return err
	})
}

// retry goes on with a run that ended in error; its own id is the key, so that two callers begin
// one run.
func (t *thread) retry(ctx context.Context, run string) {
	who := t.asker()
	refused := t.ask(ctx, func(ctx context.Context) error {
		got, err := t.s.front.Retry(ctx, who, run, "")
		if t.turnedAway(who, err) || err != nil {
			return err
		}
		if before, known := t.retried[run]; known && before != got.Run.ID {
			t.s.wrong("%s was retried as %s and as %s", run, before, got.Run.ID)
		}
		t.retried[run] = got.Run.ID
		t.addRun(got.Run.ID)
		return nil
	})
	if next := t.retried[run]; refused == "" && next != "" {
		t.attend(ctx, next)
	}
}

// attend lets anybody decide what a run waits for, for a while.
func (t *thread) attend(ctx context.Context, run string) {
	for range 3 {
		_ = t.s.w.Sleep(ctx, time.Second+t.s.w.Upto(3*time.Second))
		got, err := t.look(ctx, run)
		if err != nil {
			return
		}
		for _, p := range got.Pending {
			d := t.truth(run, p)
			d.DecisionID = "attending " + t.s.w.Text(6)
			t.decide(ctx, t.answerer(p), run, d)
		}
	}
}

// sayOn sends a message that says what becomes of a run that waits.
func (t *thread) sayOn(ctx context.Context, text, on string) {
	t.said[text] = &saidText{}
	t.s.watched.patient[text] = on == "queue"
	who := t.asker()
	refused := t.ask(ctx, func(ctx context.Context) error {
		got, err := t.s.front.Message(ctx, who, t.id, "key of "+text[:min(len(text), 40)], wire.MessageRequest{Input: core.Encode(text), OnPending: on})
		if err == nil {
			t.said[text].accepted = true
			t.addRun(got.Run.ID)
		}
		if t.turnedAway(who, err) {
			return nil
		}
		return err
	})
	if refused != "" {
		t.s.wrong("a message that may not be refused was: %s", refused)
	}
}

// race answers a call about when its deadline passes.
func (t *thread) race(ctx context.Context) {
	for i := len(t.seen) - 1; i >= max(0, len(t.seen)-8); i-- {
		p := t.seen[i]
		if p.Deadline == nil || p.Deadline.Before(t.s.w.Now()) {
			continue
		}
		_ = t.s.w.Sleep(ctx, p.Deadline.Sub(t.s.w.Now())+t.s.w.Upto(6*time.Second)-time.Second)
		d := t.truth(t.of[p.Suspension.ID], p)
		d.DecisionID = "racing " + t.s.w.Text(6)
		t.decide(ctx, t.answerer(p), t.of[p.Suspension.ID], d)
		return
	}
}

// tooLate answers a call whose deadline was used, if there is one.
func (t *thread) tooLate(ctx context.Context) {
	h, err := t.s.db.Load(ctx, t.s.tenant, t.id)
	if err != nil {
		return
	}
	for _, p := range t.seen {
		if h.TimedOut[p.Suspension.ID] == 0 {
			continue
		}
		d := t.truth(h.Run, p)
		d.DecisionID = "late " + t.s.w.Text(6)
		_, err := persist(ctx, t.s, func(ctx context.Context) (wire.DecisionAnswer, error) {
			return t.ruled(ctx, t.decider(p), h.Run, d)
		})
		if c := code(err); c != refusal.CodeLateDecision && c != refusal.CodeSeparationOfDuties {
			t.s.wrong("an answer to %s, whose deadline was used, got %v", p.Suspension.ID, err)
		}
		return
	}
}
