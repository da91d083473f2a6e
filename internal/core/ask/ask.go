// Package ask is an approval without an agent: a question that a script or another program asks a
// person. An ask is a run of a built-in agent whose model calls one tool, once. So inbox, links,
// journal, deadlines and notices are those of runs.
//
//	started ── model calls the tool ── suspended ── answer or deadline ── last word ── done
//
// The title is the text of the run's input. The arguments are a file beside it, so that they reach
// the call as they were sent. The terms are the run's own permissions.
package ask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

const (
	// Agent is the name of the built-in agent. No agent file may use it.
	Agent = "dormouse-ask"
	// Tool is the tool that the agent calls, and Call is the id of that call.
	Tool = "ask"
	Call = "ask"

	argumentsFile = "arguments.json"
)

// Terms say who answers an ask, and how long it waits. They can only take rights away.
type Terms struct {
	// the only callers who may approve; none: every caller who may decide
	Approvers []string `json:"approvers,omitempty"`
	// [core.NotByStarter]: the one who asks must not approve
	NotBy string `json:"not_by,omitempty"`
	// who decides, as it was when the ask was started; nil: Approvers say
	Policy *vote.Policy `json:"policy,omitempty"`
	// ms until the ask is denied without an answer; 0: it waits without a limit
	Within int64 `json:"within,omitempty"`
}

// Encode returns the terms as a run's own permissions; nil for none.
func (t Terms) Encode() json.RawMessage {
	raw := core.Encode(t)
	if string(raw) == "{}" {
		return nil
	}
	return raw
}

// ReadTerms reads what [Terms.Encode] wrote. It refuses a member that it does not know: an older
// program must not ask under fewer restrictions than a newer one stored.
func ReadTerms(raw json.RawMessage) (t Terms, err error) {
	if core.IsNull(raw) {
		return t, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return t, fmt.Errorf("ask: reading the terms: %w", err)
	}
	return t, nil
}

// Input returns the input of the run. Arguments are an object, or empty for none.
func Input(title string, arguments json.RawMessage) json.RawMessage {
	type part struct {
		Type  string `json:"type"`
		Text  string `json:"text,omitempty"`
		Media string `json:"media_type,omitempty"`
		Name  string `json:"name,omitempty"`
		Data  []byte `json:"data,omitempty"`
	}
	parts := []part{{Type: core.PartText, Text: title}}
	if !core.IsNull(arguments) {
		parts = append(parts, part{Type: core.PartDocument, Media: "text/plain", Name: argumentsFile, Data: arguments})
	}
	return core.Encode(parts)
}

// Question returns the call that asks, from the message that [Input] made.
func Question(m core.Message) (core.ToolCall, error) {
	call := core.ToolCall{ID: Call, Name: Tool, Arguments: json.RawMessage(`{}`)}
	for _, p := range m.Parts {
		if p.Type == core.PartDocument && p.Name == argumentsFile {
			if !json.Valid(p.Data) {
				return call, errors.New("the arguments of the ask are not valid JSON")
			}
			call.Arguments = p.Data
		}
	}
	return call, nil
}

// unanswered is the last word of an ask whose call has no result.
const unanswered = "Ended without an answer."

// Next returns the model's next turn: the call, or, once it was made, its result as the last word.
func Next(messages []core.Message) (core.Turn, error) {
	called, said := false, unanswered
	for _, m := range messages {
		called = called || len(m.Calls) > 0
		if m.Role == core.RoleTool && !m.Pending && m.Text() != "" {
			said = m.Text()
		}
	}
	if called {
		return core.Turn{Text: said}, nil
	}
	for _, m := range messages {
		if m.Role == core.RoleUser {
			call, err := Question(m)
			return core.Turn{Calls: []core.ToolCall{call}}, err
		}
	}
	return core.Turn{}, errors.New("the ask has no question")
}
