package a2a

import (
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// speech is what the model says in the step under way. It may become the output, so it is sent as
// chunks of that artifact; the text of the next step takes its place.
type speech struct {
	parts  []piece
	sent   string // what the client has
	fresh  bool   // the next chunk takes the place of what the client has
	goesOn bool   // the last chunk is appended to it
}

type piece struct{ id, text string }

// push takes the next event; ended says that a text is complete.
func (s *speech) push(e wire.Event) (ended bool, err error) {
	switch core.EventType(e.Type) {
	case core.EventTextDelta:
		return false, s.delta(e)
	case core.EventTextEnded:
		return true, s.ended(e)
	case core.EventStepReset:
		var data wire.StepResetData
		err := e.Decode(&data)
		if data.Reason != core.Cancelled.String() { // then what was said is committed
			s.reset()
		}
		return false, err
	case core.EventStepEnded, core.EventTurnEnded:
		s.reset()
	}
	return false, nil
}

func (s *speech) reset() { s.parts, s.fresh = nil, true }

// delta is live text. What doesn't continue what is known is left to the committed text.
func (s *speech) delta(e wire.Event) error {
	var data wire.DeltaData
	if err := e.Decode(&data); err != nil {
		return err
	}
	if p := s.part(data.PartID); data.Offset == len(p.text) {
		p.text += data.Text
	}
	return nil
}

func (s *speech) ended(e wire.Event) error {
	var data wire.SaidData
	if err := e.Decode(&data); err != nil {
		return err
	}
	s.part(data.PartID).text = data.Text
	return nil
}

func (s *speech) part(id string) *piece {
	for i := range s.parts {
		if s.parts[i].id == id {
			return &s.parts[i]
		}
	}
	s.parts = append(s.parts, piece{id: id})
	return &s.parts[len(s.parts)-1]
}

// chunk is what the client lacks; nil if that is nothing. The last one of a text is sent in any
// case.
func (s *speech) chunk(last bool) *sdk.Artifact {
	var all strings.Builder
	for _, p := range s.parts {
		all.WriteString(p.text)
	}
	full := all.String()
	if full == "" {
		return nil
	}
	rest, goesOn := strings.CutPrefix(full, s.sent)
	if s.goesOn = goesOn && !s.fresh && s.sent != ""; !s.goesOn {
		rest = full
	}
	if rest == "" && !last {
		return nil
	}
	s.sent, s.fresh = full, false
	return output(sdk.NewTextPart(rest))
}
