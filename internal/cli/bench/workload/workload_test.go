package workload

import (
	"bytes"
	"compress/flate"
	"testing"
)

func TestTheApprovalsAreSpreadOverTheRun(t *testing.T) {
	for _, s := range []Shape{{Steps: 10, Approvals: 2, Runs: 1}, {Steps: 3, Approvals: 2, Runs: 1}, {Steps: 1000, Approvals: 7, Runs: 1}, {Steps: 10, Approvals: All, Runs: 1}, {Steps: 1, Runs: 1}} {
		want, got := s.Approvals, 0
		if want == All {
			want = s.Steps - 1
		}
		for step := range s.Steps {
			if s.Approved(step + 1) {
				got++
			}
		}
		if got != want || s.Check() != nil || s.Approved(s.Steps) {
			t.Errorf("%s: %d calls are approved, %v", s, got, s.Check())
		}
	}
	for _, s := range []Shape{{Steps: 0, Runs: 1}, {Steps: 2, Approvals: 2, Runs: 1}, {Steps: 2, Runs: 0}, {Steps: 2, Runs: 1, Result: -1}} {
		if s.Check() == nil {
			t.Errorf("%s is accepted", s)
		}
	}
}

// Results have the requested size, are the same each time, and compress as the text of a real
// system does.
func TestResultsAreLikeRealText(t *testing.T) {
	text, again, other := NewText(7), NewText(7), NewText(8)
	for _, size := range []int{0, 200, 2000, 20000, 3 << 20} {
		for n := range 20 {
			result := text.Result(n, size)
			if len(result) != min(size, len(text.all)) || result != again.Result(n, size) {
				t.Fatalf("result %d of %d bytes has %d, or is another one", n, size, len(result))
			}
		}
	}
	if text.Result(1, 2000) == text.Result(2, 2000) || text.Result(1, 2000) == other.Result(1, 2000) {
		t.Error("results repeat")
	}
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, flate.DefaultCompression)
	for n := range 100 {
		w.Write([]byte(text.Result(n, 2000)))
	}
	w.Close()
	if ratio := 200_000 / float64(packed.Len()); ratio < 2.5 || ratio > 6 {
		t.Errorf("text compresses to one part in %.1f", ratio)
	} else {
		t.Logf("text compresses to one part in %.1f", ratio)
	}
}
