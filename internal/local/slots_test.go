package local

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"
)

// drain gives the only slot up as often as somebody waits, and returns the lines in the order in
// which they got it.
func drain(s *slots, asked map[chan struct{}]string) (served []string) {
	for len(asked) > 0 {
		s.GiveUp("")
		for granted, line := range asked {
			select {
			case <-granted:
				served = append(served, line)
				delete(asked, granted)
			default:
			}
		}
	}
	return served
}

// A line is served within as many turns as there are lines, however long the others are.
func TestLinesForSlotsTakeTurns(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, seed))
	for range 50 {
		s := newSlots(1)
		s.Take("the only slot")
		lines := []string{newcomers, "a", "b", "c", "d"}
		left, asked := map[string]int{}, map[chan struct{}]string{}
		for _, line := range lines {
			for range rng.IntN(30) {
				asked[s.ask(line)] = line
				left[line]++
			}
		}
		waited := map[string]int{}
		for _, served := range drain(s, asked) {
			left[served]--
			waited[served] = 0
			for _, line := range lines {
				if line != served && left[line] > 0 {
					waited[line]++
				}
				if waited[line] >= len(lines) {
					t.Fatalf("%q was passed over %d times", line, waited[line])
				}
			}
		}
		if s.free != 0 || len(s.lines) != 0 || len(s.order) != 0 {
			t.Fatalf("left: %d free, %v, %v", s.free, s.lines, s.order)
		}
	}
}

func TestAWaiterWhoGivesUpLosesNoSlot(t *testing.T) {
	s := newSlots(1)
	s.Take("a")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if s.enter(ctx, newcomers) {
		t.Fatal("a slot was granted twice")
	}
	late := s.ask("b")
	s.GiveUp("a")
	<-late
	if s.withdraw("b", late) {
		t.Fatal("a granted slot was withdrawn")
	}
	s.GiveUp("b")
	if s.free != 1 {
		t.Errorf("%d slots are free", s.free)
	}
}
