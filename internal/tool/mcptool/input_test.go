package mcptool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// asking is a tool that asks for these things, one map after the other, and says in the end what it
// was given.
func asking(rounds ...mcp.InputRequestMap) func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		round := len(strings.Fields(r.Params.RequestState))
		if round < len(rounds) {
			return &mcp.CallToolResult{InputRequests: rounds[round], RequestState: r.Params.RequestState + " round"}, nil
		}
		var given []string
		for _, key := range slices.Sorted(maps.Keys(r.Params.InputResponses)) {
			answer := r.Params.InputResponses[key].(*mcp.ElicitResult)
			content, _ := json.Marshal(answer.Content)
			given = append(given, fmt.Sprintf("%s %s %s", key, answer.Action, content))
		}
		return &mcp.CallToolResult{Content: []mcp.Content{text(strings.Join(given, "; ") + " for " + string(r.Params.Arguments))}}, nil
	}
}

func form(message, schema string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(schema)}
}

const address = `{"type":"object","properties":{"street":{"type":"string"},"number":{"type":"integer"}},"required":["street","number"]}`

var (
	oneForm = mcp.InputRequestMap{"where": form("Where to?", address)}
	oneWord = mcp.InputRequestMap{"why": form("Why?", `{"type":"object","properties":{"reason":{"type":"string"}},"required":["reason"]}`)}
	oneURL  = mcp.InputRequestMap{"login": &mcp.ElicitParams{Mode: "url", Message: "Log in first.", URL: "https://login.example/x?y=1", ElicitationID: "e1"}}
	both    = mcp.InputRequestMap{"where": oneForm["where"], "login": oneURL["login"]}
)

// story is a call that waits and is taken up again, each time by another process.
type story struct {
	*world
	state core.State
}

func (s *story) step(resume *core.Resume) core.Outcome {
	s.t.Helper()
	pad := pad.New(s.state)
	out := s.call(s.tools(), call{args: `{"order":1}`, state: pad, resume: resume, atMostOnce: true})
	if !out.Failed {
		s.state = s.state.Apply(pad.Ops())
	}
	return out
}

func (s *story) answer(result string) core.Outcome {
	s.t.Helper()
	return s.step(&core.Resume{DecisionID: "dec_1", Action: core.ActionResume, Result: json.RawMessage(result)})
}

// TestACallThatNeedsInputGoesOnInAnotherProcess: nothing but the state of the run and the answer is
// left of the first.
func TestACallThatNeedsInputGoesOnInAnotherProcess(t *testing.T) {
	for name, tt := range map[string]struct {
		asks           mcp.InputRequestMap
		answer         string
		schema, result string
	}{
		"a form":              {oneForm, `{"street":"Main","number":7}`, `{"properties":{"number":{"type":"integer"},"street":{"type":"string"}},"required":["street","number"],"type":"object"}`, `where accept {"number":7,"street":"Main"}`},
		"a message":           {oneWord, `"it is late"`, "", `why accept {"reason":"it is late"}`},
		"an address":          {oneURL, `"accept"`, `{"enum":["accept","decline","cancel"],"type":"string"}`, `login accept null`},
		"an address declined": {oneURL, `"decline"`, "", `login decline null`},
		"two things":          {both, `{"where":{"street":"Main","number":1},"login":"cancel"}`, "", `login cancel null; where accept {"number":1,"street":"Main"}`},
		"one of two":          {both, `{"login":"accept"}`, "", `login accept null; where decline null`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{world: newWorld(t, false, asking(tt.asks))}
			out := s.step(nil)
			if out.Ticket == nil || out.Kind != core.KindInput || out.Ticket.ResumeMode != core.PassDecisionToTool {
				t.Fatalf("outcome %+v", out)
			}
			if got := string(out.Ticket.Suspension.ResponseSchema); tt.schema != "" && got != tt.schema {
				t.Errorf("schema %s", got)
			}
			if !strings.Contains(out.Ticket.Suspension.Message, "The MCP server 127.0.0.1:") {
				t.Errorf("nobody sees who asks: %s", out.Ticket.Suspension.Message)
			}
			out = s.answer(tt.answer)
			if want := tt.result + ` for {"order":1}`; out.Text != want || out.Failed {
				t.Errorf("outcome %+v, want %q", out, want)
			}
			if len(s.state.Run) != 0 {
				t.Errorf("it is over, and this is left of it: %s", s.state.Run)
			}
		})
	}
}

func TestAServerMayAskAgain(t *testing.T) {
	s := &story{world: newWorld(t, false, asking(oneURL, oneForm))}
	s.step(nil)
	out := s.answer(`"accept"`)
	if out.Ticket == nil || !strings.Contains(out.Ticket.Suspension.Message, "Where to?") {
		t.Fatalf("outcome %+v", out)
	}
	if out = s.answer(`{"street":"Main","number":1}`); out.Text != `where accept {"number":1,"street":"Main"} for {"order":1}` || len(s.state.Run) != 0 {
		t.Errorf("outcome %+v, state %s", out, s.state.Run)
	}
}

func TestTheAnswerKeepsEveryDigit(t *testing.T) {
	s := &story{world: newWorld(t, false, asking(oneForm))}
	s.step(nil)
	s.answer(`{"street":"Main","number":9007199254740993}`)
	calls := s.requests("tools/call")
	if last := calls[len(calls)-1].body; !strings.Contains(last, `"number":9007199254740993`) {
		t.Errorf("sent %s", last)
	}
}

// TestAMessageThatDoesNotFitIsNoAnswer: nobody has held it against the schema before.
func TestAMessageThatDoesNotFitIsNoAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		asks   mcp.InputRequestMap
		answer string
	}{
		"of a form with two fields": {oneForm, `"Main 1"`}, "of an address": {oneURL, `"what is this?"`}, "of two things": {both, `"yes"`},
		"of another type": {oneForm, `{"street":1,"number":1}`}, "nothing": {oneForm, ``}, "null": {oneURL, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{world: newWorld(t, false, asking(tt.asks))}
			s.step(nil)
			before := len(s.requests("tools/call"))
			out := s.answer(tt.answer)
			if out.Ticket == nil || !strings.HasPrefix(out.Ticket.Suspension.Message, "The answer was rejected: ") || len(s.requests("tools/call")) != before {
				t.Errorf("outcome %+v", out)
			}
			if len(s.state.Run) != 1 {
				t.Error("what was asked is lost")
			}
		})
	}
}

func TestAnApprovalIsNoAnswerToTheServer(t *testing.T) {
	s := &story{world: newWorld(t, false, asking(oneForm))}
	if out := s.answer(`true`); out.Ticket == nil || !strings.Contains(out.Ticket.Suspension.Message, "Where to?") {
		t.Errorf("outcome %+v", out)
	}
}

func TestWhatNobodyCanBeAskedForEndsTheCall(t *testing.T) {
	many := mcp.InputRequestMap{}
	for i := range mostQuestions + 1 {
		many[fmt.Sprint(i)] = form("?", `{"type":"object"}`)
	}
	var model mcp.InputRequestMap
	if err := json.Unmarshal([]byte(`{"m":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}`), &model); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		asks mcp.InputRequestMap
		says string
	}{
		"the model":          {model, "only input from a person"},
		"too many things":    {many, "more than 8 inputs"},
		"a long form":        {mcp.InputRequestMap{"a": form("?", `{"type":"object","description":"`+strings.Repeat("x", mostAsked)+`"}`)}, "16384 bytes"},
		"a form in a form":   {mcp.InputRequestMap{"a": form("?", `{"type":"object","properties":{"a":{"type":"object"}}}`)}, "not a plain value"},
		"a form that refers": {mcp.InputRequestMap{"a": form("?", `{"type":"object","properties":{"a":{"type":"string","$ref":"#"}}}`)}, "contains a reference"},
		"a form of nothing":  {mcp.InputRequestMap{"a": form("?", `{"type":"array"}`)}, "not a JSON Schema of type object"},
		"a script":           {mcp.InputRequestMap{"a": &mcp.ElicitParams{Mode: "url", URL: "javascript:alert(1)"}}, "the URL that it asks a person to open is invalid"},
		"a password in it":   {mcp.InputRequestMap{"a": &mcp.ElicitParams{Mode: "url", URL: "https://bank.example@evil.example/"}}, "the URL that it asks a person to open is invalid"},
		"a secret":           {mcp.InputRequestMap{"a": form("what is "+token+"?", `{"type":"object"}`)}, "a secret of this program"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{world: newWorld(t, false, asking(tt.asks))}
			out := s.step(nil)
			if !out.Failed || out.Ticket != nil || !strings.Contains(out.Text, tt.says) || strings.Contains(out.Text, token) {
				t.Errorf("outcome %+v", out)
			}
			if len(s.state.Run) != 0 {
				t.Errorf("the state holds %s", s.state.Run)
			}
		})
	}
}

// TestAnOldServerIsToldThatNobodyAnswers: it asks while the call is under way.
func TestAnOldServerIsToldThatNobodyAnswers(t *testing.T) {
	w := newWorld(t, true, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := r.Session.Elicit(ctx, oneForm["where"].(*mcp.ElicitParams))
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{text("the person said " + answer.Action)}}, nil
	})
	if out := w.call(w.tools(), call{}); out.Text != "the person said decline" {
		t.Errorf("outcome %+v", out)
	}
}
