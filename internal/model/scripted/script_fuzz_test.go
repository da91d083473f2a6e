package scripted_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/scripted"
)

// Whatever a script says and people and tools said, the same prompt has the same answer, what it
// asks for is JSON, and that nothing fits is said in few words: they are kept with the run.
func FuzzScript(f *testing.F) {
	f.Add(script, "Refund A-17 of 120.50", "lookup", "paid: 0042")
	f.Add(script, "count", "refund", "")
	f.Add("model: {provider: scripted, turns: [{given: {user: '(?P<a>.*)', result: '(?P<b>.*)'}, say: '${a}${b}${c}', calls: [{tool: x, arguments: {a: '${a}', b: [1e400, '${b}']}}]}]}\n",
		"-0.0e5", "any", "\xff\u2028\"")
	f.Add("model: {provider: scripted, turns: [{given: {step: 9}, say: x}]}\n", strings.Repeat("a text that nothing fits ", 100), strings.Repeat("t", 3000), strings.Repeat("\x00", 1000))
	f.Fuzz(func(t *testing.T, text, said, tool, result string) {
		d, err := agentfile.Parse("a.yaml", []byte(text), func(string) ([]byte, error) { return nil, errors.New("no files") })
		if err != nil {
			return
		}
		m, err := scripted.New(d.Name, d.Model.Turns)
		if err != nil {
			t.Fatalf("what was read as a script is none: %v", err)
		}
		messages := []core.Message{user(said), assistant(call("c", tool, `{}`)),
			{Role: core.RoleTool, CallID: "c", Tool: tool, Parts: core.TextParts(result)}}
		for n := range messages {
			turn, err := m.Ask(t.Context(), engine.Prompt{Messages: messages[:n+1]})
			again, _ := m.Ask(t.Context(), engine.Prompt{Messages: messages[:n+1]})
			if diff := cmp.Diff(turn, again); diff != "" {
				t.Fatalf("asked again:\n%s", diff)
			}
			if none, ok := errors.AsType[*engine.ModelError](err); err != nil && (!ok || len(none.Detail) > 5000) {
				t.Fatalf("no turn fits: %.6000v", err)
			}
			for _, c := range turn.Calls {
				if !json.Valid(c.Arguments) {
					t.Fatalf("the arguments %q", c.Arguments)
				}
			}
		}
	})
}
