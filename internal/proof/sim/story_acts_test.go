package sim_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// act is one clause of a step: it is told how things are when the sentence begins, and what it
// returns is done then.
type act func(p *performance) doing

// doing is under way from a time on, or, if that is zero, with whatever else is in its sentence. It
// says whether it came true.
type doing struct {
	at time.Time
	do func(ctx context.Context) bool
}

func comesTrue(there func(p *performance, args []string) bool) func([]string) (act, error) {
	return func(args []string) (act, error) {
		return func(p *performance) doing {
			return doing{do: func(context.Context) bool { return p.until(patience, func() bool { return there(p, args) }) }}
		}, nil
	}
}

// somebody is what somebody asks for.
func somebody(ask func(p *performance, args []string) sending) func([]string) (act, error) {
	return func(args []string) (act, error) {
		return func(p *performance) doing {
			send := ask(p, args[1:])
			return doing{do: func(ctx context.Context) bool {
				p.ask(ctx, args[0], send)
				return true
			}}
		}, nil
	}
}

func decides(d func(args []string) wire.Decision) func([]string) (act, error) {
	return somebody(func(p *performance, args []string) sending { return p.decision(args[0], d(args[1:])) })
}

func says(on string) func([]string) (act, error) {
	return somebody(func(p *performance, args []string) sending { return p.message(args[0], on) })
}

// acts are the sentences of a story's second part.
var acts = speak([]sentence[act]{
	{`{who} starts the run`, somebody(func(p *performance, _ []string) sending { return p.start("go") })},
	{`{who} starts the run with (?:her|his) tool {tool}`, somebody(func(p *performance, args []string) sending { return p.startBringing("go", args[0]) })},
	{`{who} starts the task`, somebody(func(p *performance, _ []string) sending { return p.startTask("go") })},
	{`{who} listens to the task`, somebody(func(p *performance, _ []string) sending { return p.listen() })},
	{`it is heard that {tool} waits`, comesTrue(func(p *performance, args []string) bool { return p.cast.asked[args[0]] > 0 })},
	{`it is heard that the task ends`, comesTrue(func(p *performance, _ []string) bool { return p.cast.ended > 0 })},
	{`{who} starts the conversation {text}`, somebody(func(p *performance, args []string) sending { return p.startKeyed(args[0], "go") })},
	{`{who} says {text} in the conversation {text}`, somebody(func(p *performance, args []string) sending { return p.startKeyed(args[1], args[0]) })},
	{`{who} starts the next run with {text}`, somebody(func(p *performance, args []string) sending { return p.startNext(args[0]) })},
	{`{who} approves {tool}`, decides(func([]string) wire.Decision { return wire.Decision{Action: "resume"} })},
	{`{who} approves {tool} with {json}`, decides(func(args []string) wire.Decision {
		return wire.Decision{Action: "resume", Arguments: json.RawMessage(args[0])}
	})},
	{`{who} approves {tool} for the rest of the turn`, decides(func([]string) wire.Decision { return wire.Decision{Action: "resume", Grant: "run"} })},
	{`{who} approves {tool} after a hold of {n} seconds`, somebody(func(p *performance, args []string) sending { return p.decisionAfter(args[0], args[1]) })},
	{`{who} takes it back`, somebody(func(p *performance, _ []string) sending { return p.takeBack() })},
	{`{who} approves {tools} together`, somebody(func(p *performance, args []string) sending { return p.approveTogether(namesIn(args[0])) })},
	{`{who} answers {tool} with {text}`, decides(func(args []string) wire.Decision {
		return wire.Decision{Action: "resume", Result: core.Encode(args[0])}
	})},
	{`{who} refuses {tool} because {text}`, decides(func(args []string) wire.Decision { return wire.Decision{Action: "cancel", Reason: args[0]} })},
	{`{who} cancels the run`, somebody(func(p *performance, _ []string) sending { return p.cancelRun() })},
	{`{who} cancels the run of {tool}`, somebody(func(p *performance, args []string) sending { return p.cancelOf(p.childOf(args[0]).Run) })},
	{`{who} cancels the first run`, somebody(func(p *performance, _ []string) sending { return p.cancelOf(p.witness.runs[0]) })},
	{`{who} interrupts the run`, somebody(func(p *performance, _ []string) sending { return p.interrupt() })},
	{`{who} resumes the run`, somebody(func(p *performance, _ []string) sending { return p.resume() })},
	{`{who} retries the run`, somebody(func(p *performance, _ []string) sending { return p.retry() })},
	{`{who} says {text}`, says("")},
	{`{who} says {text} in place of an answer`, says("abandon")},
	{`{who} says {text} for later`, says("queue")},
	{`{who} sends the same again`, func(args []string) (act, error) { return sendsAgain(args[0], false), nil }},
	{`{who} sends the same again, and nothing is written`, func(args []string) (act, error) { return sendsAgain(args[0], true), nil }},
	{`{who} follows the run`, func(args []string) (act, error) { return follows(args[0]), nil }},
	{`{who} finds nothing in the list of what waits`, func(args []string) (act, error) { return findsInList(args[0], ""), nil }},
	{`{who} finds {tool} in the list of what waits`, func(args []string) (act, error) { return findsInList(args[0], args[1]), nil }},
	{`{who} sees that the first run is done`, func(args []string) (act, error) { return seesDone(args[0]), nil }},
	{`{time} pass(?:es)?`, func(args []string) (act, error) {
		return func(p *performance) doing {
			return doing{do: func(ctx context.Context) bool { return p.w.Sleep(ctx, readDuration(args[0])) == nil }}
		}, nil
	}},
	{`it is {time} before the deadline of {tool}`, func(args []string) (act, error) { return besideDeadline(args[1], -readDuration(args[0])), nil }},
	{`it is {time} after the deadline of {tool}`, func(args []string) (act, error) { return besideDeadline(args[1], readDuration(args[0])), nil }},
	{`the deadline of {tool} is used`, func(args []string) (act, error) { return deadlineOf(args[0]), nil }},
	{`people are reminded of {tool}`, comesTrue(func(p *performance, args []string) bool { return p.witness.came["call.reminded "+args[0]] > 0 })},
	{`others are asked about {tool}`, comesTrue(func(p *performance, args []string) bool { return p.witness.came["call.escalated "+args[0]] > 0 })},
	{`the run waits for {tools}`, comesTrue(func(p *performance, args []string) bool { return p.waitsFor(namesIn(args[0])) })},
	{`{tool} waits below the run`, comesTrue(func(p *performance, args []string) bool { return p.waitsBelow(args[0]) })},
	{`every run is done`, comesTrue(func(p *performance, _ []string) bool { return p.allDone() })},
	{`every run is paused`, comesTrue(func(p *performance, _ []string) bool { return p.allPaused() })},
	{`the run waits to be resumed`, comesTrue(func(p *performance, _ []string) bool { return p.waitsFor([]string{""}) })},
	{`the run is done`, comesTrue(func(p *performance, _ []string) bool { return !p.head().Open() })},
	{`the run is at rest`, comesTrue(func(p *performance, _ []string) bool { return p.atRest() })},
	{`the next run has begun`, comesTrue(func(p *performance, _ []string) bool { return len(p.witness.runs) > 1 })},
	{`the worker stands still`, comesTrue(func(p *performance, _ []string) bool { return p.done["stands still"] > 0 })},
	{`{tool} is running`, comesTrue(func(p *performance, args []string) bool { return p.cast.running[args[0]] > 0 })},
	{`the model is asked for the {nth} time`, comesTrue(func(p *performance, args []string) bool { return len(p.cast.asks) >= ordinal(args[0]) })},
	{`a stray wake-up comes`, func([]string) (act, error) { return strayWakeups(1), nil }},
	{`three stray wake-ups come, and nobody works on the run`, func([]string) (act, error) { return inVain(3), nil }},
	{`a new version is deployed`, func([]string) (act, error) {
		return func(p *performance) doing {
			return doing{do: func(context.Context) bool { p.cast.newer = true; return true }}
		}, nil
	}},
	{`a new version is deployed that denies {tool}`, func(args []string) (act, error) {
		return func(p *performance) doing {
			return doing{do: func(context.Context) bool { p.cast.denied[args[0]] = true; return true }}
		}, nil
	}},
})

// jitter is how far apart things are that are at once: a few of the world's steps.
const jitter = 12 * time.Millisecond

// play does what a step says; false if it does not come true.
func (p *performance) play(ctx context.Context, s step) bool {
	all := make([]doing, len(s.acts))
	var base time.Time
	for i, a := range s.acts {
		all[i] = a(p)
		if all[i].at.After(base) {
			base = all[i].at.Add(-jitter / 2)
		}
	}
	left, good := len(all), true
	for i, d := range all {
		wait := max(0, base.Sub(p.w.Now())) + p.w.Upto(jitter)
		if !d.at.IsZero() {
			wait = 0
		}
		p.w.Go(ctx, s.clauses[i], func(ctx context.Context) {
			defer func() { left--; p.change() }()
			_ = p.w.Sleep(ctx, wait)
			good = d.do(ctx) && good
		})
	}
	p.until(2*patience, func() bool { return left == 0 })
	return good && left == 0
}

func (p *performance) waitsFor(tools []string) bool {
	h := p.head()
	if h.Status != core.RunWaiting || len(h.Inbox) > 0 || p.asksWhatHappened(h) {
		return false
	}
	for _, tool := range tools {
		if c, ok := h.Calls[p.witness.waiting[tool].CallID]; !ok || c.Status != core.CallSuspended {
			return false
		}
	}
	return true
}

func (p *performance) deadlineTime(tool string) time.Time {
	return time.UnixMilli(p.witness.waiting[tool].Deadline)
}

func besideDeadline(tool string, off time.Duration) act {
	return func(p *performance) doing {
		return doing{do: func(ctx context.Context) bool {
			return p.w.Sleep(ctx, p.deadlineTime(tool).Add(off).Sub(p.w.Now())) == nil
		}}
	}
}

// deadlineOf waits until nobody can answer any more, or somebody has.
func deadlineOf(tool string) act {
	return func(p *performance) doing {
		sus := p.witness.waiting[tool].Suspension.ID
		return doing{at: p.deadlineTime(tool), do: func(context.Context) bool {
			return p.until(patience, func() bool {
				for _, c := range p.head().Calls {
					if c.Sus == sus && c.Status == core.CallSuspended {
						return false
					}
				}
				return true
			})
		}}
	}
}

func strayWakeups(n int) act {
	return func(p *performance) doing {
		return doing{do: func(ctx context.Context) bool {
			for range n {
				_ = p.bell.Send(ctx, engine.Wakeup{Tenant: tenant, Thread: p.witness.thread}, 0)
			}
			return true
		}}
	}
}

// inVain sends wake-ups that nobody may act on.
func inVain(n int) act {
	return func(p *performance) doing {
		return doing{do: func(ctx context.Context) bool {
			before := p.head().Epoch
			strayWakeups(n)(p).do(ctx)
			_ = p.w.Sleep(ctx, 500*time.Millisecond)
			return p.head().Epoch == before
		}}
	}
}

func sendsAgain(who string, writesNothing bool) act {
	return func(p *performance) doing {
		return doing{do: func(ctx context.Context) bool {
			writes := p.witness.writes
			p.repeat(ctx, who)
			return !writesNothing || p.witness.writes == writes
		}}
	}
}

func seesDone(who string) act {
	return func(p *performance) doing {
		run := p.witness.runs[0]
		return doing{do: func(ctx context.Context) bool {
			got, err := patiently(ctx, p, func(ctx context.Context) (wire.Run, error) {
				return p.front.Run(ctx, frontend.Caller{Tenant: tenant, By: who}, run)
			})
			return err == nil && got.ID == run && got.Status == core.RunDone.String()
		}}
	}
}

func findsInList(who, tool string) act {
	return func(p *performance) doing {
		return doing{do: func(ctx context.Context) bool {
			page, err := patiently(ctx, p, func(ctx context.Context) (wire.Page[wire.Approval], error) {
				return p.front.Approvals(ctx, frontend.Caller{Tenant: tenant, By: who}, query.List{})
			})
			if err != nil || len(page.Items) == 0 || tool == "" {
				return err == nil && len(page.Items) == 0 && tool == ""
			}
			return page.Items[0].Tool == tool && page.Items[0].RunID == p.head().Run
		}}
	}
}
