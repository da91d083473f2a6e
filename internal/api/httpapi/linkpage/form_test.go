package linkpage

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

func TestOnlyTheArgumentsOfAToolCanBeEdited(t *testing.T) {
	for tool, want := range map[string]bool{"pay": true, "": false} {
		if got := Edits(wire.Pending{Tool: tool, Kind: "approval", ResumeMode: "replay_tool_call", Arguments: json.RawMessage(`{}`)}); got != want {
			t.Errorf("tool %q: %v, want %v", tool, got, want)
		}
	}
}

func TestTheAgentThatACallStartsIsShown(t *testing.T) {
	var m markup
	questionView{}.tool(&m, wire.ToolDetails{Kind: "agent", Target: "<helper>"})
	if page := m.String(); !strings.Contains(page, "Starts a run of the agent") || !strings.Contains(page, "&lt;helper&gt;") {
		t.Error(page)
	}
}
