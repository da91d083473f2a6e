package core

import (
	"encoding/json"
	"strings"
)

// FeedMarks say which events of a tenant's feed a segment holds, one letter for each kind, so that
// an index shows it without the segment. The empty value is a segment that is not in the feed.
type FeedMarks string

// The letters of [FeedMarks]. They are stored.
const (
	FeedSuspensions FeedMarks = "s" // a call begins to wait
	FeedDecisions   FeedMarks = "d" // a decision is recorded
	FeedEnds        FeedMarks = "e" // a run is done
)

// Any says whether the marks contain one of the given ones.
func (m FeedMarks) Any(of FeedMarks) bool { return strings.ContainsAny(string(m), string(of)) }

// FeedTypes are the types of the events in a feed, with their marks. Of the events run.status, only
// the one that says done is in it.
var FeedTypes = map[EventType]FeedMarks{
	EventCallSuspended:    FeedSuspensions,
	EventDecisionRecorded: FeedDecisions,
	EventRunStatus:        FeedEnds,
}

// FeedMark is the mark of the event; empty if it is not in the feed.
func (e Event) FeedMark() FeedMarks {
	mark := FeedTypes[e.Type]
	if mark == FeedSuspensions {
		if call, ok := SuspendedIn(e); ok && call.Kind == KindChild {
			return "" // its call waits for no one
		}
	}
	if mark != FeedEnds {
		return mark
	}
	var run struct {
		Status string `json:"status"`
	}
	if json.Unmarshal(e.Data, &run) == nil && run.Status == RunDone.String() {
		return FeedEnds
	}
	return ""
}

// FeedMarks are the marks of all events of the segment, each once, in the order of the constants.
func (s Segment) FeedMarks() (marks FeedMarks) {
	var found FeedMarks
	for _, e := range s.Events {
		found += e.FeedMark()
	}
	for _, mark := range []FeedMarks{FeedSuspensions, FeedDecisions, FeedEnds} {
		if found.Any(mark) {
			marks += mark
		}
	}
	return marks
}
