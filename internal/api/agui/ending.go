package agui

import (
	"cmp"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// stopped are the reasons for which a run ends that neither completes nor fails. What its response
// ends with is shown by few clients, and by none of a page that is opened later, so there is a
// message that says why.
var stopped = []string{core.Cancelled.String(), core.Stopped.String(), core.Blocked.String()}

func (h *history) turnEnded(e wire.Event) error {
	var data wire.TurnEndedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	if data.Status == core.RunDone.String() && slices.Contains(stopped, data.Reason) {
		text := project.Ending(data.Reason, data.Code, data.Detail)
		h.message(endingID(e.RunID), roleAssistant).Content = &text
	}
	return nil
}

func endingID(run string) string { return run + ":end" }

// sayEnding says why the run has ended, if there is a message that does.
func (s *Stream) sayEnding() {
	end := s.run.Ended
	if end.Status != core.RunDone.String() || !slices.Contains(stopped, end.Reason) {
		return
	}
	s.closeStep()
	id := endingID(s.id)
	s.add(Event{Type: TextStart, MessageID: id, Role: roleAssistant},
		Event{Type: TextContent, MessageID: id, Delta: project.Ending(end.Reason, end.Code, end.Detail)}, Event{Type: TextEnd, MessageID: id})
}

// turnEnded ends the response if the run is done. If it is suspended, a further turn may be
// committed already: [Stream.Rest] knows.
func (s *Stream) turnEnded() {
	end := s.run.Ended
	if end.Status != core.RunDone.String() {
		return
	}
	s.closeStep()
	last := Event{Type: RunFinished, ThreadID: s.view.Thread, RunID: s.view.Run, Usage: s.used(), Metadata: &Metadata{Details{Reason: end.Reason, Code: end.Code, Detail: end.Detail, ResponseState: end.ResponseState}}}
	switch end.Reason {
	case core.NaturalEnd.String(), core.BehaviorRequested.String():
		last.Outcome = &Outcome{Type: OutcomeSuccess}
		if !core.IsNull(end.Output) {
			last.Result = end.Output
		}
	case core.Failed.String():
		last = Event{Type: RunError, Code: end.Code, Message: cmp.Or(end.Detail, end.Code, "the run failed"), Usage: s.used(), Metadata: last.Metadata}
	default:
		if s.view.Versioned {
			last.Outcome = &Outcome{Type: OutcomeCancelled}
		}
	}
	s.add(last)
	s.over = true
}
