package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

// actor is the person behind one conversation. It knows the public API and what its tools really
// did, nothing else. It sends its user messages one after the other, answers what is asked for as
// the fate of each call says, approves all else, and answers unknown outcomes truthfully.
type actor struct {
	s            *stage
	conversation recording.Conversation
	name         string // of the agent
	thread       string
	answered     map[string]bool    // suspensions
	rulings      map[string]*ruling // of the gated calls, by id
	recorded     map[string]core.Message
}

const (
	look    = 500 * time.Millisecond
	asAgain = 200 * time.Millisecond
)

func (a *actor) act(ctx context.Context) {
	a.answered, a.rulings, a.recorded = map[string]bool{}, map[string]*ruling{}, a.conversation.Results()
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
	input := inputOf(m)
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
		run, err = again(ctx, a.s, func() (wire.Run, error) { return a.s.client.Run(ctx, run.ID) })
		if err != nil {
			return err
		}
		for _, p := range run.Pending {
			if err := a.answer(ctx, run.ID, p); err != nil {
				return err
			}
		}
		done := run.Status == core.RunDone.String()
		if err := a.answerLate(ctx, run.ID, done); err != nil {
			return err
		}
		if done {
			a.s.report.Steps += run.Steps
			return a.ended(run)
		}
		if err := a.s.world.Sleep(ctx, a.patience(run)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// patience is how long to wait before looking again: where only a deadline will bring news, longer.
func (a *actor) patience(run wire.Run) time.Duration {
	for _, p := range run.Pending {
		if r := a.rulings[p.CallID]; r == nil || !r.silent || p.Kind != core.KindApproval.String() {
			return look
		}
	}
	if len(run.Pending) == 0 {
		return look
	}
	return 6 * look
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

// answer decides on a call that waits, unless it is one that nobody answers.
func (a *actor) answer(ctx context.Context, run string, p wire.Pending) error {
	if p.Kind == core.KindUnknownOutcome.String() {
		return a.decide(ctx, run, a.whatHappened(p))
	}
	r := a.rulings[p.CallID]
	if r == nil {
		r = a.rule(p)
		a.rulings[p.CallID] = r
	}
	if r.silent {
		return nil
	}
	return a.decide(ctx, run, r.decision)
}

func decisionOn(p wire.Pending) wire.Decision {
	return wire.Decision{DecisionID: "decided " + p.Suspension.ID, Target: p.Suspension.ID, Action: core.ActionResume.String()}
}

// whatHappened tells the truth about a call whose process was lost.
func (a *actor) whatHappened(p wire.Pending) wire.Decision {
	d := decisionOn(p)
	out, ok := a.s.cast.happened(a.name, p.CallID)
	switch {
	case ok && out.Failed:
		d.Error, d.Action = out.Text, ""
	case ok:
		d.Result = core.Encode(out.Text)
	}
	return d
}

func (a *actor) decide(ctx context.Context, run string, d wire.Decision) error {
	_, err := again(ctx, a.s, func() (wire.DecisionAnswer, error) { return a.s.client.Decide(ctx, run, d) })
	if err != nil {
		return fmt.Errorf("deciding %s: %w", d.Target, err)
	}
	if !a.answered[d.Target] {
		a.answered[d.Target] = true
		a.s.report.Decisions++
	}
	return nil
}

// answerLate answers the silent calls whose deadline passed long enough ago; before the next run
// begins, all of them. An answer that still came before the run had noticed is taken, and counts.
func (a *actor) answerLate(ctx context.Context, run string, all bool) error {
	for _, id := range slices.Sorted(maps.Keys(a.rulings)) {
		r := a.rulings[id]
		if !r.silent || !r.late || r.lateSent {
			continue
		}
		wait := r.answerAt.Sub(a.s.world.Now())
		switch {
		case wait > 0 && !all:
			continue
		case wait > 0:
			if err := a.s.world.Sleep(ctx, wait); err != nil {
				return err
			}
		}
		r.lateSent = true
		a.s.report.Late++
		var refused *client.Error
		err := a.decide(ctx, run, r.decision)
		switch {
		case err == nil:
			r.inTime = true
			a.s.report.LateInTime++
		case !errors.As(err, &refused):
			return err
		}
	}
	return nil
}

// compare reads the conversation back and holds it against the recording.
func (a *actor) compare(ctx context.Context) {
	if a.thread == "" {
		return
	}
	messages, err := again(ctx, a.s, func() ([]wire.Message, error) {
		return client.Collect(a.s.client.Messages(ctx, a.thread, client.MessageOptions{Data: true}))
	})
	if err != nil {
		a.s.report.mismatch(a.conversation, err.Error())
		return
	}
	var got []core.Message
	for _, m := range messages {
		a.s.report.Calls += len(m.ToolCalls)
		// the runtime's own notices are no part of the conversation
		if m.Role != string(core.RoleSystem) {
			got = append(got, recording.MessageOf(m))
		}
	}
	want := a.conversation.WithResults(a.hold(got, a.history(ctx)))
	for _, m := range recording.Compare(want, got) {
		a.s.report.mismatch(a.conversation, m.String())
	}
	for _, call := range a.s.cast.twice(a.name, got) {
		a.s.report.Twice = append(a.s.report.Twice, a.conversation.ID+": "+call)
	}
}

// history reads the event log: how each call ended, and how often something had to wait.
func (a *actor) history(ctx context.Context) (ends map[string][]core.EventType) {
	ends = map[string][]core.EventType{}
	page, err := again(ctx, a.s, func() (wire.Page[wire.Run], error) {
		return a.s.client.ThreadRunPage(ctx, a.thread, client.RunFilter{Limit: 100})
	})
	for _, run := range page.Items {
		after := ""
		for err == nil {
			var events wire.EventPage
			events, err = again(ctx, a.s, func() (wire.EventPage, error) {
				return a.s.client.EventPage(ctx, run.ID, client.EventQuery{After: after, Limit: 1000})
			})
			for _, e := range events.Items {
				a.note(e, ends)
			}
			if after = events.Next; events.Done || len(events.Items) == 0 {
				break
			}
		}
	}
	if err != nil {
		a.s.report.mismatch(a.conversation, "reading its events: "+err.Error())
	}
	return ends
}

func (a *actor) note(e wire.Event, ends map[string][]core.EventType) {
	switch t := core.EventType(e.Type); t {
	case core.EventCallSuspended:
		a.s.report.Suspensions++
	case core.EventStepReset:
		a.s.report.PutOff++
	case core.EventCallSucceeded, core.EventCallFailed, core.EventCallCancelled:
		var call wire.CallEndedData
		if err := json.Unmarshal(e.Data, &call); err != nil {
			a.s.report.mismatch(a.conversation, fmt.Sprintf("event %d: %v", e.Seq, err))
			return
		}
		ends[call.CallID] = append(ends[call.CallID], t)
	}
}

// inputOf is a recorded message of the user as an input: its text, and its images and documents in
// their places.
func inputOf(m core.Message) json.RawMessage {
	var parts []core.Part
	for _, p := range m.Parts {
		if p.Type == core.PartText || p.Type == core.PartImage || p.Type == core.PartDocument {
			parts = append(parts, p)
		}
	}
	if parts == nil {
		parts = []core.Part{{Type: core.PartText}}
	}
	return core.Encode(parts)
}

// again repeats a request until the server has answered it for good, as a careful caller does: the
// same request, the same key.
func again[T any](ctx context.Context, s *stage, request func() (T, error)) (T, error) {
	for {
		v, err := request()
		var refused *client.Error
		if err == nil || errors.As(err, &refused) && !refused.Retryable() {
			return v, err
		}
		if err := s.world.Sleep(ctx, asAgain); err != nil {
			return v, err
		}
	}
}
