package cmdline

import (
	"encoding/json"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

func TestPlainArgumentsAreToldFromOthers(t *testing.T) {
	for raw, want := range map[string]bool{`{"a":"b"}`: true, "{\n\t\"a\": \"日本\"}": true, `{"a":"\u202e"}`: false, "{\"a\":\"\u202e\"}": false,
		"{\"a\":\"\xff\"}": false, "{\"p\u0430y\":1}": false, `{"a":"x  y"}`: false, `{"n":1e3}`: false, ``: true,
		`{"a":"b & <c>"}`: true, `{"a":"b \u0026 \u003cc\u003E"}`: true, `{"a":"\u004d\u0061llory"}`: true, `{"a":"\u0007"}`: false} {
		if plainly(json.RawMessage(raw)) != want {
			t.Errorf("plainly(%q) is not %v", raw, want)
		}
	}
}

func TestTheAgentThatACallStartsIsShown(t *testing.T) {
	facts := Background(wire.Pending{ToolDetails: &wire.ToolDetails{Kind: "agent", Target: "helper"}})
	if len(facts) != 1 || facts[0].Name != "calls" || facts[0].Lines[0] != "a run of the agent helper" {
		t.Errorf("%v", facts)
	}
}
