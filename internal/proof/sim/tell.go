package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// What operations are in words, for whoever follows a schedule. Nothing here is made unless
// somebody does.

func (w *World) tell(words func() string) {
	if w.Traced() {
		w.Note("%s", words())
	}
}

func toldClaim(req engine.ClaimRequest, h core.Head, err error) string {
	if err != nil {
		return "claims " + short(req.Thread) + ": " + toldError(err)
	}
	return fmt.Sprintf("claims %s, epoch %d, %s", short(h.Run), h.Epoch, toldInbox(h))
}

func toldInbox(h core.Head) string {
	if len(h.Inbox) == 0 {
		return "with an empty inbox"
	}
	return "with " + strings.Join(sortedKeys(h.Inbox), ", ") + " in the inbox"
}

func toldCommit(req engine.CommitRequest, err error) string {
	next := req.Next
	var what []string
	if s := req.Segment; s != nil {
		what = append(what, fmt.Sprintf("segment %d (%s)", s.Seq, toldSegment(*s)))
	}
	if len(req.Drained) > 0 {
		what = append(what, "takes "+strings.Join(req.Drained, ", ")+" out of the inbox")
	}
	for _, id := range sortedKeys(next.Calls) {
		what = append(what, id+" is "+next.Calls[id].Status.String())
	}
	if next.End != nil {
		what = append(what, strings.TrimSpace("the end is "+next.End.Kind.String()+" "+next.End.Code))
	}
	if next.Lease == 0 {
		what = append(what, "gives the run up as "+next.Status.String())
	}
	return fmt.Sprintf("commits revision %d of %s: %s: %s", next.Rev, short(next.Run), strings.Join(what, "; "), toldError(err))
}

func toldSegment(s core.Segment) string {
	var what []string
	for _, m := range s.Messages {
		what = append(what, toldMessage(m))
	}
	for _, e := range s.Events {
		switch e.Type {
		case core.EventCallSuspended, core.EventCallResuming, core.EventCallStarted, core.EventHookFailed, core.EventMessageQueued,
			core.EventInterruptRecorded, core.EventStepReset:
			what = append(what, string(e.Type)+named(e.Data))
		case core.EventDecisionRecorded:
			what = append(what, toldRecord(e.Data))
		}
	}
	return strings.Join(what, ", ")
}

func named(data json.RawMessage) string {
	var of struct {
		CallID string `json:"call_id"`
	}
	if json.Unmarshal(data, &of) != nil || of.CallID == "" {
		return ""
	}
	return " " + of.CallID
}

func toldRecord(data json.RawMessage) string {
	var r core.DecisionRecord
	_ = json.Unmarshal(data, &r)
	what := "in vain"
	switch {
	case r.TimedOut:
		what = "by its deadline"
	case r.Late:
		what = "too late"
	case r.Applied:
		what = "applied"
	}
	return fmt.Sprintf("decision %q on %s (%s) %s", r.DecisionID, r.CallID, toldResume(r.Resume), what)
}

// toldResume is what a decision says.
func toldResume(r core.Resume) string {
	said := r.Action.String()
	if r.Error != "" {
		said = "error " + cutText(r.Error)
	}
	for _, part := range []struct{ words, value string }{{", result ", string(r.Result)}, {", with the arguments ", string(r.Arguments)}, {", for ", string(r.Grant)},
		{", because ", r.Reason}} {
		if part.value != "" && part.value != "null" {
			said += part.words + cutText(part.value)
		}
	}
	return said
}

func toldMessage(m core.Message) string {
	switch {
	case m.Role == core.RoleAssistant && len(m.Calls) > 0:
		var calls []string
		for _, c := range m.Calls {
			calls = append(calls, fmt.Sprintf("%s %s%s", c.ID, c.Name, c.Arguments))
		}
		return "the model calls " + strings.Join(calls, " and ")
	case m.Role == core.RoleAssistant:
		return fmt.Sprintf("the model says %q", m.Text())
	case m.Role == core.RoleTool:
		return fmt.Sprintf("%s came to %q", m.CallID, cutText(m.Text()))
	}
	return fmt.Sprintf("%s: %q", m.Role, cutText(m.Text()))
}

func toldSignal(req engine.SignalRequest, err error) string {
	what := string(req.Signal.Kind) + " " + req.InboxKey
	if req.Signal.Kind == core.SignalDecision || req.Signal.Kind == core.SignalLate {
		what = fmt.Sprintf("decision %q on %s (%s)", req.Signal.ID, req.Signal.Call, req.InboxKey)
	}
	for _, one := range req.Together {
		what += fmt.Sprintf(" and decision %q on %s (%s)", one.Signal.ID, one.Call, one.Suspension)
	}
	return fmt.Sprintf("leaves for %s %s: %s", short(req.Run), what, toldError(err))
}

func toldStart(req engine.StartRequest, err error) string {
	return fmt.Sprintf("starts %s with %s: %s", short(req.Head.Run), strings.Join(sortedKeys(req.Head.Inbox), ", "), toldError(err))
}

func toldError(err error) string {
	if err == nil {
		return "done"
	}
	return "refused: " + strings.TrimPrefix(err.Error(), "engine: ")
}

// short is the end of an id: its beginning is the same for all of a thread.
func short(id string) string {
	const end = 8
	if len(id) <= end {
		return id
	}
	return id[:4] + "…" + id[len(id)-end:]
}

func cutText(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
