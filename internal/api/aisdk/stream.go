package aisdk

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// View is the part of a run that one response shows: from the answer to a message on, or from a
// turn on. All events of the run are pushed to the stream; those before only tell what the rest
// means.
type View struct {
	Message string // the id of the user's message; empty: Turn says where
	Turn    int    // a turn that continues the answer of earlier ones

	// Hold are suspensions that the request has answered. Until the run has taken the answers,
	// the response doesn't end: a client that sees its part answered and the stream ended asks
	// again at once.
	Hold []string

	// Seen are suspensions of runs below that the client shows already. They aren't asked
	// again: it would run its tools twice.
	Seen []string

	// SDK is the version of the client: 5, 6 or 7; 0 is 6.
	SDK int

	whole bool // all answers, one after the other
}

// Stream turns the events of a run, in their order, into the chunks of one response.
type Stream struct {
	view   View
	run    project.Run
	begun  bool // start was sent
	shown  bool // the view has begun
	answer int  // that is shown; 0 until its message has come
	step   bool // a step is open
	parts  []*part
	over   bool
}

// part is a text or reasoning part of the step under way.
type part struct {
	id, kind string // "text" or "reasoning"
	sent     string
	ended    bool
}

// NewStream begins the response of a view.
func NewStream(v View) *Stream {
	v.SDK = cmp.Or(v.SDK, 6)
	return &Stream{view: v}
}

// Over says that the response is complete.
func (s *Stream) Over() bool { return s.over }

// Run is the fold of what was pushed.
func (s *Stream) Run() *project.Run { return &s.run }

// Push takes the next event, committed or live, and returns the chunks that it adds.
func (s *Stream) Push(e wire.Event) ([]Chunk, error) {
	asked, answers, known := s.askedBefore(e), s.run.Answers, s.knowsHeld()
	if err := s.run.Push(e); err != nil {
		return nil, err
	}
	if s.over || !s.shows(e, answers, known) {
		return nil, nil
	}
	var out chunks
	project := s.project
	if len(e.Path) > 0 {
		project = s.below
	}
	if err := project(&out, e, asked); err != nil {
		return nil, err
	}
	return s.begin(out), nil
}

// Rest says that every committed event was pushed and that the run does nothing until someone acts.
// It ends the response, unless the run has yet to take an answer that is held.
func (s *Stream) Rest() []Chunk {
	if s.over || s.holds() {
		return nil
	}
	if !s.shown { // nothing came
		s.answer = s.run.Answers
	}
	var out chunks
	for _, id := range s.view.Hold {
		// counted, and more votes are needed: the part asks again
		if q := s.run.Question(id); q != nil && q.Open() && s.asksApproval(q.Pending) {
			out.add(Chunk{Type: ApprovalRequest, ApprovalID: approvalID(q), ToolCallID: partID(q.Call), Reason: s.since7(q.Suspension.Message)})
		}
	}
	s.closeStep(&out)
	s.delegated(&out)
	out.add(Chunk{Type: Finish, FinishReason: "tool-calls"})
	s.over = true
	return s.begin(out)
}

func (s *Stream) holds() bool {
	return slices.ContainsFunc(s.view.Hold, func(id string) bool {
		q := s.run.Question(id)
		return q != nil && q.Unsettled()
	})
}

// knowsHeld says whether all that the request has answered was asked so far. What came before the
// client has seen.
func (s *Stream) knowsHeld() bool {
	return !slices.ContainsFunc(s.view.Hold, func(id string) bool { return s.run.Question(id) == nil })
}

// shows says whether the view has begun. before is how many answers had begun before the event, and
// known whether all that is held was asked before.
func (s *Stream) shows(e wire.Event, before int, known bool) bool {
	switch {
	case s.shown:
	case s.view.Message != "":
		s.shown = s.run.Answers > 0 && s.run.Message == s.view.Message
	case s.turnOf(e) >= s.view.Turn && known:
		s.shown, s.answer = true, before
	}
	return s.shown
}

// turnOf is the turn of the run that an event belongs to. What runs below do while the run waits
// belongs to the next.
func (s *Stream) turnOf(e wire.Event) int {
	switch {
	case len(e.Path) == 0:
		return e.Turn
	case s.run.InTurn:
		return s.run.Turn
	}
	return s.run.Turn + 1
}

// begin puts the start of the message before the first chunk.
func (s *Stream) begin(out chunks) []Chunk {
	if s.begun || len(out) == 0 {
		return out
	}
	s.begun = true
	return append(chunks{{Type: Start, MessageID: s.run.AnswerID(s.answer), Metadata: &Metadata{s.run.ID, s.run.Thread}}}, out...)
}

// askedBefore says whether the client was asked about the call that is suspended again.
func (s *Stream) askedBefore(e wire.Event) bool {
	var data wire.Pending
	if core.EventType(e.Type) != core.EventCallSuspended || e.Decode(&data) != nil {
		return false
	}
	c := s.run.Of(e, data.CallID)
	return c != nil && c.Asked != nil
}

func (s *Stream) project(out *chunks, e wire.Event, asked bool) error {
	switch core.EventType(e.Type) {
	case core.EventMessageReceived:
		s.messageReceived(out)
	case core.EventStepStarted:
		s.openStep(out)
	case core.EventTextDelta, core.EventReasoningDelta:
		return s.delta(out, e)
	case core.EventTextEnded, core.EventReasoningEnded:
		return s.said(out, e)
	case core.EventStepReset:
		return s.reset(out, e)
	case core.EventStepEnded:
		s.closeStep(out)
	case core.EventStateSnapshot:
		out.add(Chunk{Type: DataState, ID: "state", Data: e.Data})
	case core.EventTurnEnded:
		s.turnEnded(out)
	default:
		return s.call(out, e, asked)
	}
	return nil
}

// messageReceived: the next message has an answer of its own, with a response of its own.
func (s *Stream) messageReceived(out *chunks) {
	another := s.answer > 0 || s.begun
	switch {
	case another && s.view.whole:
		s.closeStep(out)
		s.delegated(out)
		s.begun = false
	case another:
		s.closeStep(out)
		s.delegated(out)
		out.add(Chunk{Type: Finish, FinishReason: "other"})
		s.over = true
		return
	}
	s.answer = s.run.Answers
	for _, q := range s.run.Waiting() {
		if q.Call.Below() {
			s.ask(out, q)
		}
	}
}

// openStep is called by the first sign of a step: live text comes before the step is committed.
func (s *Stream) openStep(out *chunks) {
	if !s.step {
		out.add(Chunk{Type: StartStep})
	}
	s.step = true
}

func (s *Stream) closeStep(out *chunks) {
	for _, p := range s.parts {
		if !p.ended {
			out.add(Chunk{Type: p.kind + "-end", ID: p.id})
		}
	}
	s.parts = nil
	if s.step {
		out.add(Chunk{Type: FinishStep})
	}
	s.step = false
}

// turnEnded ends the response if the run is done. If it is suspended, a further turn may be
// committed already: [Stream.Rest] knows.
func (s *Stream) turnEnded(out *chunks) {
	end := s.run.Ended
	if end.Status != core.RunDone.String() {
		return
	}
	s.closeStep(out)
	reason := finishReasons[end.Reason]
	if s.run.StepCalls > 0 || reason != "stop" {
		// a last step with a tool's result would make clients ask for one more answer
		out.add(Chunk{Type: StartStep},
			Chunk{Type: DataRun, ID: s.run.ID, Data: RunData{s.run.ID, end.Status, end.Reason, end.Code, end.ResponseState}},
			Chunk{Type: FinishStep})
	}
	if end.Reason == core.Failed.String() {
		out.add(Chunk{Type: Failure, ErrorText: cmp.Or(end.Code, "error")})
	}
	out.add(Chunk{Type: Finish, FinishReason: cmp.Or(reason, "other")})
	s.over = true
}

var finishReasons = map[string]string{
	core.NaturalEnd.String():        "stop",
	core.BehaviorRequested.String(): "stop",
	core.Stopped.String():           "length",
	core.Failed.String():            "error",
}

// delta is live text. What doesn't continue what was sent is left to the committed text.
func (s *Stream) delta(out *chunks, e wire.Event) error {
	var data wire.DeltaData
	if err := e.Decode(&data); err != nil {
		return err
	}
	s.openStep(out)
	p := s.part(data.PartID, e.Type)
	if p.ended || data.Offset != len(p.sent) {
		return nil
	}
	s.say(out, p, data.Text)
	return nil
}

// said is the committed text: what was sent live is its beginning.
func (s *Stream) said(out *chunks, e wire.Event) error {
	var data wire.SaidData
	if err := e.Decode(&data); err != nil {
		return err
	}
	s.openStep(out)
	p := s.part(data.PartID, e.Type)
	rest, ok := strings.CutPrefix(data.Text, p.sent)
	if !ok {
		s.void(out)
		p = s.part(data.PartID, e.Type)
		rest = data.Text
	}
	if s.over {
		return nil
	}
	s.say(out, p, rest)
	if p.sent != "" {
		out.add(Chunk{Type: p.kind + "-end", ID: p.id})
	}
	p.ended = true
	return nil
}

func (s *Stream) say(out *chunks, p *part, text string) {
	if text == "" {
		return
	}
	if p.sent == "" {
		out.add(Chunk{Type: p.kind + "-start", ID: p.id})
	}
	out.add(Chunk{Type: p.kind + "-delta", ID: p.id, Delta: text})
	p.sent += text
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

// reset takes back what the step has said live. After a cancel it stays: what was said is
// committed.
func (s *Stream) reset(out *chunks, e wire.Event) error {
	var data wire.StepResetData
	if err := e.Decode(&data); err != nil {
		return err
	}
	if data.Reason != core.Cancelled.String() {
		s.void(out)
	}
	return nil
}

// void takes back the step under way. A client before version 7 can't: its stream fails, and it
// reads the whole answer again.
func (s *Stream) void(out *chunks) {
	spoken := slices.ContainsFunc(s.parts, func(p *part) bool { return p.sent != "" })
	s.parts = nil
	switch {
	case !spoken:
	case s.view.SDK >= 7:
		out.add(Chunk{Type: Reset})
	default:
		out.add(Chunk{Type: Failure, ErrorText: "the answer is written again; reload it"})
		s.over = true
	}
}

// chunks are collected in order.
type chunks []Chunk

func (c *chunks) add(more ...Chunk) { *c = append(*c, more...) }

// outcome is a call's result as JSON.
func outcome(data wire.CallEndedData) json.RawMessage {
	switch {
	case !core.IsNull(data.Value):
		return data.Value
	case data.Result != nil:
		return core.Encode(*data.Result)
	}
	return json.RawMessage("null")
}
