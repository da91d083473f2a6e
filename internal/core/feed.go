package core

import (
	"encoding/json"
	"strings"
)

// FeedMarks say which events of a tenant's feed a segment holds, one letter for each kind, so that an index shows it without the segment. The
// empty value is a segment that is not in the feed.
type FeedMarks string

// The letters of [FeedMarks]. They are stored.
const (
	FeedSuspensions FeedMarks = "s" // a call begins to wait
	FeedDecisions   FeedMarks = "d" // a decision is recorded
	FeedEnds        FeedMarks = "e" // a run is done
)

// Has says whether the marks contain the given one.
func (m FeedMarks) Has(mark FeedMarks) bool {
	return mark != "" && strings.Contains(string(m), string(mark))
}

// FeedMark is the kind of feed event that e is; empty if it is none.
func (e Event) FeedMark() FeedMarks {
	switch e.Type {
	case EventCallSuspended:
		return FeedSuspensions
	case EventDecisionRecorded:
		return FeedDecisions
	case EventRunStatus:
		var run struct {
			Status string `json:"status"`
		}
		if json.Unmarshal(e.Data, &run) == nil && run.Status == RunDone.String() {
			return FeedEnds
		}
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
		if found.Has(mark) {
			marks += mark
		}
	}
	return marks
}
