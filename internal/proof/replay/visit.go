package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

// visit is the person behind one conversation on a target: [actor] over a network, who sees what
// the API shows and nothing else.
type visit struct {
	*remote
	script  script
	client  *client.Client
	thread  string
	runs    []string
	rulings map[string]*ruling // of gated calls, by id
	results map[string]core.Message
	told    map[string]*tale // what the events say of each call
	decided map[string]bool  // suspensions
}

func (v *visit) play(ctx context.Context) error {
	n := 0
	for _, m := range v.script.conversation.Messages {
		if m.Role != core.RoleUser {
			continue
		}
		n++
		run, err := v.say(ctx, n, m)
		if err == nil {
			err = v.follow(ctx, run, openEnd(v.script.conversation, n))
		}
		if err != nil {
			return errors.Join(fmt.Errorf("user message %d: %w", n, err), v.compare(ctx))
		}
	}
	return v.compare(ctx)
}

func (v *visit) say(ctx context.Context, n int, m core.Message) (wire.Run, error) {
	input := inputOf(m)
	key := fmt.Sprintf("%s/%s/%d", v.t.Session, v.script.name, n)
	run, err := insist(ctx, v.silence(), func() (wire.Run, error) {
		if n == 1 {
			return v.client.StartRun(ctx, wire.StartRequest{Agent: v.script.name, Input: input}, key)
		}
		return v.client.SendMessage(ctx, v.thread, wire.MessageRequest{Input: input}, key)
	})
	if err == nil {
		v.thread = run.ThreadID
		v.runs = append(v.runs, run.ID)
		v.note(func(r *Report) { r.Runs++ })
	}
	return run, err
}

// held is how long the server is asked to hold an answer until there is something to see.
const held = 5 * time.Second

// follow answers what the run waits for until it is done.
func (v *visit) follow(ctx context.Context, run wire.Run, open bool) error {
	moved, seen := time.Now(), ""
	for {
		var err error
		run, err = insist(ctx, v.silence(), func() (wire.Run, error) { return v.client.PollRun(ctx, run.ID, held) })
		if err != nil {
			return err
		}
		if now := fmt.Sprint(run.Status, run.UpdatedAt, len(run.Pending)); now != seen {
			moved, seen = time.Now(), now
		}
		for _, p := range run.Pending {
			if err := v.answer(ctx, run.ID, p); err != nil {
				return err
			}
		}
		switch {
		case run.Status == core.RunDone.String():
			v.note(func(r *Report) { r.Steps += run.Steps })
			return endedAsRecorded(run, open)
		case time.Since(moved) > v.silence():
			return fmt.Errorf("run %s is %s and has not moved for %s", run.ID, run.Status, v.silence())
		case len(run.Pending) > 0: // what was answered takes a moment to be seen
			if err := machine.Sleep(ctx, firstPause); err != nil {
				return err
			}
		}
	}
}

// endedAsRecorded refuses an end that the recording does not have. A script that has no turn ends
// its run in error, which is how a recording ends where nobody has the last word.
func endedAsRecorded(run wire.Run, open bool) error {
	reason := ""
	if run.Reason != nil {
		reason = *run.Reason
	}
	switch {
	case !open && reason == core.NaturalEnd.String(),
		open && run.Error != nil && run.Error.Code == "model_error",
		open && reason == core.Stopped.String() && run.Code == recording.Ended:
		return nil
	}
	return fmt.Errorf("run %s ended %s %s %+v", run.ID, reason, run.Code, run.Error)
}

// answer decides on a call that waits. Decisions are made once and sent until they are answered.
func (v *visit) answer(ctx context.Context, run string, p wire.Pending) error {
	d := decisionOn(p)
	// a recorded answer left no mark anywhere: what was lost may run again
	if p.Kind != core.KindUnknownOutcome.String() {
		r := v.rulings[p.CallID]
		if r == nil {
			r = v.rule(p)
			v.rulings[p.CallID] = r
		}
		d.Action, d.Reason, d.Arguments = r.decision.Action, r.decision.Reason, r.decision.Arguments
	}
	if _, err := insist(ctx, v.silence(), func() (wire.DecisionAnswer, error) { return v.client.Decide(ctx, run, d) }); err != nil {
		return fmt.Errorf("deciding %s: %w", d.Target, err)
	}
	if v.decided[d.Target] {
		return nil
	}
	v.decided[d.Target] = true
	v.note(func(r *Report) {
		r.Decisions++
		if p.Kind == core.KindUnknownOutcome.String() {
			r.Unknown++
		}
	})
	return nil
}

// rule makes the decision that the call's fate says.
func (v *visit) rule(p wire.Pending) *ruling {
	r := &ruling{fate: v.fateOf(p.CallID), decision: decisionOn(p)}
	switch {
	case r.deny:
		r.decision.Action, r.decision.Reason = core.ActionCancel.String(), "the caller refuses "+p.CallID
	case r.edit:
		r.decision.Arguments = edited(p.Arguments)
	}
	return r
}

// compare reads the conversation back and holds it against the recording.
func (v *visit) compare(ctx context.Context) error {
	if v.thread == "" {
		return nil
	}
	messages, err := insist(ctx, v.silence(), func() ([]wire.Message, error) {
		return client.Collect(v.client.Messages(ctx, v.thread, client.MessageOptions{Data: true}))
	})
	if err == nil {
		err = v.readEvents(ctx)
	}
	if err != nil {
		return fmt.Errorf("reading it back: %w", err)
	}
	var got []core.Message
	for _, m := range messages {
		v.note(func(r *Report) { r.Calls += len(m.ToolCalls) })
		// the runtime's own notices are no part of the conversation
		if m.Role != string(core.RoleSystem) {
			got = append(got, recording.MessageOf(m))
		}
	}
	want := v.script.conversation.WithResults(v.hold(got))
	for _, m := range recording.Compare(want, got) {
		v.mismatch("%s", m)
	}
	return nil
}

// tale is what the events say of one call.
type tale struct {
	asked   int // waited for an approval
	unknown int // waited for somebody to say what happened
	started []json.RawMessage
	ends    []core.EventType
}

// readEvents reads the log of every run of the thread, which are those that were started and no
// others.
func (v *visit) readEvents(ctx context.Context) error {
	var there []string
	for cursor := ""; ; {
		page, err := insist(ctx, v.silence(), func() (wire.Page[wire.Run], error) {
			return v.client.ThreadRunPage(ctx, v.thread, client.RunFilter{Limit: 100, Cursor: cursor})
		})
		if err != nil {
			return err
		}
		for _, run := range page.Items {
			there = append(there, run.ID)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(there) != len(v.runs) {
		v.mismatch("%d runs were started, and the thread has %d: %v", len(v.runs), len(there), there)
	}
	for _, run := range there {
		if err := v.readLog(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) readLog(ctx context.Context, run string) error {
	for after := ""; ; {
		page, err := insist(ctx, v.silence(), func() (wire.EventPage, error) {
			return v.client.EventPage(ctx, run, client.EventQuery{After: after, Limit: 1000})
		})
		if err != nil {
			return err
		}
		for _, e := range page.Items {
			v.read(e)
		}
		if after = page.Next; page.Done || len(page.Items) == 0 {
			return nil
		}
	}
}

// said is what the events of a call have in common.
type said struct {
	CallID    string          `json:"call_id"`
	Kind      string          `json:"kind"`
	Arguments json.RawMessage `json:"arguments"`
}

func (v *visit) read(e wire.Event) {
	var s said
	if json.Unmarshal(e.Data, &s) != nil || s.CallID == "" {
		return
	}
	t := v.told[s.CallID]
	if t == nil {
		t = &tale{}
		v.told[s.CallID] = t
	}
	switch kind := core.EventType(e.Type); kind {
	case core.EventCallSuspended:
		v.note(func(r *Report) { r.Suspensions++ })
		if s.Kind == core.KindUnknownOutcome.String() {
			t.unknown++
		} else {
			t.asked++
		}
	case core.EventCallStarted:
		t.started = append(t.started, s.Arguments)
	case core.EventCallSucceeded, core.EventCallFailed, core.EventCallCancelled:
		t.ends = append(t.ends, kind)
	}
}
