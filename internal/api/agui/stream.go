package agui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// View is what one response shows of a run. All events of the run are pushed to the stream; those
// before the view begins only tell what the rest means.
type View struct {
	// Thread and Run are what the client calls its conversation and this response. They are
	// sent back to it, and mean nothing here.
	Thread, Run string

	// Message is the id of the user's message that the request has sent. The client has it, and
	// the response doesn't end before the run has received it. Empty: there is none.
	Message string

	// After is an event: what follows it is shown. Below 0, what follows Message is.
	After    int64
	Snapshot bool // everything up to After is shown first, as it is then

	// Hold are suspensions that the request has answered. Until the run has taken the answers,
	// the response doesn't end: it would ask again.
	Hold []string

	// Versioned says that the client knows version 1.0. Earlier ones fail at an outcome that
	// they don't know.
	Versioned bool

	// Recall reads the events of the conversation from its start, in their order, with the
	// bytes of files, until take says that it needs no more; nil if the run is all there is. It
	// is called where a snapshot is needed.
	Recall func(take func(wire.Event) (more bool, err error)) error
}

// Stream turns the events of a run, in their order, into the events of one response.
type Stream struct {
	view  View
	id    string // of the run
	first int64  // its first event
	run   project.Run
	said  history // in this run
	out   []Event
	begun bool // RUN_STARTED was sent
	heard bool // the run has received View.Message
	whole bool // a snapshot was sent
	over  bool
	step  int // that is open; 0: none is
	parts []*part
	usage Usage
}

// part is the text or the reasoning of the step under way.
type part struct {
	id, kind string // core.TextPart or core.ReasoningPart
	sent     string
	ended    bool
}

// NewStream begins the response of a view.
func NewStream(v View) *Stream { return &Stream{view: v} }

// Over says that the response is complete.
func (s *Stream) Over() bool { return s.over }

// Push takes the next event, committed or live, and returns what it adds to the response.
func (s *Stream) Push(e wire.Event) ([]Event, error) {
	if s.over {
		return nil, nil
	}
	s.out = nil
	below := len(e.Path) > 0
	if !below {
		s.id = e.RunID
		s.first = cmp.Or(s.first, e.Seq)
	}
	if !s.begun && s.view.Snapshot && !below && e.Seq > s.view.After {
		if err := s.begin(); err != nil {
			return nil, err
		}
	}
	if err := s.run.Push(e); err != nil {
		return nil, err
	}
	if !below {
		if err := s.said.push(e); err != nil {
			return nil, err
		}
	}
	s.heard = s.heard || s.run.Answers > 0 && s.run.Message == s.view.Message
	if !s.begun {
		if !s.begins(e) {
			return nil, nil
		}
		if err := s.begin(); err != nil || s.view.Snapshot {
			return s.out, err // the event is part of the snapshot
		}
	}
	if below {
		return s.out, nil // only what it asks is shown, at the end
	}
	err := s.project(e)
	return s.out, err
}

// begins says whether the view begins with this event, or behind it if it begins with a snapshot.
// Live text belongs to what comes after the last committed event.
func (s *Stream) begins(e wire.Event) bool {
	switch {
	case s.view.After < 0:
		return s.heard
	case len(e.Path) > 0:
		return s.run.Seq >= s.view.After
	case s.view.Snapshot, project.Live(e):
		return e.Seq >= s.view.After
	}
	return e.Seq > s.view.After
}

func (s *Stream) begin() error {
	s.begun = true
	started := Event{Type: RunStarted, ThreadID: s.view.Thread, RunID: s.view.Run, Metadata: &Metadata{Details{RunID: s.run.ID, ThreadID: s.run.Thread}}}
	if s.view.Versioned {
		started.ProtocolVersion = Protocol
	}
	s.add(started)
	if !s.view.Snapshot {
		return nil
	}
	state, err := s.restate()
	if err != nil {
		return err
	}
	if state != nil {
		s.add(Event{Type: StateSnapshot, Snapshot: state})
	}
	if s.run.Ended != nil {
		s.turnEnded()
	}
	return nil
}

// Rest says that every committed event was pushed and that the run does nothing until someone acts.
// It ends the response, unless the run has yet to take an answer that is held.
func (s *Stream) Rest() []Event {
	if s.over || !s.begun || s.holds() {
		return nil
	}
	s.out = nil
	s.suspend()
	return s.out
}

func (s *Stream) holds() bool {
	return s.view.Message != "" && !s.heard || slices.ContainsFunc(s.view.Hold, func(id string) bool {
		q := s.run.Question(id)
		return q != nil && q.Unsettled()
	})
}

func (s *Stream) project(e wire.Event) error {
	switch core.EventType(e.Type) {
	case core.EventMessageReceived:
		return s.received(e)
	case core.EventStepStarted:
		return s.stepStarted(e)
	case core.EventTextDelta, core.EventReasoningDelta:
		return s.delta(e)
	case core.EventTextEnded, core.EventReasoningEnded:
		return s.complete(e)
	case core.EventStepReset:
		return s.reset(e)
	case core.EventStepEnded:
		s.closeStep()
	case core.EventStateSnapshot:
		s.add(Event{Type: StateSnapshot, Snapshot: s.said.state})
	case core.EventTurnEnded:
		s.sayEnding()
		s.turnEnded()
	default:
		return s.call(e)
	}
	return nil
}

func (s *Stream) add(more ...Event) { s.out = append(s.out, more...) }

// received shows a message that another client has sent. This one has its own, unless a snapshot
// without it came first. Only a snapshot has files.
func (s *Stream) received(e wire.Event) error {
	var data wire.MessageReceivedData
	if err := e.Decode(&data); err != nil || data.MessageID == s.view.Message && !s.whole {
		return err
	}
	if data.Parts != nil {
		s.closeParts()
		_, err := s.restate()
		s.parts = nil
		return err
	}
	s.add(Event{Type: TextStart, MessageID: data.MessageID, Role: roleUser})
	if data.Text != "" {
		s.add(Event{Type: TextContent, MessageID: data.MessageID, Delta: data.Text})
	}
	s.add(Event{Type: TextEnd, MessageID: data.MessageID})
	return nil
}

func (s *Stream) stepStarted(e wire.Event) error {
	var data wire.StepStartedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	s.openStep(e.Step)
	var used wire.StepUsage
	if core.IsNull(data.Usage) {
		return nil
	}
	if err := json.Unmarshal(data.Usage, &used); err != nil {
		return fmt.Errorf("agui: the usage of step %d: %w", e.Step, err)
	}
	s.usage.InputTokens += used.InputTokens
	s.usage.OutputTokens += used.OutputTokens
	s.usage.TotalTokens += used.InputTokens + used.OutputTokens
	s.usage.CachedInput += used.CacheReadTokens
	s.usage.CacheWrite += used.CacheWriteTokens
	return nil
}

// openStep is called by the first sign of a step: live text comes before the step is committed.
func (s *Stream) openStep(n int) {
	if s.step == n {
		return
	}
	s.closeStep()
	s.step = n
	s.add(Event{Type: StepStarted, StepName: stepName(n)})
}

func stepName(n int) string { return fmt.Sprintf("step-%d", n) }

func (s *Stream) closeStep() {
	s.closeParts()
	s.parts = nil
	if s.step > 0 {
		s.add(Event{Type: StepFinished, StepName: stepName(s.step)})
	}
	s.step = 0
}

func (s *Stream) closeParts() {
	for _, p := range s.parts {
		s.end(p)
	}
}

// delta is live text. What doesn't continue what was sent is left to the committed text.
func (s *Stream) delta(e wire.Event) error {
	var data wire.DeltaData
	if err := e.Decode(&data); err != nil {
		return err
	}
	s.openStep(e.Step)
	p := s.part(data.PartID, e.Type)
	if !p.ended && data.Offset == len(p.sent) {
		s.say(p, data.Text)
	}
	return nil
}

// complete is the committed text. What was sent live is its beginning; otherwise that counts no
// more.
func (s *Stream) complete(e wire.Event) error {
	var data wire.SaidData
	if err := e.Decode(&data); err != nil {
		return err
	}
	s.openStep(e.Step)
	p := s.part(data.PartID, e.Type)
	rest, ok := strings.CutPrefix(data.Text, p.sent)
	if !ok {
		s.end(p)
		p.ended = true
		_, err := s.restate()
		return err
	}
	s.say(p, rest)
	s.end(p)
	p.ended = true
	return nil
}

// part is the one with this id, of the step under way.
func (s *Stream) part(id, event string) *part {
	for _, p := range s.parts {
		if p.id == id {
			return p
		}
	}
	kind, _, _ := strings.Cut(event, ".")
	p := &part{id: id, kind: kind}
	s.parts = append(s.parts, p)
	return p
}

func (s *Stream) say(p *part, text string) {
	if text == "" {
		return
	}
	first := p.sent == ""
	p.sent += text
	if p.kind == core.ReasoningPart {
		if first {
			s.add(Event{Type: ReasoningStart, MessageID: p.id}, Event{Type: ReasoningBegin, MessageID: p.id, Role: roleReasoning})
		}
		s.add(Event{Type: ReasoningContent, MessageID: p.id, Delta: text})
		return
	}
	if first {
		s.add(Event{Type: TextStart, MessageID: p.id, Role: roleAssistant})
	}
	s.add(Event{Type: TextContent, MessageID: p.id, Delta: text})
}

// end closes a part that was begun.
func (s *Stream) end(p *part) {
	switch {
	case p.ended || p.sent == "":
	case p.kind == core.ReasoningPart:
		s.add(Event{Type: ReasoningFinish, MessageID: p.id}, Event{Type: ReasoningEnd, MessageID: p.id})
	default:
		s.add(Event{Type: TextEnd, MessageID: p.id})
	}
}

// reset takes back what the step has said live. After a cancel it stays: what was said is
// committed.
func (s *Stream) reset(e wire.Event) error {
	var data wire.StepResetData
	if err := e.Decode(&data); err != nil || data.Reason == core.Cancelled.String() {
		return err
	}
	if !slices.ContainsFunc(s.parts, func(p *part) bool { return p.sent != "" }) {
		return nil
	}
	s.closeParts()
	_, err := s.restate()
	s.parts = nil
	return err
}

func (s *Stream) used() []Usage {
	if s.usage == (Usage{}) {
		return nil
	}
	return []Usage{s.usage}
}
