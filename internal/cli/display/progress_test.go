package display

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgressLines(t *testing.T) {
	for name, tt := range map[string]struct {
		done, total int
		took        time.Duration
		more, want  string
		unit        string
	}{
		"at the beginning":  {0, 10000, 0, "", "0 of 10,000", ""},
		"on the way":        {1204, 10000, 4 * time.Second, "", "1,204 of 10,000 runs · 301/s · 29 s left", "runs"},
		"slowly":            {3, 1000, 6 * time.Second, "", "3 of 1,000 · 0.5/s · 33m 14s left", ""},
		"of nobody knows":   {12000, 0, 4 * time.Second, "2 refused", "12,000 · 3,000/s · 2 refused", ""},
		"at the end":        {10000, 10000, 100 * time.Second, "", "10,000 of 10,000 · 100/s · took 1m 40s", ""},
		"too soon to say":   {5, 10, 100 * time.Millisecond, "", "5 of 10", ""},
		"for days":          {1, 1000, 10 * time.Minute, "", "1 of 1,000 · 0.0/s · 6d 22h left", ""},
		"for centuries":     {1, math.MaxInt64, 2 * time.Second, "", "1 of 9,223,372,036,854,775,807 · 0.5/s", ""},
		"with what is left": {50, 100, 2 * time.Hour, "", "50 of 100 · 0.0/s · 2h 00m left", ""},
	} {
		if got := progressLine(tt.done, tt.total, tt.unit, tt.took, tt.more); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestProgressIsALineEveryTenSecondsOrOneThatIsWrittenAgain(t *testing.T) {
	work := func(rewrite bool) string {
		now := time.UnixMilli(0)
		var out strings.Builder
		p := NewProgress(&out, rewrite, 80, func() time.Time { return now })
		for i := range 30 {
			now = now.Add(time.Second)
			p.At(i+1, 30, "")
			p.At(i+1, 30, "") // too soon
		}
		p.End()
		p.End()
		return out.String()
	}
	want := "10 of 30 · 1.0/s · 20 s left\n20 of 30 · 1.0/s · 10 s left\n30 of 30 · 1.0/s · took 30 s\n"
	if diff := cmp.Diff(want, work(false)); diff != "" {
		t.Errorf("in a file (-want +got):\n%s", diff)
	}
	got := work(true)
	if n := strings.Count(got, "\r"); n != 30 || strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "took 30 s\x1b[K\n") {
		t.Errorf("on a terminal %d times one line: %q", n, got)
	}
}

func TestNoProgressSaysNothing(t *testing.T) {
	var p *Progress
	p.At(1, 2, "")
	p.End()
}
