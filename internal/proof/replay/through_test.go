package replay

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

var providers = []string{ThroughBedrock, ThroughOpenAI}

// Conversations with all that a wire may find hard come out the same, whole and on a wire that
// breaks.
func TestThroughTheWireOfAProvider(t *testing.T) {
	met := map[string]int{}
	putOff := 0
	const parallel = 1 // the seed whose conversations are played side by side
	for _, provider := range providers {
		for seed := range uint64(effort.Of(3, 2)) {
			rate := 0.15 * float64(seed)
			t.Run(fmt.Sprintf("%s, seed %d, faults %v", provider, seed, rate), func(t *testing.T) {
				played := append(recording.Generate(seed+40, effort.Of(8, 3), recording.GenerateOptions{}), pictures(t))
				report, err := Run(t.Context(), Options{Conversations: played,
					Gate: []string{"refund"}, Faults: rate, Seed: seed, Through: provider, Parallel: seed == parallel})
				check(t, report, err)
				if turns := turnsOf(played); report.Requests < turns {
					t.Errorf("only %d requests passed the wire, for %d turns", report.Requests, turns)
				}
				putOff += report.PutOff
				// which faults it meets depends on how its conversations are
				// scheduled
				if seed == parallel {
					return
				}
				for kind, n := range report.Faults {
					met[kind] += n
				}
			})
		}
	}
	if testing.Short() {
		return
	}
	if putOff == 0 {
		t.Error("no step had to wait for the model")
	}
	for _, fault := range breaks {
		if kind := "wire: " + strings.ReplaceAll(string(fault), "_", " "); met[kind] == 0 {
			t.Errorf("%s never happened", kind)
		}
	}
}

// turnsOf is how often the model has to be asked at least.
func turnsOf(conversations []recording.Conversation) (turns int) {
	for _, c := range conversations {
		for _, m := range c.Messages {
			if m.Role == core.RoleAssistant {
				turns++
			}
		}
	}
	return turns
}

// pictures is a conversation with images, a document, reasoning, and a text before the calls.
func pictures(t *testing.T) recording.Conversation {
	t.Helper()
	const line = `{"id":"pictures","messages":[{"role":"system","content":"Be kind."},
{"role":"user","content":[{"type":"text","text":"what are these?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAEC"}},
{"type":"file","file":{"filename":"Order","file_data":"data:application/pdf;base64,JVBERg=="}}]},
{"role":"assistant","reasoning_content":"two files, hm","content":"Let me see.","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"n\":9007199254740993,\"x\":1.10}"}},
{"id":"c2","type":"function","function":{"name":"tool with a name, no provider takes","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"c2","content":""},
{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"seen"},{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlh"}}]},
{"role":"assistant","reasoning_content":"a cup","content":"A cup."},{"role":"user","content":"thanks"},{"role":"assistant","content":"You are welcome."}]}`
	found, err := recording.Read(strings.NewReader(strings.ReplaceAll(line, "\n", "")), "pictures")
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

func TestASeedRepeatsABrokenWire(t *testing.T) {
	for _, provider := range providers {
		once := func() Report {
			r, err := Run(t.Context(), Options{Conversations: recording.Generate(5, effort.Of(6, 2), recording.GenerateOptions{}), Faults: 0.2, Seed: 9, Through: provider})
			check(t, r, err)
			r.Seconds = 0
			return r
		}
		if a, b := once(), once(); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: one seed, two runs:\n%+v\n%+v", provider, a, b)
		}
	}
}

func TestThereIsNoWireOfNobody(t *testing.T) {
	_, err := Run(t.Context(), Options{Conversations: recording.Generate(5, 1, recording.GenerateOptions{}), Through: "nobody"})
	if err == nil || !strings.Contains(err.Error(), "bedrock or openai") {
		t.Errorf("error %v", err)
	}
}

func TestARequestThatIsNotThePromptIsFound(t *testing.T) {
	said := func(role core.Role, text string) core.Message {
		return core.Message{Role: role, Parts: core.TextParts(text)}
	}
	call := core.Message{Role: core.RoleAssistant, Parts: core.TextParts("let me see"), Calls: []core.ToolCall{{ID: "c1", Name: "look", Arguments: json.RawMessage(`{"n":1.10,"a":2}`)}}}
	result := core.Message{Role: core.RoleTool, CallID: "c1", Tool: "look", Parts: []core.Part{{Type: core.PartText, Text: "seen"}, {Type: core.PartImage, Data: []byte{1}}}}
	p := engine.Prompt{Instructions: "be kind", Tools: []core.ToolSpec{{Name: "look"}},
		Messages: []core.Message{said(core.RoleUser, "hi"), said(core.RoleUser, "there"), call, result}}
	asked := func() modeldouble.Asked {
		wired := call
		wired.Calls = []core.ToolCall{{ID: "c1", Name: "look", Arguments: json.RawMessage(`{"a":2,"n":1.10}`)}}
		return modeldouble.Asked{System: "be kind\n", Tools: p.Tools, Messages: []core.Message{said(core.RoleUser, "hi\n\nthere"), wired, result}}
	}
	if why := sameOnTheWire(p, asked()); why != "" {
		t.Errorf("the same is taken for another: %s", why)
	}
	for name, change := range map[string]func(*modeldouble.Asked){
		"system":           func(a *modeldouble.Asked) { a.System = "be quick" },
		"no tool":          func(a *modeldouble.Asked) { a.Tools = nil },
		"no user":          func(a *modeldouble.Asked) { a.Messages[0] = said(core.RoleUser, "hi") },
		"users swapped":    func(a *modeldouble.Asked) { a.Messages[0] = said(core.RoleUser, "there hi") },
		"no turn":          func(a *modeldouble.Asked) { a.Messages = a.Messages[:1] },
		"no result":        func(a *modeldouble.Asked) { a.Messages = a.Messages[:2] },
		"another result":   func(a *modeldouble.Asked) { a.Messages[2].Parts = append(core.TextParts("nothing"), result.Parts[1]) },
		"another call id":  func(a *modeldouble.Asked) { a.Messages[2].CallID = "c2" },
		"another text":     func(a *modeldouble.Asked) { a.Messages[1].Parts = core.TextParts("let me") },
		"another name":     func(a *modeldouble.Asked) { a.Messages[1].Calls[0].Name = "hook" },
		"a digit less":     func(a *modeldouble.Asked) { a.Messages[1].Calls[0].Arguments = json.RawMessage(`{"a":2,"n":1.1}`) },
		"no call":          func(a *modeldouble.Asked) { a.Messages[1].Calls = nil },
		"an image less":    func(a *modeldouble.Asked) { a.Messages[2].Parts = core.TextParts("seen") },
		"a message beside": func(a *modeldouble.Asked) { a.Messages = append(a.Messages, said(core.RoleAssistant, "more")) },
	} {
		a := asked()
		if change(&a); sameOnTheWire(p, a) == "" {
			t.Errorf("%s: it is not found", name)
		}
	}
}
