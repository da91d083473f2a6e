package scripted

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// pauses is a clock on which pauses pass at once, and are counted.
type pauses struct {
	engine.Clock
	slept []time.Duration
	over  error
}

func (p *pauses) Sleep(_ context.Context, d time.Duration) error {
	p.slept = append(p.slept, d)
	return p.over
}

func TestAPacedModelSaysItsTextWordByWordToWhoeverListens(t *testing.T) {
	plain, err := New("desk", []agent.Turn{{Say: "I look it  up."}})
	if err != nil {
		t.Fatal(err)
	}
	clock := &pauses{}
	paced := plain.Paced(clock, 30*time.Millisecond)
	var heard []string
	prompt := engine.Prompt{Messages: []core.Message{{Role: core.RoleUser, Parts: core.TextParts("hi")}}, Say: func(d engine.Delta) { heard = append(heard, d.Text) }}
	if turn, err := plain.Ask(t.Context(), prompt); err != nil || turn.Text != "I look it  up." || heard != nil {
		t.Errorf("one that is not paced says %q and answers %+v, %v", heard, turn, err)
	}
	turn, err := paced.Ask(t.Context(), prompt)
	if err != nil || strings.Join(heard, "") != turn.Text || len(heard) != 5 {
		t.Errorf("it says %q and answers %+v, %v", heard, turn, err)
	}
	if want := slices.Repeat([]time.Duration{30 * time.Millisecond}, 5); !slices.Equal(clock.slept, want) {
		t.Errorf("it pauses for %v", clock.slept)
	}
	prompt.Say = nil
	if turn, err := paced.Ask(t.Context(), prompt); err != nil || turn.Text == "" || len(clock.slept) != 5 {
		t.Errorf("nobody listens, and it answers %+v, %v after %v", turn, err, clock.slept)
	}
	prompt.Say, clock.over = func(engine.Delta) {}, context.Canceled
	if _, err := paced.Ask(t.Context(), prompt); err != context.Canceled || len(clock.slept) != 6 {
		t.Errorf("it was stopped: %v after %v", err, clock.slept)
	}
}
