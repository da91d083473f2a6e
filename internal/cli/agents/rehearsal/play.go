package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Result is what came of a test. It has no times and no ids, so that the same test says the same
// every time.
type Result struct {
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Name    string   `json:"name"`
	OK      bool     `json:"ok"`
	Steps   []Played `json:"steps"`
	Failure *Failure `json:"failure,omitempty"`
}

// Played is a step that was done. Found is the run's state after it, or the result of an
// expectation: [Holds] or [Differs].
type Played struct {
	Line  int    `json:"line"`
	Did   string `json:"did"`
	Found string `json:"found"`
}

// The results of an expectation.
const (
	Holds   = "holds"
	Differs = "differs"
)

// Failure is the step at which a test ended: what was expected and is otherwise, or why it could
// not be done.
type Failure struct {
	Line        int          `json:"line"`
	Problem     string       `json:"problem,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is one thing that is not as expected.
type Difference struct {
	What     string `json:"what"`
	Expected string `json:"expected"`
	Found    string `json:"found"`
}

// mostHeld is how long one request may be held by the server.
const mostHeld = 5 * time.Second

// player is one test being played.
type player struct {
	client *client.Client
	agent  string
	run    wire.Run
	since  int // messages of the thread before the last thing that was said

	unanswered string // why the model did not answer when it was asked last; empty if it did
}

// Play plays a test of the agent against a server. After each step it waits until the run waits or
// is done, at most patience. An error means that ctx ended; every response of the server is in the
// result.
func Play(ctx context.Context, c *client.Client, s Script, t Test, patience time.Duration) (Result, error) {
	p := &player{client: c, agent: s.Agent}
	r := Result{File: s.File, Line: t.Line, Name: t.Name, Steps: []Played{}}
	for _, step := range t.Steps {
		limited, stop := context.WithTimeout(ctx, patience)
		differences, err := p.step(limited, step)
		stop()
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		found := p.stands()
		if step.Expect != nil {
			found = map[bool]string{true: Holds, false: Differs}[len(differences) == 0 && err == nil]
		}
		r.Steps = append(r.Steps, Played{step.Line, did(step), found})
		if err != nil || len(differences) > 0 {
			r.Failure = &Failure{Line: step.Line, Problem: p.reason(err, patience), Differences: differences}
			return r, nil
		}
	}
	r.OK = true
	return r, nil
}

// reason is why a step could not be done, in words; empty without an error.
func (p *player) reason(err error, patience time.Duration) string {
	refused, ok := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		return ""
	case ok:
		return "the server refused it (" + refused.Code + "): " + refused.Detail
	case errors.Is(err, context.DeadlineExceeded) && p.unanswered != "":
		return fmt.Sprintf("the run neither waits nor is done after %s: the model does not answer (%s)", patience, p.unanswered)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("the run neither waits nor is done after %s; look at its tools and its deadlines, or give it more time", patience)
	}
	return err.Error()
}

func (p *player) step(ctx context.Context, s Step) ([]Difference, error) {
	switch {
	case s.Expect != nil:
		return p.compare(ctx, *s.Expect)
	case s.Decide != nil:
		return nil, p.decide(ctx, *s.Decide)
	case s.Say != "":
		return nil, p.say(ctx, s.Say)
	}
	return nil, p.start(ctx, s.Run)
}

func (p *player) start(ctx context.Context, input string) error {
	text, err := core.EncodeAny(input)
	if err != nil {
		return err
	}
	run, err := p.client.StartRun(ctx, wire.StartRequest{Agent: p.agent, Input: text}, "")
	if err != nil {
		return err
	}
	p.since = 0
	return p.settle(ctx, run.ID, nil)
}

func (p *player) say(ctx context.Context, message string) error {
	text, err := core.EncodeAny(message)
	if err != nil {
		return err
	}
	before, err := client.Collect(p.client.Messages(ctx, p.run.ThreadID, client.MessageOptions{}))
	if err != nil {
		return err
	}
	run, err := p.client.SendMessage(ctx, p.run.ThreadID, wire.MessageRequest{Input: text}, "")
	if err != nil {
		return err
	}
	var answered []string // a message may be what the run waited for
	for _, call := range p.run.Pending {
		answered = append(answered, call.Suspension.ID)
	}
	p.since = len(before)
	return p.settle(ctx, run.ID, answered)
}

func (p *player) decide(ctx context.Context, d Decision) error {
	i := slices.IndexFunc(p.run.Pending, func(c wire.Pending) bool { return c.Tool == d.Tool })
	if i < 0 {
		return fmt.Errorf("no call of %s waits; the run is %s", d.Tool, p.stands())
	}
	answer := wire.Decision{Target: p.run.Pending[i].Suspension.ID, Reason: d.Reason, Grant: d.Grant, Error: d.Error}
	if d.Arguments != nil {
		answer.Arguments = d.Arguments.JSON()
	}
	switch d.Verb {
	case "approve":
		answer.Action = "resume"
	case "deny":
		answer.Action = "cancel"
	case "answer":
		answer.Result = d.Result.JSON()
	}
	if _, err := p.client.Decide(ctx, p.run.ID, answer); err != nil {
		return err
	}
	return p.settle(ctx, p.run.ID, []string{answer.Target})
}

// settle waits until the run is done, or waits for something else than what was answered: a stored
// answer is applied a moment later.
func (p *player) settle(ctx context.Context, id string, answered []string) error {
	for cursor := ""; ; {
		run, err := p.client.PollRun(ctx, id, mostHeld)
		if err != nil {
			return err
		}
		p.run = run
		if cmdline.Rests(run) && !waitsFor(run, answered) {
			return nil
		}
		page, err := p.client.EventPage(ctx, id, client.EventQuery{After: cursor, Wait: time.Second})
		if err != nil {
			return err
		}
		cursor = page.Next
		p.hear(page.Items)
	}
}

// hear notes whether the model answers.
func (p *player) hear(events []wire.Event) {
	for _, e := range events {
		var reset struct{ Reason, Text string }
		switch {
		case e.Type == "step.started":
			p.unanswered = ""
		case e.Type == "step.reset" && json.Unmarshal(e.Data, &reset) == nil && reset.Reason == "model_unavailable":
			p.unanswered = reset.Text
		}
	}
}

func waitsFor(run wire.Run, suspensions []string) bool {
	return slices.ContainsFunc(run.Pending, func(c wire.Pending) bool { return slices.Contains(suspensions, c.Suspension.ID) })
}

// stands describes the run's status in one line.
func (p *player) stands() string {
	run := p.run
	if run.ID == "" {
		return "not started"
	}
	parts := []string{run.Status}
	if run.Reason != nil {
		parts[0] += " (" + strings.Join(slices.DeleteFunc([]string{*run.Reason, run.Code}, func(s string) bool { return s == "" }), ", ") + ")"
	}
	if run.Error != nil {
		parts = append(parts, strings.TrimSpace("error "+run.Error.Code+" "+run.Error.Detail))
	}
	for _, call := range run.Pending {
		parts = append(parts, call.Kind+" of "+call.Tool+" "+string(call.Arguments))
	}
	if text, ok := run.OutputText(); ok {
		parts = append(parts, fmt.Sprintf("%q", text))
	}
	return strings.Join(parts, ": ")
}

// did says in one line what a step does.
func did(s Step) string {
	switch {
	case s.Expect != nil:
		return "expect"
	case s.Decide != nil:
		return s.Decide.Verb + " " + s.Decide.Tool
	case s.Say != "":
		return fmt.Sprintf("say %q", s.Say)
	}
	return fmt.Sprintf("run %q", s.Run)
}
