package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/command"
	"github.com/dormouse-dev/dormouse/examples/night-shift/nightshift"
)

// The tests of the agent are in tests/night-shift.yaml. They run the tools and the hook of the
// program.
func TestTheTestsOfTheAgentHold(t *testing.T) {
	var out, errs bytes.Buffer
	if code := command.Run(t.Context(), nightshift.Program(), []string{"agents", "test", "."}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Errorf("exit code %d\n%s\n%s", code, out.String(), errs.String())
	}
}

// A gate is a pure function of the call and the state: a test can call it without a server.
func TestTheGateDeniesASecondRestart(t *testing.T) {
	gate := nightshift.Program().Hooks[0].ToolGate
	restart := dormouse.ToolCall{ID: "c1", Name: "restart_pump", Arguments: json.RawMessage(`{"pump":7}`)}
	after := dormouse.View{Run: map[string]json.RawMessage{"restarts": json.RawMessage("1")}}
	if first, second := gate(restart, dormouse.View{}), gate(restart, after); first.Effect != "" || second.Effect != dormouse.Deny {
		t.Errorf("the first restart: %q, the second: %q", first.Effect, second.Effect)
	}
}
