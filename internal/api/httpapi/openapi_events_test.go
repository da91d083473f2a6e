package httpapi

import (
	"reflect"

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
		{core.EventTurnStarted, "A turn began: the run works until it is done or waits. `cause` says what started it.", false},
		{core.EventRunStarted, "The run began. A retry names the run it continues.", false},
		{core.EventTurnEnded, "The turn is over: the run is done, or waits.", false},
		{core.EventActivationEnded, "A worker released the run: it is done, it waits, or its next step is due.", false},
	}},
	{"Messages and requests", []event{
		{core.EventMessageReceived, "A user message was added to the conversation. If it answers a call, its text is the result of that call.", false},
		{core.EventMessageQueued, "A user message waits for the end of the run. It starts the next run of the thread.", false},
		{core.EventInterruptRecorded, "A caller asked to interrupt the run. If `applied` is false, it changed nothing: the run was paused already, or ended.", false},
		{core.EventCancelRecorded, "A caller asked to cancel the run.", false},
	}},
	{"The model", []event{
		{core.EventStepStarted, "The model was asked and answered. The event is committed with the answer, so it also says how long that took and what it used.", false},
		{core.EventReasoningDelta, "The model is thinking this now.", true},
		{core.EventTextDelta, "The model is saying this now.", true},
		{core.EventReasoningEnded, "The model's reasoning, whole. It replaces the deltas of the same `part_id`.", false},
		{core.EventTextEnded, "The model's text, whole. It replaces the deltas of the same `part_id`.", false},
		{core.EventStepReset, "The deltas of the step are void. With the reasons `repeated` and `cancelled` the event is live; the others are stored.", false},
		{core.EventStepEnded, "The step is over: each of its calls has ended or waits.", false},
	}},
	{"Tool calls", []event{
		{core.EventCallReady, "The model asked for a tool call.", false},
		{core.EventCallInvalid, "The arguments of a call were refused. The call fails with `invalid_arguments`.", false},
		{core.EventCallStarted, "The tool's body started. With `live: true` it is running now; the stored event follows when its outcome is committed. The stored event of an at-most-once call is committed before its body starts.", false},
		{core.EventCallProgress, "The tool reports how far it is.", true},
		{core.EventCallSuspended, "The call waits for an answer. The shape is that of `pending` in a run and of an entry in the inbox, which add `requests`, `said`, `tool_details` and `fingerprint`.", false},
		{core.EventCallInvalidAnswer, "A client sent a result that does not fit the schema of its call. It was refused, and the call still waits. At most 8 are recorded for one suspension.", false},
		{core.EventDecisionRecorded, "A decision was taken from the inbox. `applied` says whether it took effect.", false},
		{core.EventCallResuming, "The call goes on with the decision.", false},
		{core.EventCallSucceeded, "The call has a result.", false},
		{core.EventCallFailed, "The call failed. `outcome` says why.", false},
		{core.EventCallCancelled, "The call was cancelled. `outcome` says by whom or what.", false},
	}},
	{"State, hooks and memory", []event{
		{core.EventStateDelta, "Tools or hooks changed the state they share.", false},
		{core.EventStateSnapshot, "The whole state, at the end of a step that changed it.", false},
		{core.EventHookFailed, "A hook failed or was not called. The run goes on.", false},
		{core.EventMemoryFailed, "The agent's memory failed. The run goes on. `detail` is `recall_failed`, `commit_failed` or `given_up`.", false},
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
		of.OneOf = append(of.OneOf, one)
	}
}

// streamEvent is one event of a stream, as readers of server-sent events see it.
func streamEvent() *jsonschema.Schema {
	types := &schema{Type: "string"}
	for _, e := range events {
		types.Enum = append(types.Enum, string(e.of))
	}
	types.Enum = append(types.Enum, "counts")
	e := object("id", &schema{Type: "string", Description: "The event's cursor, for `Last-Event-ID`."}, "event", types,
		"data", &schema{Type: "string", Description: "The event as JSON. With `counts`, which only the stream of `readTenantEvents` has, it is a `Counts`.", ContentMediaType: mediaJSON,
			ContentSchema: &schema{AnyOf: []*schema{refTo("Event"), refTo("Counts")}}})
	e.Description = "A stream is any number of these, in the form of server-sent events."
	return e
}
