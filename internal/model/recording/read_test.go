package recording_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

func read(t *testing.T, text string) []recording.Conversation {
	t.Helper()
	out, err := recording.Read(strings.NewReader(text), "f.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// line is a conversation with these messages, which are written without their outer braces.
func line(messages ...string) string {
	return `{"id":"c","messages":[{` + strings.Join(messages, "},{") + `}]}`
}

const (
	sys   = `"role":"system","content":"be kind"`
	usr   = `"role":"user","content":"hi"`
	bot   = `"role":"assistant","content":"hello"`
	ask   = `"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]`
	ask2  = `"role":"assistant","tool_calls":[{"id":"x","function":{"name":"f","arguments":"{\"n\":1}"}},{"id":"x","function":{"name":"g","arguments":"oops"}},{"id":"y","function":{"name":"h","arguments":""}}]`
	resX  = `"role":"tool","tool_call_id":"x","content":"rx"`
	resX2 = `"role":"tool","tool_call_id":"x","content":"rx2"`
	resY  = `"role":"tool","tool_call_id":"y","content":"ry"`
)

func TestReadNormalisesResultsToCallOrder(t *testing.T) {
	got := read(t, line(sys, usr, ask2, resY, resX, resX2))
	want := []recording.Conversation{{ID: "c", Line: 1, System: "be kind", Messages: []core.Message{
		{Role: core.RoleUser, Parts: core.TextParts("hi")},
		{Role: core.RoleAssistant, Calls: []core.ToolCall{
			{ID: "x", Name: "f", Arguments: json.RawMessage(`{"n":1}`)},
			{ID: "x", Name: "g", Arguments: json.RawMessage(`"oops"`)},
			{ID: "y", Name: "h", Arguments: json.RawMessage(`{}`)},
		}},
		{Role: core.RoleTool, CallID: "x", Tool: "f", Parts: core.TextParts("rx")},
		{Role: core.RoleTool, CallID: "x", Tool: "g", Parts: core.TextParts("rx2")},
		{Role: core.RoleTool, CallID: "y", Tool: "h", Parts: core.TextParts("ry")},
	}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(recording.Conversation{})); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
}

func TestReadAccepts(t *testing.T) {
	tests := []struct{ name, text string }{
		{"user messages in a row", line(usr, usr, bot)},
		{"no system message", line(usr)},
		{"an end on a result", line(usr, ask, resX)},
		{"the same id in the next round", line(usr, ask, resX, ask, resX, bot)},
		{"members it does not know", line(`"role":"user","content":"hi","name":"me","weight":1`, `"role":"assistant","content":"x","refusal":null,"function_call":null,"tool_calls":[]`)},
		{"a list of text parts", line(`"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`)},
		{"missing content", line(usr, `"role":"assistant"`)},
		{"an empty line in between", line(usr) + "\n\n" + strings.Replace(line(usr), `"c"`, `"d"`, 1) + "\r\n"},
		{"no id", strings.Replace(line(usr), `"id":"c",`, "", 1)},
		{"a long line", line(`"role":"user","content":"` + strings.Repeat("long ", 1<<18) + `"`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { read(t, tt.text) })
	}
	if got := read(t, line(usr)+"\n"+line(usr)+"\n"+strings.Replace(line(usr), `"id":"c"`, `"id":7`, 1)); got[1].ID != "c (line 2)" || got[2].ID != "7" {
		t.Errorf("ids %q and %q", got[1].ID, got[2].ID)
	}
	if got := read(t, "\n"+strings.Replace(line(usr), `"id":"c",`, "", 1)); got[0].ID != "line-2" {
		t.Errorf("id %q", got[0].ID)
	}
}

func TestReadRefusesWithLineAndReason(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty file", "", "f.jsonl:1: the file contains no conversation"},
		{"only empty lines", "\n\n", "f.jsonl:1: the file contains no conversation"},
		{"invalid JSON", line(usr) + "\n{", "f.jsonl:2: not JSON"},
		{"something behind the object", line(usr) + " {}", "f.jsonl:1: not JSON"},
		{"a list", "[]", "f.jsonl:1: this cannot be a JSON array"},
		{"messages of another type", `{"messages":"hi"}`, "f.jsonl:1: messages cannot be a JSON string"},
		{"no messages", `{"id":"c"}`, "f.jsonl:1: message 0: the conversation has no user message"},
		{"only a system message", line(sys), "message 1: the conversation has no user message"},
		{"an id that is neither text nor number", `{"id":[1],"messages":[]}`, "f.jsonl:1: id must be a text or a number"},
		{"a system message later", line(usr, sys), "f.jsonl:1: message 2: the system message must be the first"},
		{"the assistant first", line(sys, bot, usr), "f.jsonl:1: message 2: the conversation must begin with a user message"},
		{"two assistant messages", line(usr, bot, bot), "message 3: an assistant message without calls is followed by another assistant message"},
		{"a result without a call", line(usr, bot, resX), `message 3: the result for "x" answers no open call`},
		{"a result for another call", line(usr, ask, resY), `message 3: the result for "y" answers no open call`},
		{"two results for a call", line(usr, ask, resX, resX), `message 4: the result for "x" answers no open call`},
		{"a result for an earlier round", line(usr, ask, resX, usr, resX), `message 5: the result for "x" answers no open call`},
		{"a call without a result", line(usr, ask, usr), `message 3: the call "x" of f has no result before the next message`},
		{"a call without a result at the end", line(usr, ask), `message 2: the call "x" of f has no result at the end`},
		{"one of three results missing at the end", line(usr, ask2, resX, resY), `the call "x" of g has no result at the end`},
		{"a result without an id", line(usr, ask, `"role":"tool","content":"x"`), "message 3: a tool message needs a tool_call_id"},
		{"the old form", line(usr, `"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}`), "message 2: function_call is obsolete"},
		{"an unknown role", line(`"role":"wizard","content":"x"`), `message 1: unknown role "wizard"`},
		{"no role", line(`"content":"x"`), `message 1: unknown role ""`},
		{"a message that is no object", `{"messages":[5]}`, "message 1: this cannot be a JSON number"},
		{"null as a message", `{"messages":[null]}`, `message 1: unknown role ""`},
		{"an image", line(`"role":"user","content":[{"type":"image_url"}]`), `message 1: content part 1 has the type "image_url"`},
		{"an image elsewhere", line(`"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://u:secret@example.com/a.png"}}]`),
			"message 1: content part 2 is not embedded in the file"},
		{"a file that is not base64", line(`"role":"user","content":[{"type":"file","file":{"file_data":"data:text/csv;base64,??"}}]`),
			"message 1: content part 1 has data that is not base64"},
		{"a file elsewhere", line(`"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]`), "message 1: content part 1 is not embedded in the file"},
		{"a number as content", line(`"role":"user","content":5`), "message 1: content must be text"},
		{"a call without a name", line(usr, strings.Replace(ask, `"name":"f",`, "", 1)), "message 2: call 1 has no function name"},
		{"a call without an id", line(usr, strings.Replace(ask, `"id":"x",`, "", 1)), "message 2: call 1 has no id"},
		{"a call of another type", line(usr, strings.Replace(ask, `"function",`, `"custom",`, 1)), `call 1 has the type "custom"`},
		{"arguments that are no text", line(usr, strings.Replace(ask, `"{}"`, `{}`, 1)), "arguments cannot be a JSON object"},
		{"a user that calls", line(strings.Replace(ask, "assistant", "user", 1)), `a message with the role "user" must not have tool_calls`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := recording.Read(strings.NewReader(tt.text), "f.jsonl")
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "f.jsonl:") {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestWriteAndReadAgain(t *testing.T) {
	first := recording.Generate(3, 200, recording.GenerateOptions{})
	var buf bytes.Buffer
	if err := recording.Write(&buf, first); err != nil {
		t.Fatal(err)
	}
	second, err := recording.Read(&buf, "generated")
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != len(second) {
		t.Fatalf("%d conversations became %d", len(first), len(second))
	}
	for i := range first {
		a, b := first[i], second[i]
		if a.ID != b.ID || a.Line != b.Line || a.System != b.System || !reflect.DeepEqual(a.Messages, b.Messages) {
			t.Errorf("%s changed:\n%s", a.ID, cmp.Diff(a.Messages, b.Messages))
		}
	}
}

func TestRealRecordings(t *testing.T) {
	path := filepath.Join("..", "..", "..", "..", "shared", "data", "tau-airline.jsonl")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the real recordings are not here; generated ones cover the same reading")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	conversations, err := recording.Read(f, "tau-airline.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	repeated, ends := 0, map[core.Role]int{}
	for _, c := range conversations {
		if diff := recording.Compare(c, play(t, c)); len(diff) > 0 {
			t.Errorf("played back: %v", diff)
		}
		if repeats(c) {
			repeated++
		}
		ends[c.Messages[len(c.Messages)-1].Role]++
	}
	if len(conversations) != 100 || repeated != 24 || ends[core.RoleUser] != 76 || ends[core.RoleTool] != 24 {
		t.Errorf("%d conversations, %d with repeated ids, ends %v", len(conversations), repeated, ends)
	}
}

func repeats(c recording.Conversation) bool {
	seen := map[string]bool{}
	for _, m := range c.Messages {
		for _, call := range m.Calls {
			if seen[call.ID] {
				return true
			}
			seen[call.ID] = true
		}
	}
	return false
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(line(sys, usr, ask2, resY, resX, resX2, bot)))
	f.Add([]byte(line(usr, ask, resX) + "\n" + `{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := recording.Read(bytes.NewReader(text), "f")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		var buf bytes.Buffer
		if err := recording.Write(&buf, first); err != nil {
			t.Fatal(err)
		}
		second, err := recording.Read(&buf, "again")
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		for i, c := range second {
			if diff := recording.Compare(first[i], recording.UniqueIDs(c.Messages)); len(diff) > 0 {
				t.Fatalf("changed on the way: %v", diff)
			}
		}
	})
}
