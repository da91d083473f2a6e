package recording_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/callid"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

// play runs a conversation the way a runtime does: a run for each user message, turns from the
// model, results from the tools.
func play(t *testing.T, c recording.Conversation) []core.Message {
	t.Helper()
	var thread []core.Message
	model, tools, used := c.Model(), c.Tool(), callid.Used{}
	for _, m := range c.Messages {
		if m.Role != core.RoleUser {
			continue
		}
		thread = append(thread, m)
		for more := true; more; {
			turn, err := model.Ask(t.Context(), engine.Prompt{Messages: thread})
			if stop, ok := errors.AsType[*engine.StopError](err); ok && stop.Code == recording.Ended {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range turn.Calls {
				turn.Calls[i].ID = used.Unique(turn.Calls[i].ID)
			}
			thread = append(thread, core.Message{Role: core.RoleAssistant, Parts: core.TextParts(turn.Text), Calls: turn.Calls})
			for _, call := range turn.Calls {
				out, err := tools.Run(t.Context(), engine.ToolRequest{Call: call})
				if err != nil || out.Failed {
					t.Fatalf("%s: %+v, %v", c.ID, out, err)
				}
				thread = append(thread, core.Message{Role: core.RoleTool, CallID: call.ID, Tool: call.Name, Parts: append(core.TextParts(out.Text), out.Media...)})
			}
			more = len(turn.Calls) > 0
		}
	}
	return thread
}

func TestPlayingBackGivesTheSameConversation(t *testing.T) {
	for _, c := range recording.Generate(11, 300, recording.GenerateOptions{}) {
		for _, m := range recording.Compare(c, play(t, c)) {
			t.Error(m)
		}
	}
}

func TestModelAnswersByPosition(t *testing.T) {
	c := read(t, line(usr, ask, resX, usr, bot))[0]
	m := c.Model()
	for range 2 { // asked again, the same turn
		turn, err := m.Ask(t.Context(), engine.Prompt{Messages: c.Messages[:1]})
		if err != nil || len(turn.Calls) != 1 || turn.Calls[0].ID != "x" {
			t.Errorf("%+v, %v", turn, err)
		}
	}
	for _, n := range []int{3, 5, 9} {
		_, err := m.Ask(t.Context(), engine.Prompt{Messages: make([]core.Message, n)})
		if stop, ok := errors.AsType[*engine.StopError](err); !ok || stop.Code != "recording_ended" {
			t.Errorf("at %d: %v", n, err)
		}
	}
}

func TestModelChoosesByTheFirstUserMessage(t *testing.T) {
	m := recording.Model(read(t, line(usr, bot)+"\n"+`{"messages":[{"role":"user","content":"bye"},{"role":"assistant","content":"so long"}]}`))
	turn, err := m.Ask(t.Context(), engine.Prompt{Messages: []core.Message{{Role: core.RoleUser, Parts: core.TextParts("bye")}}})
	if err != nil || turn.Text != "so long" {
		t.Errorf("%+v, %v", turn, err)
	}
	_, err = m.Ask(t.Context(), engine.Prompt{Messages: []core.Message{{Role: core.RoleUser, Parts: core.TextParts("who?")}}})
	if err == nil || !strings.Contains(err.Error(), "no conversation of the recording begins") {
		t.Errorf("error %v", err)
	}
}

func TestUniqueIDs(t *testing.T) {
	round := func(ids ...string) []core.Message {
		turn := core.Message{Role: core.RoleAssistant}
		var results []core.Message
		for _, id := range ids {
			turn.Calls = append(turn.Calls, core.ToolCall{ID: id})
			results = append(results, core.Message{Role: core.RoleTool, CallID: id})
		}
		return append([]core.Message{turn}, results...)
	}
	in := slices.Concat(round("x", "x_2", "x"), round("x", "y"), round("x_2"))
	before := cmp.Diff(nil, in)
	var calls, results []string
	for _, m := range recording.UniqueIDs(in) {
		for _, c := range m.Calls {
			calls = append(calls, c.ID)
		}
		if m.Role == core.RoleTool {
			results = append(results, m.CallID)
		}
	}
	want := []string{"x", "x_2", "x_3", "x_4", "y", "x_2_2"}
	if !slices.Equal(calls, want) || !slices.Equal(results, want) {
		t.Errorf("calls %v, results %v, want %v", calls, results, want)
	}
	if cmp.Diff(nil, in) != before {
		t.Error("the messages given were changed")
	}
}

func TestCompareFindsEveryDifference(t *testing.T) {
	c := read(t, line(usr, ask2, resX, resX2, resY, bot))[0]
	thread := func(change func(m []core.Message) []core.Message) []core.Message {
		m := recording.UniqueIDs(c.Messages)
		for i := range m {
			m[i].Calls = slices.Clone(m[i].Calls)
		}
		return change(m)
	}
	tests := []struct {
		name   string
		change func(m []core.Message) []core.Message
		fields string
	}{
		{"nothing", func(m []core.Message) []core.Message { return m }, ""},
		{"arguments written differently", func(m []core.Message) []core.Message {
			m[1].Calls[0].Arguments = []byte(` { "n" : 1 } `)
			return m
		}, ""},
		{"results in another order", func(m []core.Message) []core.Message { m[2], m[4] = m[4], m[2]; return m }, ""},
		{"a placeholder before its result", func(m []core.Message) []core.Message {
			p := m[2]
			p.Pending, p.Parts = true, core.TextParts("waiting")
			return slices.Insert(m, 2, p)
		}, ""},
		{"a placeholder instead of a result", func(m []core.Message) []core.Message {
			m[2].Pending, m[2].Parts = true, core.TextParts("waiting")
			return m
		}, "text"},
		{"a number in other digits", func(m []core.Message) []core.Message { m[1].Calls[0].Arguments = []byte(`{"n":1.0}`); return m }, "arguments"},
		{"a role", func(m []core.Message) []core.Message { m[5].Role = core.RoleUser; return m }, "role"},
		{"a text", func(m []core.Message) []core.Message { m[5].Parts = nil; return m }, "text"},
		{"a tool", func(m []core.Message) []core.Message { m[1].Calls[2].Name = "z"; return m }, "tool"},
		{"results exchanged", func(m []core.Message) []core.Message { m[2].Parts, m[3].Parts = m[3].Parts, m[2].Parts; return m }, "text text"},
		{"a repeated id without its suffix", func(m []core.Message) []core.Message {
			m[1].Calls[1].ID, m[3].CallID = "x", "x"
			return m
		}, "call id call id"},
		{"a result twice", func(m []core.Message) []core.Message { return slices.Insert(m, 3, m[2]) }, "role text tool call id count"},
		{"a message short", func(m []core.Message) []core.Message { return m[:5] }, "count"},
		{"a message more", func(m []core.Message) []core.Message { return append(m, m[0]) }, "count"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var fields []string
			for _, m := range recording.Compare(c, thread(tt.change)) {
				fields = append(fields, m.Field)
			}
			if got := strings.Join(fields, " "); got != tt.fields {
				t.Errorf("differences %q, want %q", got, tt.fields)
			}
		})
	}
}

func TestGenerateIsReproducibleAndMixed(t *testing.T) {
	opts := recording.GenerateOptions{}
	a, b := recording.Generate(5, 200, opts), recording.Generate(5, 200, opts)
	if !reflect.DeepEqual(a, b) {
		t.Error("the same seed gave something else")
	}
	seen := map[string]int{}
	for _, c := range a {
		seen["end "+string(c.Messages[len(c.Messages)-1].Role)]++
		if repeats(c) {
			seen["repeated ids"]++
		}
		for i, m := range c.Messages {
			count(seen, m, i > 0 && m.Role == core.RoleUser && c.Messages[i-1].Role == core.RoleUser)
		}
	}
	for _, want := range []string{"end user", "end tool", "end assistant", "repeated ids", "repeated in a round", "parallel", "six calls", "no JSON", "no text", "two users"} {
		if seen[want] == 0 {
			t.Errorf("200 conversations without %s: %v", want, seen)
		}
	}
	var ordered, written bytes.Buffer
	for i := range a {
		plain := recording.Conversation{ID: a[i].ID, System: a[i].System, Messages: a[i].Messages}
		if err := errors.Join(recording.Write(&ordered, []recording.Conversation{plain}), recording.Write(&written, a[i:i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if bytes.Equal(ordered.Bytes(), written.Bytes()) {
		t.Error("no results are written out of order")
	}
}

func count(seen map[string]int, m core.Message, afterUser bool) {
	ids := map[string]bool{}
	for _, c := range m.Calls {
		if ids[c.ID] {
			seen["repeated in a round"]++
		}
		ids[c.ID] = true
		if c.Arguments[0] == '"' {
			seen["no JSON"]++
		}
	}
	switch len(m.Calls) {
	case 0, 1:
	case 6:
		seen["six calls"]++
	default:
		seen["parallel"]++
	}
	if m.Text() == "" && len(m.Calls) == 0 {
		seen["no text"]++
	}
	if afterUser {
		seen["two users"]++
	}
}

func TestGenerateJSONOnly(t *testing.T) {
	for _, c := range recording.Generate(5, 200, recording.GenerateOptions{JSONOnly: true, Calls: 2}) {
		for _, m := range c.Messages {
			for _, call := range m.Calls {
				if call.Arguments[0] != '{' {
					t.Fatalf("arguments %s", call.Arguments)
				}
			}
			if len(m.Calls) > 2 {
				t.Fatalf("%d calls", len(m.Calls))
			}
		}
	}
}
