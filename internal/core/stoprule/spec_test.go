package stoprule

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

func TestStopSpecs(t *testing.T) {
	for _, s := range []Spec{
		{Type: "max_rounds", Rounds: 5}, {Type: "timeout", Seconds: 30}, {Type: "token_budget", MaxTotal: 1000},
		{Type: "consecutive_errors", Max: 3}, {Type: "stop_on_tool", ToolName: "finish"}, {Type: "content_match", Pattern: "^ok"},
		{Type: "loop_detection", Window: 2}, {Type: "max_rounds"},
	} {
		t.Run("C19 "+s.Type, func(t *testing.T) {
			raw := core.Encode(s)
			if !strings.Contains(string(raw), `"type":"`+s.Type+`"`) {
				t.Errorf("not tagged by type: %s", raw)
			}
			var back Spec
			if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(back, s) {
				t.Errorf("%s came back as %+v (%v)", raw, back, err)
			}
		})
	}
	for _, bad := range []string{`{"type":"max_rounds","rounds":1,"extra":1}`, `{"type":"max_rounds","window":1}`, `{"type":"nope"}`, `{"rounds":1}`, `[]`} {
		t.Run("C19 refused: "+bad, func(t *testing.T) {
			var s Spec
			if err := json.Unmarshal([]byte(bad), &s); err == nil {
				t.Errorf("taken as %+v", s)
			}
		})
	}
}
