package local

import "testing"

func TestMemoryIsReturnedOnceABurstIsOver(t *testing.T) {
	const mb = 1 << 20
	var m memory
	for i, step := range []struct {
		held, collections uint64
		returns           bool
	}{
		{7 * mb, 1, false},
		{7 * mb, 1, false}, // there is not much
		{300 * mb, 5, false},
		{320 * mb, 9, false}, // a burst
		{320 * mb, 9, true},
	} {
		if got := m.look(step.held, step.collections); got != step.returns {
			t.Errorf("look %d: %v", i, got)
		}
	}
	m.left, m.collections = 200*mb, 10 // what is in use
	if m.look(205*mb, 10) {
		t.Error("it is returned again and again")
	}
	if !m.look(240*mb, 10) {
		t.Error("the next burst is not noticed")
	}
	if held, _ := heap(); held == 0 {
		t.Error("the runtime says nothing of the heap")
	}
}
