package recording_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

// TestArgumentsAreReadAsTheyWereWritten: a model that wrote a JSON string wrote no object, whatever
// the string says, and is not made to say one.
func TestArgumentsAreReadAsTheyWereWritten(t *testing.T) {
	for _, arguments := range []string{`{"n":9007199254740993,"r":1.10}`, `"not JSON"`, `"{\"n\":1}"`, `"7"`, `7`, `"{\"half"`, `null`, `""`, `"  "`, `[]`} {
		call := core.ToolCall{ID: "c1", Name: "pay", Arguments: json.RawMessage(arguments)}
		c := recording.Conversation{ID: "a", Messages: []core.Message{{Role: core.RoleUser, Parts: core.TextParts("hi")}, {Role: core.RoleAssistant, Calls: []core.ToolCall{call}},
			{Role: core.RoleTool, CallID: "c1", Tool: "pay", Parts: core.TextParts("ok")}}}
		var file bytes.Buffer
		if err := recording.Write(&file, []recording.Conversation{c}); err != nil {
			t.Fatal(err)
		}
		read, err := recording.Read(&file, "f")
		if err != nil {
			t.Fatal(err)
		}
		if got := string(read[0].Messages[1].Calls[0].Arguments); got != arguments {
			t.Errorf("%s became %s", arguments, got)
		}
	}
}
