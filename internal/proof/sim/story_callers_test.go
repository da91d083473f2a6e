package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

const tenant = "t"

// callers are a story's people, and what they were told.
type callers struct {
	told      map[string][]string // by name: the answer to each request, in order
	sent      map[string]sending  // by name: the last request
	requests  int
	threads   []string
	decisions []toldDecision // that count, as their senders were told
	withdrawn []string       // decisions that were taken back, as their senders were told
	texts     map[string]bool
	cancelled map[string]bool // runs whose cancel was accepted
	started   map[string]string
	followers map[string]*follower
}

func newCallers() callers {
	return callers{told: map[string][]string{}, sent: map[string]sending{}, texts: map[string]bool{}, cancelled: map[string]bool{},
		started: map[string]string{}, followers: map[string]*follower{}}
}

// sending is one request, which may be sent again. isNew says whether it was stored by this very
// request, as far as can be told.
type sending func(ctx context.Context, who frontend.Caller) (isNew bool, err error)

const (
	toldAccepted = "accepted"
	toldBefore   = "accepted before"
)

// ask sends a request as a careful caller does, until it is answered for good, and remembers the
// answer.
func (p *performance) ask(ctx context.Context, who string, send sending) {
	p.sent[who] = send
	p.told[who] = append(p.told[who], p.answer(ctx, who, send, false))
}

// repeat sends the last request once more.
func (p *performance) repeat(ctx context.Context, who string) {
	p.told[who] = append(p.told[who], p.answer(ctx, who, p.sent[who], true))
}

func (p *performance) answer(ctx context.Context, who string, send sending, repeated bool) string {
	isNew, err := patiently(ctx, p, func(ctx context.Context) (bool, error) { return send(ctx, frontend.Caller{Tenant: tenant, By: who}) })
	word := toldAccepted
	var e *refusal.Error
	switch {
	case errors.As(err, &e):
		word = string(e.Code)
	case err != nil:
		p.wrong("%s got %v", who, err)
	case !isNew && repeated: // if it was not, its own first try was stored, and its reply lost
		word = toldBefore
	}
	p.w.Note("%s is told %s", who, word)
	return word
}

// patiently sends a request again while its connection breaks or the store is busy.
func patiently[T any](ctx context.Context, p *performance, request func(context.Context) (T, error)) (T, error) {
	for {
		v, err := once(ctx, request)
		if !temporary(err) || code(err) == refusal.CodeInboxFull {
			return v, err
		}
		p.w.Note("the request is sent again: %v", err)
		_ = p.w.Sleep(ctx, 10*time.Millisecond+p.w.Upto(500*time.Millisecond))
	}
}

func (p *performance) key(what string) string {
	p.requests++
	return fmt.Sprintf("%s %d", what, p.requests)
}

// run is the thread's newest run, as a caller saw it when he made up his mind.
func (p *performance) run() string { return p.head().Run }

// begun keeps what a start, a message or a retry was told.
func (p *performance) begun(key, text string, got frontend.Started, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	if before, known := p.started[key]; known && before != got.Run.ID {
		p.wrong("one key stands for %s and %s", before, got.Run.ID)
	}
	p.started[key] = got.Run.ID
	if text != "" {
		p.texts[text] = true
	}
	return got.New, nil
}

func (p *performance) start(text string) sending {
	key := p.key("start")
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		got, err := p.front.Start(ctx, who, key, wire.StartRequest{Agent: storyAgent, Input: core.Encode(text)})
		if err == nil && len(p.threads) == 0 {
			p.threads = []string{got.Run.ThreadID}
		}
		return p.begun(key, text, got, err)
	}
}

// startKeyed starts a run of the conversation that its callers call name, which may be new.
func (p *performance) startKeyed(name, text string) sending {
	key := p.key("start")
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		got, err := p.front.Start(ctx, who, key, wire.StartRequest{Agent: storyAgent, Input: core.Encode(text), ThreadKey: name})
		if err == nil && len(p.threads) == 0 {
			p.threads = []string{got.Run.ThreadID}
		}
		if err == nil && got.Run.ThreadID != p.threads[0] {
			p.wrong("the conversation %q is %s and %s", name, p.threads[0], got.Run.ThreadID)
		}
		return p.begun(key, text, got, err)
	}
}

func (p *performance) startNext(text string) sending {
	key, thread := p.key("start"), p.witness.thread
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		got, err := p.front.Start(ctx, who, key, wire.StartRequest{Agent: storyAgent, Input: core.Encode(text), ThreadID: thread})
		return p.begun(key, text, got, err)
	}
}

func (p *performance) message(text, on string) sending {
	key, thread := p.key("message"), p.witness.thread
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		got, err := p.front.Message(ctx, who, thread, key, wire.MessageRequest{Input: core.Encode(text), OnPending: on})
		return p.begun(key, text, got, err)
	}
}

// retry goes by no key but the run's own id.
func (p *performance) retry() sending {
	run := p.run()
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		got, err := p.front.Retry(ctx, who, run, "")
		return p.begun("retry of "+run, "", got, err)
	}
}

func (p *performance) cancelRun() sending { return p.cancelOf(p.run()) }

func (p *performance) cancelOf(run string) sending {
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		_, err := p.front.Cancel(ctx, who, run)
		if err == nil {
			p.cancelled[run] = true
		}
		return true, err
	}
}

func (p *performance) interrupt() sending {
	run, key := p.run(), p.key("pause")
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		_, err := p.front.Interrupt(ctx, who, run, key)
		return true, err
	}
}

func (p *performance) resume() sending {
	run, key := p.run(), p.key("on")
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		answer, err := p.front.Resume(ctx, who, run, wire.ResumeRequest{DecisionID: key})
		return p.learn(run, answer.Target, answer, err)
	}
}

// decision answers what its sender has last seen to wait for the tool.
func (p *performance) decision(tool string, d wire.Decision) sending {
	run := p.run()
	d.DecisionID, d.Target = p.key("decision"), p.witness.waiting[tool].Suspension.ID
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		answer, err := p.front.Decide(ctx, who, run, d)
		return p.learn(run, d.Target, answer, err)
	}
}

// approveTogether approves the calls of the tools that its sender last saw waiting, all or none.
func (p *performance) approveTogether(tools []string) sending {
	run := p.run()
	var batch []wire.Decision
	for _, tool := range tools {
		batch = append(batch, wire.Decision{Action: "resume", DecisionID: p.key("decision"), Target: p.witness.waiting[tool].Suspension.ID})
	}
	return func(ctx context.Context, who frontend.Caller) (isNew bool, err error) {
		answers, err := p.front.DecideTogether(ctx, who, run, batch)
		for i, answer := range answers {
			isNew, _ = p.learn(run, batch[i].Target, answer, nil)
		}
		return isNew, err
	}
}

// learn keeps which decision counts, as a caller was told.
func (p *performance) learn(run, sus string, answer wire.DecisionAnswer, err error) (bool, error) {
	var e *refusal.Error
	switch {
	case err == nil:
		p.decisions = append(p.decisions, toldDecision{run: run, id: answer.DecisionID, sus: sus, answer: answer.Code})
		return answer.Code == string(refusal.CodeAccepted), nil
	case errors.As(err, &e) && e.Code == refusal.CodeAlreadyDecided && e.Winner != nil:
		p.decisions = append(p.decisions, toldDecision{run: run, id: e.Winner.DecisionID, sus: sus, answer: "winner"})
	}
	return false, err
}

// tellTruth answers whoever asks what became of a lost body.
func (p *performance) tellTruth(ctx context.Context) {
	for {
		var h core.Head
		p.until(24*time.Hour, func() bool {
			for _, h = range append(p.children(), p.head()) {
				if h.Status == core.RunWaiting && len(h.Inbox) == 0 && p.asksWhatHappened(h) {
					return true
				}
			}
			return false
		})
		for id, c := range h.Calls {
			if _, answered := h.Inbox[c.Sus]; c.Status != core.CallSuspended || c.Kind != core.KindUnknownOutcome || answered {
				continue
			}
			p.done["asked what happened"]++
			p.sayWhatHappened(ctx, h.Run, id, c.Sus)
			break // the head is another one now
		}
		p.until(10*time.Second, func() bool { return p.head().Rev != h.Rev })
	}
}

func (p *performance) sayWhatHappened(ctx context.Context, run, call, sus string) {
	d := wire.Decision{DecisionID: "truth " + sus, Target: sus, Action: "resume"}
	switch out, did := p.cast.happened[run+"/"+call]; {
	case did && out.Failed:
		d.Error, d.Action = out.Text, ""
	case did:
		d.Result = core.Encode(out.Text)
	}
	_, _ = patiently(ctx, p, func(ctx context.Context) (bool, error) {
		answer, err := p.front.Decide(ctx, frontend.Caller{Tenant: tenant, By: "whoever knows"}, run, d)
		return p.learn(run, sus, answer, err)
	})
}

// follower reads a run's events as they come.
type follower struct {
	run  string
	seen []wire.Event
	next string
}

func follows(who string) act {
	return func(p *performance) doing {
		return doing{do: func(ctx context.Context) bool {
			f := &follower{run: p.run()}
			p.followers[who] = f
			p.w.Daemon(ctx, who, func(ctx context.Context) { p.follow(ctx, f) })
			return true
		}}
	}
}

func (p *performance) follow(ctx context.Context, f *follower) {
	for {
		rev := p.head().Rev
		page, err := patiently(ctx, p, func(ctx context.Context) (wire.EventPage, error) {
			return p.front.Events(ctx, frontend.Caller{Tenant: tenant}, f.run, query.EventQuery{After: f.next})
		})
		if err != nil {
			p.wrong("reading events: %v", err)
			return
		}
		f.seen, f.next = append(f.seen, page.Items...), page.Next
		if page.Done {
			return
		}
		if len(page.Items) == 0 {
			p.until(time.Hour, func() bool { return p.head().Rev != rev })
		}
	}
}

// addStuck puts another run into the store, due since long; somebody holds it who does nothing
// about it.
func (p *performance) addStuck(ctx context.Context) {
	h := core.Head{Identity: core.Identity{Tenant: tenant, Thread: "thr_stuck", Run: "run_stuck_0", Agent: storyAgent, Schema: core.SchemaVersion},
		Status: core.RunRunning, Ownership: core.Ownership{Lease: p.w.Now().Add(24 * time.Hour).UnixMilli()}, Inbox: map[string]core.Signal{}}
	if _, err := p.db.Start(ctx, engine.StartRequest{Head: h, Due: 1}); err != nil {
		p.wrong("the other run: %v", err)
	}
}

// toldConversation is a conversation in one line.
func toldConversation(messages []core.Message) string {
	var lines []string
	for _, m := range messages {
		line := string(m.Role)
		for _, c := range m.Calls {
			line += " " + c.ID
		}
		if m.Role == core.RoleTool {
			line += " " + m.CallID
			if m.Error {
				line += " failed"
			}
			line += ":"
		}
		if text := strings.ReplaceAll(m.Text(), "\n", " "); text != "" {
			line += " " + text
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " | ")
}
