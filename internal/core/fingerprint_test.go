package core_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

func TestAFingerprintNamesOneQuestion(t *testing.T) {
	type question struct{ tenant, run, version, sus, tool, arguments, preview string }
	of := func(q question) string {
		call := core.NewSuspendedCall(core.ToolCall{ID: "c1", Name: q.tool}, core.KindApproval, core.SuspendTicket{
			Suspension: core.Suspension{ID: q.sus}, Pending: core.PendingCall{Arguments: json.RawMessage(q.arguments)}})
		if q.preview != "" {
			call.Preview = &core.Preview{Text: q.preview}
		}
		return core.Fingerprint(q.tenant, q.run, q.version, call)
	}
	first := question{"acme", "run_a_0", "sha256:1", "sus_2_x", "pay", `{"to":"Ann"}`, ""}
	if again := of(first); again != of(first) || !strings.HasPrefix(of(first), "v1:") || len(of(first)) != len("v1:")+64 {
		t.Fatal(of(first))
	}
	others := []question{
		{"acm", "run_a_0", "sha256:1", "sus_2_x", "pay", `{"to":"Ann"}`, ""},
		{"acme", "run_a_1", "sha256:1", "sus_2_x", "pay", `{"to":"Ann"}`, ""},
		{"acme", "run_a_0", "sha256:2", "sus_2_x", "pay", `{"to":"Ann"}`, ""},
		{"acme", "run_a_0", "sha256:1", "sus_3_x", "pay", `{"to":"Ann"}`, ""},
		{"acme", "run_a_0", "sha256:1", "sus_2_x", "pays", `{"to":"Ann"}`, ""},
		{"acme", "run_a_0", "sha256:1", "sus_2_x", "pay", `{"to":"Bob"}`, ""},
		{"acme", "run_a_0", "sha256:1", "sus_2_x", "pay", `{"to":"Ann"}`, "from 1"},
		{"acme", "run_a_0", "sha256:1", "sus_2_x", "pay", `{"to":"Ann"}`, "from 2"},
		// the same text with its borders moved
		{"acmer", "un_a_0", "sha256:1", "sus_2_x", "pay", `{"to":"Ann"}`, ""},
		{"acme", "run_a_0", "sha256:1", "sus_2_xp", "ay", `{"to":"Ann"}`, ""},
	}
	seen := map[string]question{of(first): first}
	for _, q := range others {
		if other, twice := seen[of(q)]; twice {
			t.Errorf("%+v and %+v have one fingerprint", q, other)
		}
		seen[of(q)] = q
	}
}
