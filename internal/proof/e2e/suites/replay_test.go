package suites

import (
	"io"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/lambda"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/platform"
	"github.com/dormouse-dev/dormouse/internal/proof/replay"
)

func TestAReplayInWhichNobodyIsAskedFails(t *testing.T) {
	calls := []recording.Conversation{{Messages: []core.Message{{Calls: []core.ToolCall{{Name: "pay"}, {Name: "look"}}}, {Calls: []core.ToolCall{{Name: "pay"}}}}}}
	for _, c := range []struct {
		decisions  int
		gate, want string
	}{
		{1, "pay", ""},
		{0, "pay,send", "no decision was made, though 2 calls of the recordings are of tools that are gated (pay,send)"},
		{0, "send", "no call of the recordings is of a tool that is gated (send); name some with --gate: they have look, pay"},
	} {
		err := asked(replay.Report{Decisions: c.decisions}, calls, c.gate)
		if got := text(err); got != c.want {
			t.Errorf("%d decisions, --gate %s: %q, not %q", c.decisions, c.gate, got, c.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAReplayThatLeavesSomethingOutFails(t *testing.T) {
	if err := allPlayed(replay.Report{Conversations: 3}); err != nil {
		t.Error(err)
	}
	if err := allPlayed(replay.Report{}); err == nil {
		t.Error("nothing was played, and it is content")
	}
	err := allPlayed(replay.Report{Conversations: 3, Remote: replay.Remote{Unplayed: []replay.Unplayed{{Conversation: "c4", Line: 4, Why: "it is odd"}}}})
	if err == nil || !strings.Contains(err.Error(), "1 of 4 were not played, first c4 (line 4): it is odd") {
		t.Error(err)
	}
}

func TestMadeUpConversationsCanAllBePlayed(t *testing.T) {
	const wanted = 12
	made, unplayable, err := madeUp(7, wanted, t.TempDir())
	if err != nil || len(made) != wanted || unplayable == 0 {
		t.Fatalf("%d conversations, %d left out, %v", len(made), unplayable, err)
	}
	var file strings.Builder
	if err := recording.Write(&file, made); err != nil {
		t.Fatal(err)
	}
	read, err := recording.Read(strings.NewReader(file.String()), "made.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	written, not, err := replay.WriteAgents(t.TempDir(), replay.Options{Conversations: read, Gate: strings.Split(GateOfMadeUp, ",")})
	if err != nil || written != wanted {
		t.Errorf("of the %d that were written into a file %d can be played, not %v: %v", wanted, written, not, err)
	}
}

func TestAProofOfKillsWithoutAnyFails(t *testing.T) {
	for _, c := range []struct {
		platform       *platform.Platform
		rate           float64
		killed         int64
		checks, failed int
	}{
		{&platform.Platform{}, 0.03, 2, 1, 0},
		{&platform.Platform{}, 0.03, 0, 1, 1},
		{&platform.Platform{}, 0, 0, 0, 0},
		{nil, 0.03, 0, 0, 0},
	} {
		var r Report
		target := Target{Platform: c.platform, Load: Load{Kills: c.rate}}
		target.checkKills(&book{suite: "torture", report: &r, progress: io.Discard}, lambda.Counts{Invocations: 40, Kills: c.killed})
		if r.Checks != c.checks || r.Failed != c.failed {
			t.Errorf("%+v: %d checks, %d failed", c, r.Checks, r.Failed)
		}
	}
}
