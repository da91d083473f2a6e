package modeltest

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// listener puts together what is said while it is said.
type listener struct {
	text, reasoning    string
	deltas, restarts   int
	strange, emptyOnes int
}

func (l *listener) hear(d engine.Delta) {
	switch {
	case d.Restart:
		*l = listener{restarts: l.restarts + 1, strange: l.strange, emptyOnes: l.emptyOnes}
		if d.Text != "" {
			l.strange++
		}
		return
	case d.Text == "":
		l.emptyOnes++
	case d.Kind == core.TextPart:
		l.text += d.Text
	case d.Kind == core.ReasoningPart:
		l.reasoning += d.Text
	default:
		l.strange++
	}
	l.deltas++
}

func (s suite) live(t *testing.T) {
	turn := core.Turn{Text: "A story of é and 猫 and 😀, told slowly."}
	thought := s.Reasoning
	thought.Text = "Which story? 😀"
	turn.Content = []core.Part{thought, {Type: core.PartText, Text: turn.Text}}
	hears := func(t *testing.T, l listener, got core.Turn) {
		t.Helper()
		if s.whole && l.deltas == 0 && got.Text == turn.Text {
			return // nothing was said while it was spoken
		}
		if l.text != got.Text || l.reasoning != core.ReasoningOf(got.Content) || got.Text != turn.Text {
			t.Errorf("heard %q and %q, the turn says %q and %q", l.text, l.reasoning, got.Text, core.ReasoningOf(got.Content))
		}
		if l.strange > 0 || l.emptyOnes > 0 {
			t.Errorf("%d strange deltas, %d without text", l.strange, l.emptyOnes)
		}
	}
	t.Run("the deltas are the turn's text", func(t *testing.T) {
		for piece := range 6 {
			var l listener
			p := prompt()
			p.Say = l.hear
			got := s.rig(t, says(modeldouble.Said{Turn: turn, Piece: piece}), nil).turn(p)
			hears(t, l, got)
			if !s.whole && piece == 5 && l.deltas < 5 {
				t.Errorf("heard %d deltas of a stream", l.deltas)
			}
		}
	})
	t.Run("what is said anew begins with a restart", func(t *testing.T) {
		for _, fault := range []modeldouble.Fault{modeldouble.Cut, modeldouble.Aborted, modeldouble.HalfFrame, modeldouble.LateThrottled,
			modeldouble.LateError} {
			var l listener
			p := prompt()
			p.Say = l.hear
			r := s.rig(t, inTurn(modeldouble.Said{Turn: turn, Piece: 4, Fault: fault}, modeldouble.Said{Turn: turn, Piece: 5}), nil)
			got, err := r.ask(p)
			if err != nil {
				if fateOf(err) == lasting {
					t.Errorf("%s: %v", fault, err)
				}
				continue // the run sleeps, and its readers are told by others
			}
			hears(t, l, got)
			if !s.whole && l.restarts != 1 {
				t.Errorf("%s: %d restarts", fault, l.restarts)
			}
		}
	})
}
