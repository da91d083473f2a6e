package runs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

func TestAListOfRunsOnATerminalSaysWhatEachIsAbout(t *testing.T) {
	runs := []wire.Run{
		{FirstLine: "Refund order A-17, which arrived broken and much too late for the birthday it was bought for", StartedBy: &wire.Actor{By: "token:anna", Via: "api"}},
		{FirstLine: "日本語" + "\x1b[2J"}, {StartedBy: &wire.Actor{Via: "queue"}}, {},
	}
	rows := [][]string{{"RUN", "AGE"}, {"run_1", "2 s"}, {"run_2", "3 s"}, {"run_3", "4 s"}, {"run_4", "5 s"}}
	want := "RUN    AGE\n" +
		"run_1  2 s\n  token:anna via api: Refund order A-17, which arrived broken and much too late…\n" +
		"run_2  3 s\n  日本語\\x1b[2J\n" +
		"run_3  4 s\n  via queue\n" +
		"run_4  5 s\n"
	got := drawRuns(runs, rows, display.Screen{Terminal: true, Width: 80})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for l := range strings.Lines(got) {
		if display.Wide(strings.TrimSuffix(l, "\n")) > 80 {
			t.Errorf("%q is wider than the screen", l)
		}
	}
}
