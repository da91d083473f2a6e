package rehearsal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// made is a call of the model that has its result.
type made struct {
	at        int // among all calls of the thread
	tool      string
	arguments json.RawMessage // as the model asked
	ran       json.RawMessage // what the tool was given; nil if it was not called
	result    string
	failed    bool
}

// compare says where the run is not as expected.
func (p *player) compare(ctx context.Context, e Expectation) ([]Difference, error) {
	d := p.compareWords(e)
	if e.Output != nil && !e.Output.Fits(orNull(p.run.Output)) {
		d = append(d, Difference{"output", e.Output.String(), string(orNull(p.run.Output))})
	}
	if e.Pending != nil {
		d = append(d, compareCalls("pending", *e.Pending, p.run.Pending, Expected.waits, showPending)...)
	}
	if e.Calls == nil {
		return d, nil
	}
	calls, err := p.calls(ctx)
	if err != nil {
		return nil, err
	}
	return append(d, compareCalls("calls", *e.Calls, calls, Expected.was, showMade)...), nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

func (p *player) compareWords(e Expectation) []Difference {
	var reason, state, code string
	if p.run.Reason != nil {
		reason = *p.run.Reason
	}
	if p.run.ResponseState != nil {
		state = *p.run.ResponseState
	}
	if p.run.Error != nil {
		code = p.run.Error.Code
	}
	var d []Difference
	for _, word := range []Difference{
		{"status", e.Status, p.run.Status}, {"reason", e.Reason, reason}, {"code", e.Code, p.run.Code},
		{"response_state", e.ResponseState, state}, {"error", e.Error, code},
	} {
		if word.Expected != "" && word.Expected != word.Found {
			d = append(d, Difference{word.What, word.Expected, orNone(word.Found)})
		}
	}
	return d
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// compareCalls holds calls against the expected ones, in order.
func compareCalls[C any](what string, want []Expected, found []C, fit func(Expected, C) bool, show func(C) string) []Difference {
	var d []Difference
	for i := range max(len(want), len(found)) {
		place := fmt.Sprintf("%s %d", what, i+1)
		switch {
		case i >= len(found):
			d = append(d, Difference{place, want[i].String(), "none"})
		case i >= len(want):
			d = append(d, Difference{place, "none", show(found[i])})
		case !fit(want[i], found[i]):
			d = append(d, Difference{place, want[i].String(), show(found[i])})
		}
	}
	return d
}

func (e Expected) String() string {
	text := e.Tool
	if e.Kind != "" {
		text = e.Kind + " of " + text
	}
	if e.Arguments != nil {
		text += " " + e.Arguments.String()
	}
	if e.Ran != nil {
		text += ", run with " + e.Ran.String()
	}
	if e.Message != nil {
		text += ", shown with " + e.Message.String()
	}
	if e.Result != nil {
		text += " with the result " + e.Result.String()
	}
	if e.Failed != nil {
		text += map[bool]string{true: ", failed", false: ", not failed"}[*e.Failed]
	}
	return text
}

// waits says whether a pending call is the one expected.
func (e Expected) waits(c wire.Pending) bool {
	message := core.Encode(c.Suspension.Message)
	return e.Tool == c.Tool && (e.Kind == "" || e.Kind == c.Kind) &&
		(e.Arguments == nil || e.Arguments.Fits(orNull(c.Arguments))) && (e.Message == nil || e.Message.Fits(message))
}

func showPending(c wire.Pending) string {
	text := fmt.Sprintf("%s of %s %s", c.Kind, c.Tool, c.Arguments)
	if c.Suspension.Message != "" {
		text += fmt.Sprintf(", shown with %q", c.Suspension.Message)
	}
	return text
}

// was says whether a call that was made is the one expected.
func (e Expected) was(c made) bool {
	return e.Tool == c.tool && (e.Arguments == nil || e.Arguments.Fits(orNull(c.arguments))) && (e.Ran == nil || c.ran != nil && e.Ran.Fits(c.ran)) &&
		(e.Result == nil || e.Result.FitsText(c.result)) && (e.Failed == nil || *e.Failed == c.failed)
}

func showMade(c made) string {
	text := fmt.Sprintf("%s %s", c.tool, c.arguments)
	switch {
	case c.ran == nil:
		text += ", not run,"
	case !bytes.Equal(c.ran, c.arguments):
		text += fmt.Sprintf(", run with %s,", c.ran)
	}
	text += fmt.Sprintf(" with the result %q", c.result)
	if c.failed {
		text += ", failed"
	}
	return text
}

// calls are those of the model that got a result since the last thing that was said, in the order
// in which the model asked for them: that of the results differs from run to run if several work at
// the same time.
func (p *player) calls(ctx context.Context) ([]made, error) {
	messages, err := client.Collect(p.client.Messages(ctx, p.run.ThreadID, client.MessageOptions{}))
	if err != nil {
		return nil, err
	}
	ran, err := p.ran(ctx)
	if err != nil {
		return nil, err
	}
	asked, count := map[string]made{}, 0 // the last call of each id
	var calls []made
	for i, m := range messages {
		for _, call := range m.ToolCalls {
			asked[call.ID] = made{at: count, arguments: call.Arguments}
			count++
		}
		if m.CallID == "" || m.Pending || i < p.since {
			continue
		}
		call := asked[m.CallID]
		call.tool, call.result, call.failed = m.Tool, m.Text+core.AddedToResult(m.RanWith, m.Added), m.Error
		if edited, ok := ran[m.CallID]; ok {
			call.ran = edited
			if edited == nil {
				call.ran = orNull(call.arguments)
			}
		}
		calls = append(calls, call)
	}
	slices.SortStableFunc(calls, func(x, y made) int { return cmp.Compare(x.at, y.at) })
	return calls, nil
}

// ran returns the run's calls that ran, here or as a run of another agent, with the arguments that
// an approver substituted; nil if no approver edited them.
func (p *player) ran(ctx context.Context) (map[string]json.RawMessage, error) {
	calls := map[string]json.RawMessage{}
	for cursor := ""; ; {
		page, err := p.client.EventPage(ctx, p.run.ID, client.EventQuery{After: cursor})
		if err != nil {
			return nil, err
		}
		for _, e := range page.Items {
			var call struct {
				ID        string          `json:"call_id"`
				Arguments json.RawMessage `json:"arguments"` // of call.started
				RanWith   json.RawMessage `json:"ran_with"`
				Applied   bool            `json:"applied"` // of child.ended
				Outcome   string          `json:"outcome"`
			}
			if json.Unmarshal(e.Data, &call) != nil {
				continue
			}
			_, began := calls[call.ID]
			switch {
			case e.Type == "call.started":
				calls[call.ID] = call.Arguments
			case e.Type == "child.ended" && call.Applied && call.Outcome != string(core.CallOutcomeChildUnavailable):
				calls[call.ID] = nil
			case began && call.RanWith != nil: // the result of a call of an agent
				calls[call.ID] = call.RanWith
			}
		}
		if cursor = page.Next; len(page.Items) == 0 || page.Done {
			return calls, nil
		}
	}
}
