package ask

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
)

func question(t *testing.T, title, arguments string) core.Message {
	t.Helper()
	m := core.Message{Role: core.RoleUser}
	if err := json.Unmarshal(Input(title, json.RawMessage(arguments)), &m.Parts); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheModelAsksOnceAndRepeatsTheAnswer(t *testing.T) {
	m := question(t, "Deploy?", `{"version":"4.20","n":1.50}`)
	first, err := Next([]core.Message{m})
	want := core.Turn{Calls: []core.ToolCall{{ID: Call, Name: Tool, Arguments: json.RawMessage(`{"version":"4.20","n":1.50}`)}}}
	if diff := cmp.Diff(want, first); diff != "" || err != nil || m.Text() != "Deploy?" {
		t.Fatalf("%q, %v (-want +got):\n%s", m.Text(), err, diff)
	}
	waiting := core.Message{Role: core.RoleTool, CallID: Call, Parts: core.TextParts("This call waits."), Pending: true}
	said := core.Message{Role: core.RoleTool, CallID: Call, Parts: core.TextParts("Approved.")}
	for name, tt := range map[string]struct {
		messages []core.Message
		want     string
	}{
		"answered":       {[]core.Message{m, {Role: core.RoleAssistant, Calls: first.Calls}, waiting, said}, "Approved."},
		"not answered":   {[]core.Message{m, {Role: core.RoleAssistant, Calls: first.Calls}, waiting}, "Ended without an answer."},
		"spoken to then": {[]core.Message{m, {Role: core.RoleAssistant, Calls: first.Calls}, said, {Role: core.RoleUser, Parts: core.TextParts("again")}}, "Approved."},
	} {
		if turn, err := Next(tt.messages); err != nil || turn.Text != tt.want || len(turn.Calls) > 0 {
			t.Errorf("%s: %+v, %v", name, turn, err)
		}
	}
	if _, err := Next(nil); err == nil {
		t.Error("there was no question")
	}
}

func TestAnAskWithoutArgumentsHasNone(t *testing.T) {
	m := question(t, "Deploy?", "")
	if call, err := Question(m); err != nil || string(call.Arguments) != "{}" || len(m.Parts) != 1 {
		t.Errorf("%+v, %v", call, err)
	}
}

// A run that a newer program started may be taken up by an older one.
func TestTermsThatAreNotUnderstoodAreRefused(t *testing.T) {
	terms := Terms{Approvers: []string{"token:anna"}, NotBy: core.NotByStarter, Within: 1000}
	if got, err := ReadTerms(terms.Encode()); err != nil || !cmp.Equal(got, terms) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ReadTerms(Terms{}.Encode()); err != nil || !cmp.Equal(got, Terms{}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadTerms(json.RawMessage(`{"approvers":["token:anna"],"quorum":2}`)); err == nil {
		t.Error("a quorum was overlooked")
	}
}
