package httpapi_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// example is an event that the document shows: the first one of its type in a story whose text
// contains has.
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
	{core.EventTextEnded, "cut", "", "cut off by a cancel"},
	{core.EventCallReady, "edited", "issue_refund", ""},
	{core.EventCallInvalid, "refused", "", ""},
	{core.EventDecisionRefused, "escalated", "", ""},
	{core.EventCallStarted, "edited", `"live":true`, "live"},
	{core.EventCallStarted, "edited", `"status":"running","tool_name":"find_order"`, "stored"},
	{core.EventCallProgress, "edited", "", ""},
	{core.EventCallInvalidAnswer, "client", "", ""},
	{core.EventCallStarted, "edited", "issue_refund", "an at-most-once call whose arguments an approver edited"},
	{core.EventCallSuspended, "edited", "", ""},
	{core.EventChildStarted, "family", "", ""},
	{core.EventChildEnded, "family", "", ""},
	{core.EventRemoteStarted, "outpost", "", ""},
	{core.EventRemoteEnded, "outpost", "", ""},
	{core.EventContinueRecorded, "below", "", ""},
	{core.EventCallReminded, "reminded", "", ""},
	{core.EventCallEscalated, "escalated", "", ""},
	{core.EventCallDeadlineNear, "near", "", ""},
	{core.EventDecisionWithdrawn, "withdrawn", "", ""},
	{core.EventDecisionRecorded, "edited", "", ""},
	{core.EventCallResuming, "edited", "", ""},
	{core.EventCallSucceeded, "edited", "issue_refund", ""},
	{core.EventCallFailed, "refused", "find_order", "failed by the tool"},
	{core.EventCallFailed, "refused", "denied_by_rule", "denied by a rule"},
	{core.EventCallFailed, "deadline", "", "timed out"},
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
	{core.EventTurnEnded, "client", `"suspended"`, "the run is suspended"},
	{core.EventTurnEnded, "edited", `"done"`, "the run is done"},
	{core.EventRunEnded, "forgetful", "", ""},
	{core.EventActivationEnded, "edited", `"suspended_approval"`, ""},
}

// TestOpenAPIEventsPage plays runs that produce every type of event, and checks the samples in the
// document and docs/reference/events.md against them.
func TestOpenAPIEventsPage(t *testing.T) {
	told := playStories(t)
	if t.Failed() {
		return
	}
	shown := map[string][]httpapi.EventSample{}
	for _, one := range examples {
		shown[string(one.of)] = append(shown[string(one.of)], httpapi.EventSample{About: one.about, Event: one.find(t, told)})
	}
	for kind := range wire.EventData {
		if len(shown[kind]) == 0 {
			t.Errorf("%s has no example", kind)
		}
	}
	httpapi.CheckEventSamples(t, shown)
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
