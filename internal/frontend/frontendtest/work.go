package frontendtest

import (
	"encoding/json"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
)

// Answer is an answer of the model that asks for calls, which then run.
type Answer struct {
	Text  string
	Took  time.Duration // until the answer was complete; it is complete now
	Calls []Ran
}

// Ran is a call and what came of it, as JSON.
type Ran struct {
	ID, Tool          string
	Arguments, Result json.RawMessage
	Took              time.Duration
}

// Works commits an answer of the model and the calls that it asks for, as the planner journals
// them.
func (w Worker) Works(run string, a Answer) core.Head {
	return w.step(run, func(c *commit) {
		c.head.Step++
		c.event(core.EventStepStarted, core.Turn{AskedAt: c.now - a.Took.Milliseconds(), EndedAt: c.now, InputTokens: 420, OutputTokens: 60}.StepStarted(nil))
		asks := core.Message{Role: core.RoleAssistant, Parts: core.TextParts(a.Text)}
		for _, call := range a.Calls {
			asks.Calls = append(asks.Calls, core.ToolCall{ID: call.ID, Name: call.Tool, Arguments: call.Arguments})
		}
		c.say(asks)
		of := len(c.seg.Messages)
		if a.Text != "" {
			c.eventOf(of, core.EventTextEnded, events.Spoken{PartID: core.PartID(run, core.TextPart, c.head.Step)})
		}
		for _, call := range a.Calls {
			c.eventOf(of, core.EventCallReady, events.Ready{CallID: call.ID})
		}
		for _, call := range a.Calls {
			c.say(core.Message{Role: core.RoleTool, CallID: call.ID, Tool: call.Tool, Outcome: core.CallOutcomeSucceeded.Stored(false), Parts: core.TextParts(string(call.Result))})
			c.eventOf(len(c.seg.Messages), core.EventCallSucceeded, core.Ended{CallState: core.CallState{CallID: call.ID, ToolName: call.Tool, Status: core.CallSucceeded, UpdatedAt: c.now},
				StartedAt: c.now - call.Took.Milliseconds(), EndedAt: c.now, Attempts: 1})
		}
		c.head.Status = core.RunRunning
	})
}

// eventOf is an event with the content of a message of the segment.
func (c *commit) eventOf(message int, t core.EventType, data any) {
	c.event(t, data)
	c.seg.Events[len(c.seg.Events)-1].Message = message
}
