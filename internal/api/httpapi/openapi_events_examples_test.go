package httpapi_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// example is an event that the page shows: the first one of its type in a story whose text has some
// words.
type example struct {
	of    core.EventType
	story string
	has   string
	about string // where a type has several
}

var examples = []example{
	{core.EventRunStatus, "edited", `"done"`, ""},
	{core.EventTurnStarted, "edited", `"decision"`, ""},
	{core.EventRunStarted, "retried", "", ""},
	{core.EventMessageReceived, "question", `"answers"`, ""},
	{core.EventStepStarted, "edited", `"cache_read_tokens"`, ""},
	{core.EventTextDelta, "edited", "", ""},
	{core.EventReasoningDelta, "edited", "", ""},
	{core.EventReasoningEnded, "edited", "", ""},
	{core.EventTextEnded, "edited", "", ""},
	{core.EventTextEnded, "cut", "", "Cut off by a cancel"},
	{core.EventCallReady, "edited", "issue_refund", ""},
	{core.EventCallInvalid, "refused", "", ""},
	{core.EventCallStarted, "edited", `"live":true`, "Live"},
	{core.EventCallStarted, "edited", `"status":"running","tool_name":"find_order"`, "Stored"},
	{core.EventCallProgress, "edited", "", ""},
	{core.EventCallInvalidAnswer, "client", "", ""},
	{core.EventCallStarted, "edited", "issue_refund", "Of an at-most-once call whose arguments a person edited"},
	{core.EventCallSuspended, "edited", "", ""},
	{core.EventDecisionRecorded, "edited", "", ""},
	{core.EventCallResuming, "edited", "", ""},
	{core.EventCallSucceeded, "edited", "issue_refund", ""},
	{core.EventCallFailed, "refused", "find_order", "By the tool"},
	{core.EventCallFailed, "refused", "denied_by_rule", "By a rule"},
	{core.EventCallFailed, "deadline", "", "By its deadline"},
	{core.EventCallCancelled, "denied", "", ""},
	{core.EventStateDelta, "edited", `"thread"`, ""},
	{core.EventStateSnapshot, "edited", `"refunded"`, ""},
	{core.EventStepReset, "outage", `"model_unavailable"`, ""},
	{core.EventStepEnded, "edited", "", ""},
	{core.EventHookFailed, "forgetful", "", ""},
	{core.EventMemoryFailed, "forgetful", "", ""},
	{core.EventMessageQueued, "paused", "", ""},
	{core.EventInterruptRecorded, "paused", "", ""},
	{core.EventCancelRecorded, "cancelled", "", ""},
	{core.EventTurnEnded, "client", `"suspended"`, "The run waits"},
	{core.EventTurnEnded, "edited", `"done"`, "The run is done"},
	{core.EventActivationEnded, "edited", `"suspended_approval"`, ""},
}

// TestOpenAPIEventsPage plays runs that meet every type of event, and holds docs/reference/events.md against
// them.
func TestOpenAPIEventsPage(t *testing.T) {
	told := playStories(t)
	if t.Failed() {
		return
	}
	shown := map[string][]httpapi.Example{}
	for _, one := range examples {
		shown[string(one.of)] = append(shown[string(one.of)], httpapi.Example{About: one.about, Text: one.find(t, told)})
	}
	for kind := range wire.EventData {
		if len(shown[kind]) == 0 {
			t.Errorf("%s has no example", kind)
		}
	}
	httpapi.CheckEventsPage(t, shown)
}

func (x example) find(t *testing.T, told map[string][]wire.Event) string {
	t.Helper()
	for _, e := range told[x.story] {
		if e.Type == string(x.of) && strings.Contains(string(core.Encode(e)), x.has) {
			return settled(t, x.story, e)
		}
	}
	t.Errorf("the story %q has no %s with %q", x.story, x.of, x.has)
	return ""
}
