package cmdline

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

func TestARunThatAsksToGoOnIsApprovedOrDenied(t *testing.T) {
	p := wire.Pending{CallID: "cost:x", Kind: "approval", ResumeMode: "replay_tool_call", Arguments: json.RawMessage(`{}`),
		Suspension: wire.Suspension{ID: "sus_1_x", Action: "continue", Message: "This run has cost $0.65."}}
	var shown strings.Builder
	for _, row := range new(App).PendingRows("run_a_0", "desk", p) {
		shown.WriteString(strings.Join(row, " ") + "\n")
	}
	for _, want := range []string{"waits for approval to go on\n", "--approve", "--deny"} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("does not say %q:\n%s", want, shown.String())
		}
	}
	if strings.Contains(shown.String(), "--result") || strings.Contains(shown.String(), "{}") {
		t.Errorf("asks for a result, or shows arguments that there are not:\n%s", shown.String())
	}
}
