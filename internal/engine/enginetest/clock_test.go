package enginetest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

var (
	_ engine.Clock  = (*enginetest.Clock)(nil)
	_ engine.Random = (*enginetest.Random)(nil)
)

func TestClockCallsWhatFallsDueInOrder(t *testing.T) {
	clock := enginetest.AtMilli(0)
	var calls []string
	note := func(name string) func() {
		return func() { calls = append(calls, name+" at "+clock.Now().Format("05")) }
	}
	clock.AfterFunc(3*time.Second, note("c"))
	clock.AfterFunc(time.Second, func() {
		note("a")()
		clock.AfterFunc(time.Second, note("b"))
	})
	clock.AfterFunc(2*time.Second, note("stopped"))()
	clock.AfterFunc(9*time.Second, note("late"))
	clock.Advance(5 * time.Second)
	if want := []string{"a at 01", "b at 02", "c at 03"}; !slices.Equal(calls, want) {
		t.Fatalf("called %q, want %q", calls, want)
	}
	if next, ok := clock.Next(); !ok || next.UnixMilli() != 9000 || clock.Now().UnixMilli() != 5000 {
		t.Fatalf("next %v %v at %v", next, ok, clock.Now())
	}
}

func TestRandomRepeatsItself(t *testing.T) {
	a, b := enginetest.NewRandom(t, 7), enginetest.NewRandom(t, 7)
	first := a.Text(20)
	if len(first) != 20 || first != b.Text(20) || first == a.Text(20) {
		t.Fatalf("first text %q", first)
	}
}
