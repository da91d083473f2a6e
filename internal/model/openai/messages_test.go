package openai

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// TestARequestIsWrittenAsEncodingJSONWritesIt reads requests and writes them again, which sorts
// members, escapes texts and refuses what isn't JSON.
func TestARequestIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed of this test: %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		p := anyConversation(r)
		c := &call{Model: &Model{}, names: namesOf(p), prompt: p}
		body := c.body()
		var read map[string]any
		in := json.NewDecoder(strings.NewReader(string(body)))
		in.UseNumber()
		if err := in.Decode(&read); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		// bytes that aren't UTF-8 are written as an escape, which is read as a character
		if again := core.Encode(read); string(again) != strings.ReplaceAll(string(body), `\ufffd`, "\ufffd") {
			t.Fatalf("written as\n%s\nwhich encoding/json writes as\n%s", body, again)
		}
		if got, want := rolesOf(read), wantedRoles(p); got != want {
			t.Fatalf("the roles are %s, want %s, in %s", got, want, body)
		}
	}
}

// BenchmarkRequest writes the request of step 500: a result of 2 KB for each step before.
func BenchmarkRequest(b *testing.B) {
	p := engine.Prompt{Instructions: "You settle orders.", Tools: []core.ToolSpec{{Name: "look"}}}
	p.Messages = append(p.Messages, core.Message{Role: core.RoleUser, Parts: core.TextParts("Settle the orders of this week.")})
	for i := range 500 {
		id := fmt.Sprintf("call_%d", i)
		p.Messages = append(p.Messages,
			core.Message{Role: core.RoleAssistant, Parts: core.TextParts("Order is next."), Calls: []core.ToolCall{{ID: id, Name: "look", Arguments: json.RawMessage(`{"order":1}`)}}},
			core.Message{Role: core.RoleTool, CallID: id, Parts: core.TextParts(strings.Repeat("lamp chair parcel ", 110))})
	}
	for b.Loop() {
		c := &call{Model: &Model{}, names: namesOf(p), prompt: p}
		b.SetBytes(int64(len(c.body())))
	}
}

func rolesOf(request map[string]any) string {
	var roles []string
	for _, m := range request["messages"].([]any) {
		roles = append(roles, m.(map[string]any)["role"].(string))
	}
	return strings.Join(roles, " ")
}

// wantedRoles has one user message for all that users, the runtime and files of results say between
// two turns, behind the results.
func wantedRoles(p engine.Prompt) string {
	roles, said := []string{"system"}, false
	flush := func() {
		if said {
			roles = append(roles, "user")
		}
		said = false
	}
	for _, m := range p.Messages {
		switch m.Role {
		case core.RoleAssistant:
			if m.Text() != "" || len(m.Calls) > 0 {
				flush()
				roles = append(roles, "assistant")
			}
		case core.RoleTool:
			roles = append(roles, "tool")
			said = said || hasFile(m.Parts)
		case core.RoleSystem:
			said = true
		default:
			said = said || m.Text() != "" || hasFile(m.Parts)
		}
	}
	flush()
	return strings.Join(roles, " ")
}

func hasFile(parts []core.Part) bool {
	for _, p := range parts {
		if p.Type == core.PartImage || p.Type == core.PartDocument {
			return true
		}
	}
	return false
}

func anyConversation(r *rand.Rand) engine.Prompt {
	text := func() string {
		return []string{"", "a refund", "\"quoted\" <b> & \u2028 \x01 \\", "héllo 世界 \U0001f600", "\xff broken", strings.Repeat("long ", 40)}[r.IntN(6)]
	}
	parts := func() (all []core.Part) {
		for range r.IntN(4) {
			switch r.IntN(6) {
			case 0:
				media := []string{"image/png", "Application/PDF; v=1", "text/plain", "application/zip", ""}[r.IntN(5)]
				all = append(all, core.Part{Type: []string{core.PartImage, core.PartDocument}[r.IntN(2)], Media: media, Name: text(), Data: []byte(text())})
			case 1:
				all = append(all, core.Part{Type: core.PartReasoning, Provider: Provider, Sealed: []byte([]string{"reasoning", "reasoning_content", "other"}[r.IntN(3)]), Text: text()})
			default:
				all = append(all, core.Part{Type: core.PartText, Text: text()})
			}
		}
		return all
	}
	p := engine.Prompt{Instructions: "You settle orders."}
	for range r.IntN(12) {
		m := core.Message{Parts: parts(), Role: []core.Role{core.RoleUser, core.RoleContext, core.RoleSystem, core.RoleAssistant, core.RoleTool}[r.IntN(5)]}
		switch m.Role {
		case core.RoleAssistant:
			for range r.IntN(3) {
				m.Calls = append(m.Calls, core.ToolCall{ID: "call " + text(), Name: "tool" + text(),
					Arguments: json.RawMessage([]string{`{"order":1}`, `[1,"a"]`, `null`, ` {"a":"\u00e9"}`}[r.IntN(4)])})
			}
		case core.RoleTool:
			m.CallID, m.Error = "call-"+text(), r.IntN(3) == 0
		}
		p.Messages = append(p.Messages, m)
	}
	return p
}
