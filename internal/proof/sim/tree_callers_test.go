package sim_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// lead starts the root, lets everyone act, and then brings every run to its end.
func (g *grove) lead(ctx context.Context) {
	got, err := persist(ctx, g.stage, func(ctx context.Context) (frontend.Started, error) {
		return g.reader.Start(ctx, anna, "start", wire.StartRequest{Agent: "n", Input: json.RawMessage(`"go"`)})
	})
	if err != nil {
		g.wrong("the start was refused: %v", err)
		return
	}
	g.run, g.thread = got.Run.ID, got.Run.ThreadID
	if down := []string{"start", "load", "signal", "", "", "", ""}[g.rng.IntN(7)]; down != "" && g.plan.rate > 0 {
		g.faults.Down = map[string]time.Time{down: g.w.Now().Add(g.w.Upto(15 * time.Second))}
	}
	for i := range g.people {
		g.caller(ctx, fmt.Sprintf("person %d", i), func(ctx context.Context) { g.person(ctx, i) })
	}
	g.caller(ctx, "a meddler", g.meddle)
	for g.busy > 0 {
		_ = g.w.Sleep(ctx, 5*time.Second)
	}
	g.faults.Stop()
	_ = g.w.Sleep(ctx, 4*lease) // longer than any owner that stands still now
	for range 80 {
		if len(g.kin.open()) == 0 {
			break
		}
		g.settleAll(ctx)
	}
	_ = g.w.Sleep(ctx, 8*lease) // for what lands late
}

// waiting are the suspensions that someone may answer now, in a fixed order.
func (g *grove) waiting() (waiting []string) {
	for _, h := range g.kin.open() {
		for _, id := range sortedThreads(h.Calls) {
			c := h.Calls[id]
			if _, answered := h.Inbox[c.Sus]; c.Status == core.CallSuspended && !answered && c.Kind != core.KindChild && c.Kind != core.KindInterrupt {
				waiting = append(waiting, c.Sus)
			}
		}
	}
	return waiting
}

// pick is one of several.
func pickOf[T any](g *grove, all []T) T { return all[g.rng.IntN(len(all))] }

// hurry is how long a caller takes: in a hurry, what it does meets commits and other callers.
func (g *grove) hurry(ctx context.Context) {
	most := []time.Duration{20 * time.Millisecond, time.Second, 8 * time.Second}[g.rng.IntN(3)]
	if !g.hasty {
		most *= 3
	}
	_ = g.w.Sleep(ctx, g.w.Upto(most))
}

// person decides whatever waits, anywhere in the tree, now and then about an old question.
func (g *grove) person(ctx context.Context, n int) {
	for i := range 4 + g.rng.IntN(12) {
		g.hurry(ctx)
		g.seen = append(g.seen, g.waiting()...)
		if len(g.seen) == 0 || !g.w.Happens("act", 1) {
			continue
		}
		sus := g.seen[len(g.seen)-1-g.rng.IntN(min(len(g.seen), 4))]
		if g.rng.IntN(10) == 0 {
			sus = pickOf(g, g.seen)
		}
		d := g.decision(sus, g.rng.IntN(4) > 0)
		d.DecisionID = fmt.Sprintf("%d of person %d", i, n)
		if g.rng.IntN(3) == 0 {
			g.straight(ctx, sus, d)
		} else {
			g.decide(ctx, sus, d)
		}
	}
}

// decision is a yes or a no, as its question wants it.
func (g *grove) decision(sus string, yes bool) wire.Decision {
	a := g.kin.asked[sus]
	d := wire.Decision{DecisionID: "on " + sus, Target: sus, Action: "resume"}
	switch {
	case !yes:
		d.Action, d.Reason = "cancel", "no"
	case a.kind == core.KindClient:
		d.Result = core.Encode("filled in")
	case a.kind == core.KindApproval && a.mode == core.UseDecisionAsToolResult:
		d.Result = json.RawMessage(`{"approved":true}`)
	}
	return d
}

// decide sends a decision to the run that asks, or to one above it.
func (g *grove) decide(ctx context.Context, sus string, d wire.Decision) {
	a := g.kin.asked[sus]
	run := a.run
	for p := g.kin.last[a.thread].Parent; p != nil && g.rng.IntN(2) == 0; p = g.kin.last[p.Thread].Parent {
		run = p.Run
	}
	answer, err := persist(ctx, g.stage, func(ctx context.Context) (wire.DecisionAnswer, error) { return g.reader.Decide(ctx, anna, run, d) })
	g.w.Note("decides %s on %s at %s: %s", d.Action, sus, run, toldOf(answer, err))
}

// straight sends a decision as a frontend does that has looked at the runs above before what has
// happened since.
func (g *grove) straight(ctx context.Context, sus string, d wire.Decision) {
	a, now := g.kin.asked[sus], g.w.Now().UnixMilli()
	r := core.Resume{DecisionID: d.DecisionID, Action: core.ActionResume, Result: d.Result, Reason: d.Reason, UpdatedAt: now}
	if d.Action == "cancel" {
		r.Action = core.ActionCancel
	}
	_, err := once(ctx, func(ctx context.Context) (engine.Written, error) {
		return g.store.Signal(ctx, engine.SignalRequest{Tenant: "t", Thread: a.thread, Run: a.run, InboxKey: sus, Call: a.call, Suspension: sus,
			Signal: core.Signal{Kind: core.SignalDecision, Call: a.call, ID: d.DecisionID, Value: core.Encode(r), At: now}, Due: now + 5000})
	})
	g.w.Note("decides %s on %s past the frontend: %v", d.Action, sus, err)
}

// meddle cancels, pauses and resumes runs, sends messages, and retries what failed.
func (g *grove) meddle(ctx context.Context) {
	for n := range g.acts {
		g.hurry(ctx)
		_ = g.w.Sleep(ctx, g.w.Upto(6*time.Second))
		open := g.kin.open()
		if len(open) == 0 || !g.w.Happens("act", 1) {
			continue
		}
		h := pickOf(g, open)
		switch g.rng.IntN(13) {
		case 0:
			g.cancel(ctx, h.Run)
		case 1, 2, 3:
			g.strike(ctx)
		case 4, 5:
			g.pause(ctx, g.run, n)
		case 6:
			if at := slices.IndexFunc(open, owesLaunch); at >= 0 {
				h = open[at]
			}
			g.pause(ctx, h.Run, n)
		case 7, 8:
			g.resume(ctx, h.Run, n)
		case 9, 10:
			g.say(ctx, n, pickOf(g, []string{"", "", "abandon", "queue"}))
		case 11:
			g.news(ctx)
		default:
			g.retry(ctx)
		}
	}
}

func owesLaunch(h core.Head) bool {
	for _, out := range h.Out {
		if out.Kind == core.OutLaunch {
			return true
		}
	}
	return false
}

func (g *grove) cancel(ctx context.Context, run string) {
	_, err := persist(ctx, g.stage, func(ctx context.Context) (wire.Run, error) { return g.reader.Cancel(ctx, anna, run) })
	g.w.Note("cancels %s: %v", run, err)
	if run != g.run && err == nil {
		g.faults.Counts["cancelled by hand"]++
	}
}

// strike cancels a run, and decides right then about what waits below it.
func (g *grove) strike(ctx context.Context) {
	waiting := g.waiting()
	if len(waiting) == 0 {
		return
	}
	of := func(sus string) core.Head { return g.kin.last[g.kin.asked[sus].thread] }
	deepest := slices.MaxFunc(waiting, func(a, b string) int { return cmp.Compare(depthOf(of(a)), depthOf(of(b))) })
	sus := pickOf(g, []string{deepest, deepest, pickOf(g, waiting)})
	h := of(sus)
	for h.Parent != nil && g.rng.IntN(6) > 0 {
		h = g.kin.last[h.Parent.Thread]
	}
	g.cancel(ctx, h.Run)
	_ = g.w.Sleep(ctx, g.w.Upto(12*time.Millisecond))
	d := g.decision(sus, true)
	d.DecisionID = "strike " + sus
	g.straight(ctx, sus, d)
}

func depthOf(h core.Head) int {
	if h.Parent == nil {
		return 0
	}
	return h.Parent.Depth
}

func (g *grove) pause(ctx context.Context, run string, n int) {
	_, err := persist(ctx, g.stage, func(ctx context.Context) (wire.Run, error) {
		return g.reader.Interrupt(ctx, anna, run, fmt.Sprintf("pause %d", n))
	})
	g.w.Note("pauses %s: %v", run, err)
	if g.rng.IntN(4) > 0 {
		g.hurry(ctx)
		g.resume(ctx, run, 100+n)
	}
}

func (g *grove) resume(ctx context.Context, run string, n int) {
	answer, err := persist(ctx, g.stage, func(ctx context.Context) (wire.DecisionAnswer, error) {
		return g.reader.Resume(ctx, anna, run, wire.ResumeRequest{DecisionID: fmt.Sprintf("resume %d", n)})
	})
	g.w.Note("resumes %s: %s", run, toldOf(answer, err))
}

// say sends a message to the root, and in vain to a run below it.
func (g *grove) say(ctx context.Context, n int, on string) {
	thread := g.thread
	if children := g.kin.open(); g.rng.IntN(8) == 0 && len(children) > 0 {
		thread = pickOf(g, children).Thread
	}
	_, err := persist(ctx, g.stage, func(ctx context.Context) (frontend.Started, error) {
		return g.reader.Message(ctx, anna, thread, fmt.Sprintf("message %d", n), wire.MessageRequest{Input: core.Encode(fmt.Sprintf("and also %d", n)), OnPending: on})
	})
	g.w.Note("says something (%q) in %s: %v", on, thread, err)
	if err == nil && thread != g.thread {
		g.wrong("a message was taken in %s, which works for another run", thread)
	}
	if waits := g.kin.last[g.thread].Calls; err == nil && len(waits) > 0 {
		g.faults.Counts["message while children work"]++
	}
}

// retry goes on with a root that failed. Its children can't be retried.
func (g *grove) retry(ctx context.Context) {
	for _, thread := range sortedThreads(g.kin.last) {
		h := g.kin.last[thread]
		if h.Open() || h.End.Kind != core.Failed || g.rng.IntN(2) == 0 {
			continue
		}
		_, err := persist(ctx, g.stage, func(ctx context.Context) (frontend.Started, error) { return g.reader.Retry(ctx, anna, h.Run, "") })
		g.w.Note("retries %s: %v", h.Run, err)
		if h.Parent != nil && err == nil {
			g.wrong("%s was retried, and its parent has its result", h.Run)
		}
	}
}

// settleAll waits until nothing moves, and answers whatever waits for people. Runs that are paused
// from above must go on by themselves.
func (g *grove) settleAll(ctx context.Context) {
	for range 200 {
		moving := false
		for _, h := range g.kin.open() {
			moving = moving || h.Status != core.RunWaiting || len(h.Inbox) > 0
		}
		if !moving {
			break
		}
		_ = g.w.Sleep(ctx, 4*time.Second)
	}
	if g.stuck() {
		return
	}
	answered := false
	for _, h := range g.kin.open() {
		for _, id := range sortedThreads(h.Calls) {
			switch c := h.Calls[id]; {
			case c.Status != core.CallSuspended || c.Kind == core.KindChild || c.Kind == core.KindInterrupt && c.Above != "":
				continue
			case c.Kind == core.KindInterrupt:
				g.resume(ctx, h.Run, 1000+int(h.Rev))
			default:
				g.decide(ctx, c.Sus, g.decision(c.Sus, true))
			}
			answered = true
		}
	}
	if !answered && len(g.kin.open()) > 0 {
		_ = g.w.Sleep(ctx, 2*time.Minute) // the deadlines of children
	}
	_ = g.w.Sleep(ctx, 2*time.Second)
}

// stuck says whether some run does nothing although it should.
func (g *grove) stuck() bool {
	for _, h := range g.kin.open() {
		if h.Status != core.RunWaiting || len(h.Inbox) > 0 {
			g.wrong("I-5: nothing moves any more in %s: %s", h.Run, core.Encode(h))
			return true
		}
		for _, c := range h.Calls {
			if c.WaitsOn(c.Sus) && c.Above != "" && g.kin.last[h.Parent.Thread].Interrupt() == "" {
				g.wrong("CH-4: %s is paused for ever: the run above goes on: %s", h.Run, core.Encode(h))
				return true
			}
		}
	}
	return false
}
