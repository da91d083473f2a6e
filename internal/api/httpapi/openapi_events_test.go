package httpapi

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// event is one type of event: when it is written, and what its data holds.
type event struct {
	of    core.EventType
	about string
	live  bool // it is sent while something happens, and never stored
}

// eventGroup is what the page has under one heading.
type eventGroup struct {
	title  string
	events []event
}

// eventGroups has all types. Those of a group follow one another in the order of a run's life;
// those that share their data stand together.
var eventGroups = []eventGroup{
	{"Runs and turns", []event{
		{core.EventRunStatus, "The status of the run changed.", false},
		{core.EventRunEnded, "The end of the run is certain. Stored only if a subscriber is notified of ends; `run.status` follows.", false},
		{core.EventTurnStarted, "A turn began, for the reason in `cause`.", false},
		{core.EventRunStarted, "The run began. If the run is a retry, `retry_of` is the id of the earlier run.", false},
		{core.EventTurnEnded, "The turn ended: the run is done or suspended.", false},
		{core.EventActivationEnded, "A worker stopped working on the run: the run is done or suspended, or its next step is due.", false},
	}},
	{"Messages and requests", []event{
		{core.EventMessageReceived, "A user message was added to the conversation. If it answers a call, its text is the call's result.", false},
		{core.EventMessageQueued, "A user message was queued. When the run ends, it starts the thread's next run.", false},
		{core.EventInterruptRecorded, "A caller interrupted the run. `applied: false` means that the interrupt had no effect because the run was already interrupted or done.", false},
		{core.EventContinueRecorded, "The run above resumed, and this run with it.", false},
		{core.EventCancelRecorded, "A caller cancelled the run.", false},
	}},
	{"The model", []event{
		{core.EventStepStarted, "The model answered. The event is committed with the answer, and has the answer's duration and token usage.", false},
		{core.EventReasoningDelta, "A piece of the model's reasoning.", true},
		{core.EventTextDelta, "A piece of the model's text.", true},
		{core.EventReasoningEnded, "The model's complete reasoning. It replaces the deltas with the same `part_id`.", false},
		{core.EventTextEnded, "The model's complete text. It replaces the deltas with the same `part_id`.", false},
		{core.EventStepReset, "Discard the deltas of the step. The event is live if `reason` is `repeated` or `cancelled`, and stored otherwise.", false},
		{core.EventStepEnded, "The step ended: each of its calls has ended or is suspended.", false},
	}},
	{"Tool calls", []event{
		{core.EventCallReady, "The model requested a tool call.", false},
		{core.EventCallInvalid, "The arguments were refused. The call fails with `invalid_arguments`.", false},
		{core.EventCallStarted, "The tool started. At the start, readers get a live event (`live: true`). The stored event follows with the outcome; if the call is at-most-once, it is stored before the tool starts.", false},
		{core.EventCallProgress, "The tool reported its progress.", true},
		{core.EventCallSuspended, "The call waits for an answer. Entries of a run's `pending` and of the inbox have the same members. Only those entries set `requests`, `said`, `tool_details` and `fingerprint`.", false},
		{core.EventChildStarted, "The call waits for a run of another agent, which is about to be started.", false},
		{core.EventChildEnded, "That run ended. The result of the call follows, unless `applied` is false: then the call no longer waited.", false},
		{core.EventRemoteStarted, "The run's remote agent accepted the task.", false},
		{core.EventRemoteEnded, "The remote agent no longer works on the task, as far as is known. If the run ended first, the agent is asked to stop until it confirms.", false},
		{core.EventCallReminded, "The call still waits, and a reminder of its policy was due.", false},
		{core.EventCallEscalated, "The call still waits, and its policy asks another group. With `replaced`, it is asked under another suspension, in the next event.", false},
		{core.EventCallDeadlineNear, "A quarter of the time for an answer is left. The event occurs if a target or a webhook was subscribed to it when the call was suspended.", false},
		{core.EventCallInvalidAnswer, "A client sent a result that doesn't match the call's schema. The server refused it, and the call still waits. At most 8 such events are recorded per suspension.", false},
		{core.EventDecisionRefused, "A caller who may not decide about the call tried to. The call still waits. At most 4 such events are recorded per suspension.", false},
		{core.EventDecisionWithdrawn, "The caller withdrew a decision while it was held. It never takes effect, and the call still waits. At most 8 such events are recorded per suspension.", false},
		{core.EventDecisionRecorded, "The run processed a decision. `applied` is true if the decision took effect.", false},
		{core.EventCallResuming, "The call resumes after its decision.", false},
		{core.EventCallSucceeded, "The call has a result.", false},
		{core.EventCallFailed, "The call failed. `outcome` gives the reason.", false},
		{core.EventCallCancelled, "The call was cancelled. `outcome` gives the reason.", false},
	}},
	{"State, hooks and memory", []event{
		{core.EventStateDelta, "Tools or hooks changed the shared state.", false},
		{core.EventStateSnapshot, "The complete state, at the end of a step that changed it.", false},
		{core.EventHookFailed, "A hook failed or wasn't called. The run continues.", false},
		{core.EventMemoryFailed, "The agent's memory failed. The run continues. `detail` is `recall_failed`, `commit_failed` or `given_up`.", false},
	}},
}

// events are all types.
var events = func() (all []event) {
	for _, g := range eventGroups {
		all = append(all, g.events...)
	}
	return all
}()

// dataOf is the schema of an event's data; nil if it has none.
func (e event) dataOf(s *shapes) *jsonschema.Schema {
	make, known := wire.EventData[string(e.of)]
	if !known {
		s.missing = append(s.missing, "data of "+string(e.of))
	}
	if make == nil {
		return nil
	}
	return s.of(reflect.TypeOf(make()).Elem())
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
func addEvents(s *shapes) {
	of := s.schemas["Event"]
	for _, e := range events {
		kind := any(string(e.of))
		one := &schema{Title: string(e.of), Description: e.about, Properties: map[string]*schema{"type": {Const: &kind}}, PropertyOrder: []string{"type", "data"}}
		if data := e.dataOf(s); data != nil {
			one.Properties["data"] = data
			one.Required = []string{"data"}
		}
		e.show(one)
		of.OneOf = append(of.OneOf, one)
	}
}

// show adds events of played runs to a type.
func (e event) show(one *jsonschema.Schema) {
	var abouts []string
	for _, sample := range eventSamples()[string(e.of)] {
		one.Examples = append(one.Examples, json.RawMessage(sample.Event))
		if sample.About != "" {
			abouts = append(abouts, sample.About)
		}
	}
	if abouts != nil {
		one.Description += " The examples show: " + strings.Join(abouts, "; ") + "."
	}
}

// streamEvent is one event of a stream, as readers of server-sent events see it.
func streamEvent() *jsonschema.Schema {
	types := &schema{Type: "string"}
	for _, e := range events {
		types.Enum = append(types.Enum, string(e.of))
	}
	types.Enum = append(types.Enum, "counts")
	e := object("id", &schema{Type: "string", Description: "The cursor of the event, for `Last-Event-ID`."}, "event", types,
		"data", &schema{Type: "string", Description: "The event as JSON. `counts` events, which only `readTenantEvents` sends, hold a `Counts`.", ContentMediaType: mediaJSON,
			ContentSchema: &schema{AnyOf: []*schema{refTo("Event"), refTo("Counts")}}})
	e.Description = "A stream consists of these, as server-sent events."
	return e
}
