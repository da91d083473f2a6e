package display

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyColoursAreEscapes(t *testing.T) {
	l := Line{{Red, "a\x1b[2J"}, {AsIs, " b"}, {Bold, ""}}
	if got, want := l.Render(true), "\x1b[31ma\\x1b[2J\x1b[0m b"; got != want {
		t.Errorf("with colours %q, want %q", got, want)
	}
	if got, want := l.Render(false), `a\x1b[2J b`; got != want {
		t.Errorf("without colours %q, want %q", got, want)
	}
}

func TestLinesAreCutAndWrappedByTheColumnsTheyTake(t *testing.T) {
	for name, tt := range map[string]struct {
		words   string
		columns int
		cut     string
		wrapped []string
	}{
		"it fits":               {"short", 20, "short", []string{"short"}},
		"between words":         {"one two three four five six", 14, "one two three…", []string{"one two three ", "  four five ", "  six"}},
		"in a word without end": {strings.Repeat("x", 30), 14, strings.Repeat("x", 13) + "…", []string{strings.Repeat("x", 14), "  " + strings.Repeat("x", 12), "  xxxx"}},
		"of two columns each":   {"日本語日本語日本語", 13, "日本語日本語…", []string{"日本語日本語", "  日本語"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Text(tt.words).Cut(tt.columns).String(); got != tt.cut {
				t.Errorf("cut to %q, want %q", got, tt.cut)
			}
			var got []string
			for _, l := range Text(tt.words).Wrap(tt.columns, 2) {
				got = append(got, l.String())
			}
			if diff := cmp.Diff(tt.wrapped, got); diff != "" {
				t.Errorf("wrapped (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATableFitsTheScreenWithoutCuttingIDs(t *testing.T) {
	rows := [][]string{{"RUN", "AGENT", "STATUS", "AGE"}, {"run_2qtfzdef7psnavp54cp3ztfx_0", strings.Repeat("agent-", 10), "done (natural_end)", "2 s"},
		{"run_x", "a\nb", "waiting", ""}}
	want := "RUN                             AGENT                   STATUS              AGE\n" +
		"run_2qtfzdef7psnavp54cp3ztfx_0  agent-agent-agent-age…  done (natural_end)  2 s\n" +
		"run_x                           a\\nb                    waiting\n"
	if diff := cmp.Diff(want, DrawTable(rows, Screen{Width: 79}, []int{1, 2})); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if whole := DrawTable(rows, Screen{}, []int{1, 2}); !strings.Contains(whole, rows[1][1]) {
		t.Errorf("without a terminal something is cut:\n%s", whole)
	}
}
