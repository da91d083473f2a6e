package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// approvalForm is what a client asks its user about a call.
const approvalForm = `{"type":"object","properties":{
	"approved":{"type":"boolean","title":"Approve","description":"Yes runs the call with exactly these arguments."},
	"reason":{"type":"string","title":"Reason","description":"For the record. The agent sees the reason of a denial."}},"required":["approved"]}`

// questions are the open calls of a run that the client can ask its user about, by their
// suspensions. The same suspension is always the same question.
func (x *exchange) questions(run wire.Run, said *replies) mcp.InputRequestMap {
	asked := mcp.InputRequestMap{}
	for _, p := range run.Pending {
		if said.over[p.Suspension.ID] || !x.mayAnswer(run, p) {
			continue
		}
		if form, ok := formOf(p); ok {
			asked[p.Suspension.ID] = &mcp.ElicitParams{Mode: "form", Message: question(run, p), RequestedSchema: form}
		}
	}
	return asked
}

// mayAnswer says whether it makes sense to ask the caller. Whether the answer counts is found out
// when it comes.
func (x *exchange) mayAnswer(run wire.Run, p wire.Pending) bool {
	voted := func(v wire.Voter) bool { return v.By == x.Caller.By }
	switch {
	case !x.may(access.Decide):
		return false
	case p.Kind != core.KindApproval.String():
		return true
	case len(p.Approvers) > 0 && !x.listed(p.Approvers):
		return false
	case p.NotBy != "" && (x.Caller.By == "" || run.StartedBy != nil && run.StartedBy.By == x.Caller.By):
		return false
	}
	return p.Votes == nil || !slices.ContainsFunc(p.Votes.Voters, voted)
}

// formOf is the form that answers a call; ok is false if none does: the protocol's forms are flat,
// and an approver must see all of the arguments.
func formOf(p wire.Pending) (form json.RawMessage, ok bool) {
	switch p.Kind {
	case core.KindApproval.String():
		whole := p.Tool == "" || bytes.HasPrefix(p.Arguments, []byte("{"))
		return json.RawMessage(approvalForm), whole && p.ResumeMode != core.UseDecisionAsToolResult.String()
	case core.KindInput.String():
		return answerForm(p.Suspension.ResponseSchema)
	}
	return nil, false
}

// answerMember is the only member of a form for an answer that is no object.
const answerMember = "answer"

// answerForm is the form for an answer with this schema.
func answerForm(schema json.RawMessage) (form json.RawMessage, ok bool) {
	if core.IsNull(schema) {
		schema = json.RawMessage(`{"type":"string"}`)
	}
	if isFlat(schema) {
		return schema, true
	}
	if !isPrimitive(schema) {
		return nil, false
	}
	return core.Encode(map[string]any{"type": "object", "required": []string{answerMember},
		"properties": map[string]json.RawMessage{answerMember: schema}}), true
}

// isFlat says whether a schema is one that forms have: an object of members without structure.
func isFlat(schema json.RawMessage) bool {
	var s struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil || s.Type != "object" || len(s.Properties) == 0 || !onlyHas(schema, "type", "properties", "required", "title", "description", "additionalProperties", "$schema") {
		return false
	}
	for _, member := range s.Properties {
		if !isPrimitive(member) {
			return false
		}
	}
	return true
}

// isPrimitive says whether a schema is one that the members of forms have.
func isPrimitive(schema json.RawMessage) bool {
	var s struct {
		Type   any    `json:"type"`
		Format string `json:"format"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	switch s.Type {
	case "string":
		formats := []string{"", "email", "uri", "date", "date-time"}
		return slices.Contains(formats, s.Format) && onlyHas(schema, "type", "title", "description", "minLength", "maxLength", "format", "default", "enum")
	case "number", "integer":
		return onlyHas(schema, "type", "title", "description", "minimum", "maximum", "default")
	case "boolean":
		return onlyHas(schema, "type", "title", "description", "default")
	}
	return false
}

func onlyHas(object json.RawMessage, names ...string) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return false
	}
	for name := range members {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// question is what the client's user reads: what would run, and why someone is asked. What does not
// show in a text is spelled out.
func question(run wire.Run, p wire.Pending) string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	reason := printable.Text(p.Suspension.Message)
	switch {
	case p.Kind == core.KindInput.String():
		add("%s", cmp.Or(reason, p.Suspension.Action, "The agent has a question."))
		add("Asked by: %s", whose(run, p))
		return strings.Join(lines, "\n")
	case p.Tool == "":
		add("May the run go on?")
	default:
		add("Approve %s?", printable.Text(p.Tool))
		add("Arguments: %s", oneLine(p.Arguments))
	}
	if reason != "" {
		add("Why you are asked: %s", reason)
	}
	if p.Preview != nil {
		add("Preview: %s", printable.Text(cmp.Or(p.Preview.Text, p.Preview.Failed)))
	}
	for _, w := range p.Warnings {
		add("Warning: %s: %s", printable.Text(w.Path), w.Text)
	}
	if p.Votes != nil {
		add("Approvals: %d of %d", p.Votes.Yes, p.Votes.Need)
	}
	add("Asked by: %s", whose(run, p))
	return strings.Join(lines, "\n")
}

// whose is the agent that waits, and those that work for it.
func whose(run wire.Run, p wire.Pending) string {
	names := []string{run.Agent}
	for _, step := range p.Path {
		names = append(names, step.Agent)
	}
	return strings.Join(names, " > ") + ", run " + run.ID
}

// decision is what the response decides about a call; answered is false if the user has put it off.
// The call is nil if it isn't open any more. Then the decision is what it was when the call was, so
// that a repeat is known as one.
func (r response) decision(p *wire.Pending) (d wire.Decision, answered bool, err error) {
	kind := core.KindApproval.String()
	if p != nil {
		kind = p.Kind
	} else if _, is := r.Content["approved"]; !is {
		kind = core.KindInput.String()
	}
	switch {
	case r.Action == "cancel":
		return d, false, nil
	case r.Action == "decline":
		return wire.Decision{Action: core.ActionCancel.String(), Reason: "declined"}, true, nil
	case r.Action != "accept":
		return d, false, refusal.New(refusal.CodeUnclearDecision, "the response's action is none of accept, decline and cancel")
	case kind == core.KindInput.String():
		d, err = r.answer(p)
		return d, true, err
	}
	d, err = r.verdict()
	return d, true, err
}

func (r response) verdict() (d wire.Decision, err error) {
	var approved *bool
	if json.Unmarshal(r.Content["approved"], &approved) != nil || approved == nil {
		return d, refusal.New(refusal.CodeUnclearDecision, "the response neither approves nor denies; send approved as true or false")
	}
	d.Action = core.ActionCancel.String()
	if *approved {
		d.Action = core.ActionResume.String()
	}
	if reason := r.Content["reason"]; !core.IsNull(reason) && json.Unmarshal(reason, &d.Reason) != nil {
		return d, invalid("reason must be text")
	}
	return d, nil
}

// answer is the result of a call that asked a question.
func (r response) answer(p *wire.Pending) (d wire.Decision, err error) {
	wrapped := len(r.Content) == 1
	if p != nil {
		wrapped = !isFlat(p.Suspension.ResponseSchema)
	}
	if value, is := r.Content[answerMember]; is && wrapped {
		return wire.Decision{Result: value}, nil
	}
	if r.Content == nil {
		return d, refusal.New(refusal.CodeUnclearDecision, "the response has no content; send the answer")
	}
	return wire.Decision{Result: core.Encode(r.Content)}, nil
}
