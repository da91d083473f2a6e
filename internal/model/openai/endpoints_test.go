package openai_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

func calls(arguments ...string) (out []core.ToolCall) {
	for i, a := range arguments {
		out = append(out, core.ToolCall{ID: "call_" + string(rune('a'+i)), Name: "lookup", Arguments: json.RawMessage(a)})
	}
	return out
}

func TestCallsOfSloppyEndpoints(t *testing.T) {
	two := calls(`{"order":12345678901234567890}`, `{"order":1.10}`)
	for name, quirks := range map[string][]string{
		"no index": {"index"}, "no id": {"id"}, "neither": {"index", "id"}, "objects as arguments": {"object"}, "objects without an index": {"object", "index"},
		"each has the index 0": {"zero"},
	} {
		t.Run(name, func(t *testing.T) {
			q := modeldouble.OpenAIQuirks{Calls: quirks}
			s := newStage(t, q.Handler(func(modeldouble.Asked) modeldouble.Said { return modeldouble.Said{Turn: core.Turn{Calls: two}} }))
			got := s.turn(prompt())
			if len(got.Calls) != 2 {
				t.Fatalf("%d calls: %+v", len(got.Calls), got.Calls)
			}
			for i, c := range got.Calls {
				if string(c.Arguments) != string(two[i].Arguments) || c.Name != "lookup" {
					t.Errorf("call %d is %s %s", i, c.Name, c.Arguments)
				}
			}
		})
	}
}

// frames is a stream as an endpoint might write it.
func frames(data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range data {
			_, _ = w.Write([]byte("data: " + d + "\n\n"))
		}
	}
}

const (
	stop      = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	toolCalls = `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`
)

func delta(d string) string {
	return `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

func TestStreamsOfManyEndpoints(t *testing.T) {
	for name, c := range map[string]struct {
		frames []string
		text   string
		calls  []core.ToolCall
	}{
		"no arguments are an empty object": {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"lookup","arguments":""}}]}`), toolCalls}, "",
			[]core.ToolCall{{ID: "a", Name: "lookup", Arguments: json.RawMessage(`{}`)}}},
		"null arguments are an empty object": {[]string{delta(`{"content":null,"tool_calls":[{"id":"a","function":{"name":"lookup","arguments":null}}]}`), toolCalls}, "",
			[]core.ToolCall{{ID: "a", Name: "lookup", Arguments: json.RawMessage(`{}`)}}},
		"arguments that are no JSON are a text": {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"lookup","arguments":"{\"order\": 7"}}]}`), toolCalls}, "",
			[]core.ToolCall{{ID: "a", Name: "lookup", Arguments: json.RawMessage(`"{\"order\": 7"`)}}},
		"pieces without an index or an id go on": {[]string{delta(`{"tool_calls":[{"id":"a","function":{"name":"lookup","arguments":"{\"order\""}}]}`),
			delta(`{"tool_calls":[{"function":{"arguments":":7}"}}]}`), toolCalls}, "", []core.ToolCall{{ID: "a", Name: "lookup", Arguments: json.RawMessage(`{"order":7}`)}}},
		"id and name with every piece": {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"lookup","arguments":"{\"order\""}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"lookup","arguments":":7}"}}]}`), toolCalls}, "",
			[]core.ToolCall{{ID: "a", Name: "lookup", Arguments: json.RawMessage(`{"order":7}`)}}},
		"a surrogate pair in two deltas": {[]string{delta(`{"content":"a \ud83d"}`), delta(`{"content":"\ude00 b"}`), stop}, "a 😀 b", nil},
		"half a pair that stays alone":   {[]string{delta(`{"content":"a \ud83d"}`), delta(`{"content":" b"}`), stop}, "a \ufffd b", nil},
		"content as pieces":              {[]string{delta(`{"content":[{"type":"text","text":"one "},{"type":"text","text":"two"}]}`), stop}, "one two", nil},
		"another choice is not ours":     {[]string{delta(`{"content":"ours"}`), `{"choices":[{"index":1,"delta":{"content":"theirs"},"finish_reason":"length"}]}`, stop}, "ours", nil},
		"calls under stop":               {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"lookup","arguments":"{}"}}]}`), stop}, "", calls(`{}`)[:0]},
		"the call of old endpoints": {[]string{delta(`{"function_call":{"name":"lookup","arguments":"{\"a\":"}}`), delta(`{"function_call":{"arguments":"1}"}}`),
			`{"choices":[{"delta":{},"finish_reason":"function_call"}]}`}, "", []core.ToolCall{{Name: "lookup", Arguments: json.RawMessage(`{"a":1}`)}}},
		"an id that is a number": {[]string{delta(`{"tool_calls":[{"index":0,"id":17,"function":{"name":"lookup","arguments":"{}"}}]}`), stop}, "",
			[]core.ToolCall{{ID: "17", Name: "lookup", Arguments: json.RawMessage(`{}`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := newStage(t, frames(c.frames...)).turn(prompt())
			if got.Text != c.text || got.End != nil || !got.NoUsage {
				t.Errorf("got %+v", got)
			}
			if name == "calls under stop" {
				c.calls = []core.ToolCall{{ID: "a", Name: "lookup", Arguments: json.RawMessage(`{}`)}}
			}
			if string(core.Encode(got.Calls)) != string(core.Encode(c.calls)) {
				t.Errorf("calls %s, want %s", core.Encode(got.Calls), core.Encode(c.calls))
			}
		})
	}
}

func TestEndpointsThatStreamInTheirWay(t *testing.T) {
	for name, q := range map[string]modeldouble.OpenAIQuirks{"no [DONE]": {NoDone: true}, "no empty lines": {Tight: true}, "no stream at all": {Unstreamed: true}} {
		t.Run(name, func(t *testing.T) {
			turn := core.Turn{Text: "On its way.", Calls: calls(`{"order":7}`), InputTokens: 5, OutputTokens: 2}
			got := newStage(t, q.Handler(func(modeldouble.Asked) modeldouble.Said { return modeldouble.Said{Turn: turn, Piece: 3} })).turn(prompt())
			if got.Text != turn.Text || len(got.Calls) != 1 || got.InputTokens != 5 || got.NoUsage {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestWhatAnEndpointRefusesIsLeftOutFromThenOn(t *testing.T) {
	thought := core.Part{Type: core.PartReasoning, Text: "hm", Provider: "openai", Sealed: []byte("reasoning_content")}
	c := calls(`{}`)[0]
	p := prompt()
	p.Messages = append(p.Messages, core.Message{Role: core.RoleAssistant, Parts: []core.Part{thought}, Calls: []core.ToolCall{c}},
		core.Message{Role: core.RoleTool, CallID: c.ID, Parts: core.TextParts("found")})
	q := modeldouble.OpenAIQuirks{NoStreamOptions: true, NoReasoning: true}
	s := newStage(t, q.Handler(func(modeldouble.Asked) modeldouble.Said {
		return modeldouble.Said{Turn: core.Turn{Text: "yes", InputTokens: 3}}
	}))
	for ask, want := range []int{3, 4} { // two refusals, and never again
		if got := s.turn(p); !got.NoUsage || got.Text != "yes" {
			t.Errorf("got %+v", got)
		}
		if s.requests() != want {
			t.Errorf("%d requests after %d answers, want %d", s.requests(), ask+1, want)
		}
	}
	if s.clock.slept != 0 {
		t.Errorf("it waited %s for an answer that needs no waiting", s.clock.slept)
	}
}

func TestReasoningGoesBackInTheMemberItCameIn(t *testing.T) {
	for _, member := range []string{"reasoning", "reasoning_content"} {
		var asked []modeldouble.Asked
		q := modeldouble.OpenAIQuirks{Reasoning: member}
		turn := core.Turn{Calls: calls(`{}`), Content: []core.Part{{Type: core.PartReasoning, Text: "first this"}, {Type: core.PartCall, Call: "call_a"}}}
		s := newStage(t, q.Handler(func(a modeldouble.Asked) modeldouble.Said {
			asked = append(asked, a)
			return modeldouble.Said{Turn: turn}
		}))
		got := s.turn(prompt())
		p := prompt()
		p.Messages = append(p.Messages, core.Message{Role: core.RoleAssistant, Parts: got.Content, Calls: got.Calls},
			core.Message{Role: core.RoleTool, CallID: got.Calls[0].ID, Parts: core.TextParts("found")})
		s.turn(p)
		if want := `"` + member + `":"first this"`; !strings.Contains(string(asked[1].Body), want) {
			t.Errorf("no %s in %s", want, asked[1].Body)
		}
	}
}

func TestRequestHoldsWhatTheAgentAndTheHooksSay(t *testing.T) {
	var body map[string]json.RawMessage
	s := newStageOf(t, agent.Model{ID: "small", MaxTokens: 100, Temperature: "0.70", TopP: "0.9", StopSequences: []string{"END"}, Effort: "low", Tier: "flex",
		Request: json.RawMessage(`{"seed":12345678901234567890,"messages":[],"stream":false,"temperature":2,"tool_choice":"auto"}`)},
		modeldouble.OpenAI(func(a modeldouble.Asked) modeldouble.Said {
			body = nil
			_ = json.Unmarshal(a.Body, &body)
			return modeldouble.Said{Turn: core.Turn{Text: "yes"}}
		}))
	p := prompt()
	p.Tools = nil
	p.Parameters = map[string]any{"top_p": json.Number("0.10"), "max_tokens": 7, "model": "large", "unknown": 1}
	s.turn(p)
	for member, want := range map[string]string{"seed": "12345678901234567890", "temperature": "0.70", "top_p": "0.10", "max_tokens": "7", "stop": `["END"]`,
		"reasoning_effort": `"low"`, "service_tier": `"flex"`, "stream": "true", "model": `"large"`, "unknown": "", "tool_choice": ""} {
		if string(body[member]) != want {
			t.Errorf("%s is %s, want %s", member, body[member], want)
		}
	}
	p.Parameters = map[string]any{"temperature": "hot"}
	if _, err := s.model.Ask(t.Context(), p); !errors.As(err, new(*engine.ModelError)) || !strings.Contains(err.Error(), "temperature") {
		t.Errorf("a temperature that is no number: %v", err)
	}
}

func TestOutputIsHeldAgainstItsSchema(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	for said, fits := range map[string]bool{`{"n":12345678901234567890}`: true, `{"n":"x"}`: false, `not JSON`: false, "": false} {
		var asked modeldouble.Asked
		s := newStageOf(t, agent.Model{ID: "small", Output: schema}, modeldouble.OpenAI(func(a modeldouble.Asked) modeldouble.Said {
			asked = a
			return modeldouble.Said{Turn: core.Turn{Text: said}}
		}))
		got, err := s.model.Ask(t.Context(), prompt())
		if fits && (err != nil || got.Text != said) || !fits && !errors.As(err, new(*engine.TryLater)) {
			t.Errorf("%q became %+v, %v", said, got, err)
		}
		if !strings.Contains(string(asked.Body), `"response_format":{"json_schema":{"name":"output","schema":`) {
			t.Errorf("the schema was not sent: %s", asked.Body)
		}
	}
	s := newStageOf(t, agent.Model{ID: "small", Output: schema}, modeldouble.OpenAI(func(modeldouble.Asked) modeldouble.Said {
		return modeldouble.Said{Turn: core.Turn{Text: "I look.", Calls: calls(`{}`)}}
	}))
	if got := s.turn(prompt()); len(got.Calls) != 1 {
		t.Errorf("a turn with calls is no output: %+v", got)
	}
}

func TestRefusalOfAModelEndsTheRun(t *testing.T) {
	got := newStage(t, frames(delta(`{"refusal":"I can't."}`), stop)).turn(prompt())
	if got.End == nil || got.End.Code != "content_filtered" || got.Text != "I can't." {
		t.Errorf("got %+v", got)
	}
}

func TestAStreamThatGoesOnForEverBehindItsEndIsATurn(t *testing.T) {
	var s *stage
	s = newStage(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		frames(delta(`{"content":"yes"}`), stop)(w, r)
		for r.Context().Err() == nil {
			s.clock.Advance(time.Second)
			if _, err := w.Write([]byte(": still here\n\n")); err != nil {
				return
			}
		}
	}))
	if got := s.turn(prompt()); got.Text != "yes" {
		t.Errorf("got %+v", got)
	}
}
