package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/recording"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// actor is the person behind one conversation. It knows the public API and what its tools really did, nothing else. It
// sends its user messages one after the other, approves every approval, and answers unknown outcomes truthfully.
type actor struct {
	s            *stage
	conversation recording.Conversation
	name         string // of the agent
	thread       string
	answered     map[string]bool // suspensions
}

const (
	look    = 500 * time.Millisecond
	asAgain = 200 * time.Millisecond
)

func (a *actor) act(ctx context.Context) {
	a.answered = map[string]bool{}
	n := 0
	for _, m := range a.conversation.Messages {
		if m.Role != core.RoleUser {
			continue
		}
		n++
		run, err := a.say(ctx, n, m)
		if err == nil {
			err = a.follow(ctx, run)
		}
		if err != nil {
			a.s.report.mismatch(a.conversation, fmt.Sprintf("user message %d: %v", n, err))
			break
		}
	}
	a.compare(ctx)
	a.s.report.done++
	if a.s.o.Progress != nil {
		a.s.o.Progress(a.s.report.done, len(a.s.o.Conversations))
	}
}

// say starts the run of the n-th user message.
func (a *actor) say(ctx context.Context, n int, m core.Message) (wire.Run, error) {
	input := json.RawMessage(core.Encode([]core.Part{{Type: "text", Text: m.Text()}}))
	key := fmt.Sprintf("%s/%d", a.name, n)
	run, err := again(ctx, a.s, func() (wire.Run, error) {
		if n == 1 {
			return a.s.client.StartRun(ctx, wire.StartRequest{Agent: a.name, Input: input}, key)
		}
		return a.s.client.SendMessage(ctx, a.thread, wire.MessageRequest{Input: input}, key)
	})
	if err == nil {
		a.thread = run.ThreadID
		a.s.report.Runs++
	}
	return run, err
}

// follow answers what the run waits for until it is done.
func (a *actor) follow(ctx context.Context, run wire.Run) error {
	for ctx.Err() == nil {
		var err error
		run, err = again(ctx, a.s, func() (wire.Run, error) { return a.s.client.Run(ctx, run.ID, 0) })
		if err != nil {
			return err
		}
		if run.Status == core.RunDone.String() {
			a.s.report.Steps += run.Steps
			return a.ended(run)
		}
		for _, p := range run.Pending {
			if err := a.answer(ctx, run.ID, p); err != nil {
				return err
			}
		}
		if err := a.s.world.Sleep(ctx, look); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// ended refuses an end that a recording cannot have.
func (a *actor) ended(run wire.Run) error {
	switch {
	case run.Reason == nil:
		return errors.New("a done run without a reason")
	case *run.Reason == core.NaturalEnd.String(), *run.Reason == core.Stopped.String() && run.Code == recording.Ended:
		return nil
	}
	return fmt.Errorf("the run ended %s %s %+v", *run.Reason, run.Code, run.Error)
}

func (a *actor) answer(ctx context.Context, run string, p wire.Pending) error {
	d := wire.Decision{DecisionID: "decided " + p.Suspension.ID, Target: p.Suspension.ID, Action: core.ActionResume.String()}
	if p.Kind == core.KindUnknownOutcome.String() {
		if out, ok := a.s.cast.happened(a.name, p.CallID); ok && out.Failed {
			d.Error = out.Text
			d.Action = ""
		} else if ok {
			d.Result = core.Encode(out.Text)
		}
	}
	got, err := again(ctx, a.s, func() (wire.DecisionAnswer, error) { return a.s.client.Decide(ctx, run, d) })
	if err != nil {
		return fmt.Errorf("deciding %s: %w", p.CallID, err)
	}
	if !a.answered[p.Suspension.ID] {
		a.answered[p.Suspension.ID] = true
		a.s.report.Decisions++
	}
	_ = got
	return nil
}

// compare reads the conversation back and holds it against the recording.
func (a *actor) compare(ctx context.Context) {
	if a.thread == "" {
		return
	}
	messages, err := again(ctx, a.s, func() ([]wire.Message, error) { return a.s.client.Messages(ctx, a.thread) })
	if err != nil {
		a.s.report.mismatch(a.conversation, err.Error())
		return
	}
	got := make([]core.Message, len(messages))
	for i, m := range messages {
		got[i] = fromWire(m)
		a.s.report.Calls += len(m.ToolCalls)
	}
	for _, m := range recording.Compare(a.conversation, got) {
		a.s.report.mismatch(a.conversation, m.String())
	}
	for _, call := range a.s.cast.twice(a.name, got) {
		a.s.report.Twice = append(a.s.report.Twice, a.conversation.ID+": "+call)
	}
	a.suspensions(ctx)
}

// suspensions counts what the event log says of waiting.
func (a *actor) suspensions(ctx context.Context) {
	page, err := again(ctx, a.s, func() (wire.Page[wire.Run], error) {
		return a.s.client.ThreadRuns(ctx, a.thread, client.List{Limit: 100})
	})
	for _, run := range page.Items {
		after := ""
		for err == nil {
			var events wire.EventPage
			events, err = again(ctx, a.s, func() (wire.EventPage, error) { return a.s.client.Events(ctx, run.ID, after, 0, 1000) })
			for _, e := range events.Items {
				if e.Type == string(core.EventCallSuspended) {
					a.s.report.Suspensions++
				}
			}
			if after = events.Next; events.Done || len(events.Items) == 0 {
				break
			}
		}
	}
}

func fromWire(m wire.Message) core.Message {
	out := core.Message{Role: core.Role(m.Role), Parts: core.TextParts(m.Text), CallID: m.CallID, Tool: m.Tool, Error: m.Error, Pending: m.Pending}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, core.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return out
}

// again repeats a request until the server has answered it for good, as a careful caller does: the same request, the same key.
func again[T any](ctx context.Context, s *stage, request func() (T, error)) (T, error) {
	for {
		v, err := request()
		var refused *client.Error
		if err == nil || errors.As(err, &refused) && !refused.Temporary() {
			return v, err
		}
		if err := s.world.Sleep(ctx, asAgain); err != nil {
			return v, err
		}
	}
}
