package httpapi

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// event is one type of event: what it tells, and what its data holds.
type event struct {
	of    core.EventType
	about string
	data  *jsonschema.Schema // nil: it has none
}

// events are all types, in the order of a run's life.
func events(s *shapes) []event {
	one := func(name string, of *jsonschema.Schema) map[string]*jsonschema.Schema {
		return map[string]*jsonschema.Schema{name: of}
	}
	text, truth := &schema{Type: "string"}, &schema{Type: "boolean"}
	detail := &schema{Type: "object", Required: []string{"detail"}, Properties: one("detail", text)}
	call := s.of(reflect.TypeFor[core.CallState]())
	ended := &schema{AllOf: []*schema{call, {Type: "object", Properties: one("result", &schema{Type: "string", Description: "What the model was told."})}}}
	return []event{
		{core.EventRunStatus, "The run's status changed.", s.of(reflect.TypeFor[core.RunState]())},
		{core.EventTurnStarted, "The run was taken up.", nil},
		{core.EventRunStarted, "The run begins. A retry names the run that it goes on from.", who(retried())},
		{core.EventMessageReceived, "The user said something. If it answers a call, the call's result is its text.", who(answering(text))},
		{core.EventStepStarted, "The model is asked.", nil},
		{core.EventTextDelta, "Live: what the model is saying just now, from `offset` on, in bytes of UTF-8. It is not committed.", delta()},
		{core.EventReasoningDelta, "Live: the same, of what the model thinks.", delta()},
		{core.EventReasoningEnded, "What the model thought. It takes the place of what its deltas said.", object("part_id", text, "text", text)},
		{core.EventTextEnded, "The model said something. It takes the place of what the deltas of the same `part_id` said.", said()},
		{core.EventCallReady, "The model asked for a call.", object("call_id", text, "tool_name", text, "arguments", anyValue)},
		{core.EventCallInvalid, "The call cannot run as the model asked for it; the model is told.", object("call_id", text, "tool_name", text, "detail", text)},
		{core.EventCallStarted, "The call's body runs; `arguments` are there if somebody edited them.", call},
		{core.EventCallSuspended, "The call waits for an answer.", s.of(reflect.TypeFor[core.SuspendedCall]())},
		{core.EventDecisionRecorded, "An answer was taken up.", s.of(reflect.TypeFor[core.DecisionRecord]())},
		{core.EventCallResuming, "The call goes on with its answer.", call},
		{core.EventCallSucceeded, "The call ended well.", ended},
		{core.EventCallFailed, "The call failed; the model is told.", ended},
		{core.EventCallCancelled, "The call does not run, or not again; the model is told.", ended},
		{core.EventStateDelta, "Tools and hooks changed the state that they share.", s.of(reflect.TypeFor[core.StateDelta]())},
		{core.EventStateSnapshot, "That state at the end of a step.", s.of(reflect.TypeFor[core.State]())},
		{core.EventStepReset, "The model's turn was given up; what its deltas said is void. With `repeated` as its reason it is live.", reset()},
		{core.EventStepEnded, "The step is over.", nil},
		{core.EventHookFailed, "A hook failed or could not be called; the run goes on.", detail},
		{core.EventMemoryFailed, "The agent's memory failed; the run goes on.", detail},
		{core.EventMessageQueued, "A message waits for the end of the run.", who(object("key", text, "parts", &schema{Types: []string{"array", "null"}}))},
		{core.EventInterruptRecorded, "A caller asked to interrupt the run. If it is not `applied`, the run was paused already, or ended.", who(object("id", text, "applied", truth))},
		{core.EventCancelRecorded, "A caller asked to cancel the run.", who(object("applied", truth))},
		{core.EventTurnEnded, "The run is done, or waits.", turnEnd()},
		{core.EventActivationEnded, "The run was put down.", object("activation", millis, "outcome", text, "step", millis)},
	}
}

// delta is the data of a live event.
func delta() *jsonschema.Schema {
	text := &schema{Type: "string"}
	attempt := &schema{Type: "string", Description: "Which try of the model says so. Pieces of two are never put together: step.reset comes between them."}
	return object("part_id", text, "attempt", attempt, "offset", &schema{Type: "integer", Minimum: new(float64)}, "text", text)
}

// said is the data of text.ended; journals of earlier versions name no part.
func said() *jsonschema.Schema {
	s := object("text", &schema{Type: "string"})
	s.Properties["part_id"] = &schema{Type: "string"}
	s.PropertyOrder = append(s.PropertyOrder, "part_id")
	return s
}

// reset is the data of step.reset.
func reset() *jsonschema.Schema {
	text := &schema{Type: "string"}
	s := object("reason", &schema{Type: "string", Description: "`model_unavailable`, `yielded` or `repeated`; more may come."}, "text", text)
	s.Properties["code"], s.Properties["try_at"] = text, millis
	s.Properties["try"] = &schema{Type: "integer", Description: "How many attempts in a row have failed."}
	s.PropertyOrder = append(s.PropertyOrder, "code", "try", "try_at")
	return s
}

// turnEnd is the data of turn.ended.
func turnEnd() *jsonschema.Schema {
	text := &schema{Type: "string"}
	end := object("status", enumOf("done", "suspended"))
	end.Properties["reason"], end.Properties["code"], end.Properties["detail"] = reasons.CloneSchemas(), text, text
	end.Properties["pending"] = &schema{Description: "What the run waits for."}
	end.PropertyOrder = append(end.PropertyOrder, "reason", "code", "detail", "pending")
	return who(end)
}

// who adds the members that say who did it, where that is known.
func who(of *jsonschema.Schema) *jsonschema.Schema {
	of.Properties["by"] = &schema{Type: "string", Description: "The principal, such as `token:anna`."}
	of.Properties["via"] = &schema{Type: "string", Description: "The way it came, such as `api`, `link` or `queue`."}
	of.PropertyOrder = append(of.PropertyOrder, "by", "via")
	return of
}

func retried() *jsonschema.Schema {
	s := object()
	s.Properties["retry_of"] = runID.CloneSchemas()
	s.PropertyOrder = []string{"retry_of"}
	return s
}

func answering(text *jsonschema.Schema) *jsonschema.Schema {
	s := object("text", text)
	s.Properties["answers"] = &schema{Type: "string", Description: "The call whose result it is."}
	s.PropertyOrder = append(s.PropertyOrder, "answers")
	return s
}

// object is an object with these members, all of which are there: names and schemas in turn.
func object(members ...any) *jsonschema.Schema {
	o := &schema{Type: "object", Properties: map[string]*schema{}}
	for i := 0; i < len(members); i += 2 {
		name := members[i].(string)
		o.Properties[name] = members[i+1].(*schema)
		o.PropertyOrder = append(o.PropertyOrder, name)
		o.Required = append(o.Required, name)
	}
	return o
}

// addEvents says what each type of event carries.
func addEvents(s *shapes, all []event) {
	of := s.schemas["Event"]
	for _, e := range all {
		kind := any(string(e.of))
		one := &schema{Title: string(e.of), Description: e.about, Properties: map[string]*schema{"type": {Const: &kind}}, PropertyOrder: []string{"type", "data"}}
		if e.data != nil {
			one.Properties["data"] = e.data.CloneSchemas()
			one.Required = []string{"data"}
		}
		of.OneOf = append(of.OneOf, one)
	}
}

// streamEvent is one event of a stream, as readers of server-sent events see it.
func streamEvent(s *shapes) *jsonschema.Schema {
	types := &schema{Type: "string"}
	for _, e := range events(s) {
		types.Enum = append(types.Enum, string(e.of))
	}
	e := object("id", &schema{Type: "string", Description: "The event's cursor, for `Last-Event-ID`."}, "event", types,
		"data", &schema{Type: "string", Description: "The event as JSON.", ContentMediaType: mediaJSON, ContentSchema: refTo("Event")})
	e.Description = "A stream is any number of these, in the form of server-sent events."
	return e
}
