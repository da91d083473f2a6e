package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// renderer is recorded as what showed a question.
const renderer = "mcp"

// decision is a decision with the run that it is for.
type decision struct {
	RunID      string          `json:"run_id"`
	DecisionID string          `json:"decision_id"`
	Target     string          `json:"target"`
	Action     string          `json:"action"`
	Result     json.RawMessage `json:"result"`
	Error      string          `json:"error"`
	Arguments  json.RawMessage `json:"arguments"`
	Grant      string          `json:"grant"`
	Reason     string          `json:"reason"`
	Shown      string          `json:"shown"`
}

func (d decision) made() wire.Decision {
	made := wire.Decision{DecisionID: d.DecisionID, Target: d.Target, Action: d.Action, Result: d.Result, Error: d.Error,
		Arguments: d.Arguments, Grant: d.Grant, Reason: d.Reason, Shown: d.Shown}
	if d.Shown != "" {
		made.ShownBy = renderer
	}
	return made
}

// decide takes what the model says that its user has decided. If the client can ask its user, the
// call stores nothing until the user has confirmed it.
func (x *exchange) decide(ctx context.Context, arguments json.RawMessage) (any, error) {
	var d decision
	if err := bodies.Decode(arguments, &d); err != nil {
		return nil, err
	}
	if d.Target == "" {
		return nil, invalid("target is missing; send the id of the suspension")
	}
	if x.call.state != "" || len(x.call.responses) > 0 {
		return x.confirmed(ctx, d, arguments)
	}
	if !x.asks {
		return x.Desk.Decide(ctx, d.RunID, d.made())
	}
	return x.propose(ctx, d, arguments)
}

// unseen is the fingerprint of no question. A decision that carries it is checked like any other,
// and is refused with [refusal.CodeChanged] where it would be stored.
const unseen = "unseen"

// propose asks the user about a decision that could be stored. Another is answered as it would be
// without a user: refused, or with what was decided before. The result of a call that the client
// itself runs is the client's to give.
func (x *exchange) propose(ctx context.Context, d decision, arguments json.RawMessage) (any, error) {
	asked, err := x.Desk.Question(ctx, d.Target)
	if err != nil {
		return nil, err
	}
	if asked != nil && asked.Kind == core.KindClient.String() {
		return x.Desk.Decide(ctx, d.RunID, d.made())
	}
	trial := d.made()
	if asked == nil || d.Shown == "" || d.Shown == asked.Fingerprint {
		trial.Shown, trial.ShownBy = unseen, renderer
	}
	answer, err := x.Desk.Decide(ctx, d.RunID, trial)
	if !refusal.Is(err, refusal.CodeChanged) || trial.Shown != unseen || asked == nil {
		return answer, err
	}
	if !showsWhole(asked) {
		return nil, invalid("a form can't show this call whole, so the user can't confirm the decision here; the call waits in the inbox")
	}
	return x.confirmation(ctx, d, asked, arguments)
}

// showsWhole says whether a form shows all of what the decision is about.
func showsWhole(asked *wire.Approval) bool {
	whole := asked.Tool == "" || len(asked.Arguments) > 0 && asked.Arguments[0] == '{'
	return asked.Error == nil && asked.Fingerprint != "" && whole
}

// confirmationForm is what a client asks its user about a decision of the model.
const confirmationForm = `{"type":"object","properties":{
	"confirmed":{"type":"boolean","title":"Confirm","description":"Yes stores exactly this decision. No stores nothing."}},"required":["confirmed"]}`

func (x *exchange) confirmation(ctx context.Context, d decision, asked *wire.Approval, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	digest, err := digestOf(arguments)
	if err != nil {
		return nil, err
	}
	state, err := x.Seals.Proposal(ctx, Proposal{Suspension: asked.Suspension.ID, Shown: asked.Fingerprint, Digest: digest})
	if err != nil {
		return nil, err
	}
	form := &mcp.ElicitParams{Mode: "form", Message: proposal(d, asked), RequestedSchema: json.RawMessage(confirmationForm)}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{asked.Suspension.ID: form}, RequestState: state}, nil
}

// digestOf is of the arguments of the tool, however their JSON was written.
func digestOf(arguments json.RawMessage) (string, error) {
	canonical, err := core.Canonical(arguments)
	if err != nil {
		return "", invalid("the arguments are not valid JSON")
	}
	return core.Digest(canonical), nil
}

// confirmed stores the decision that the user was shown, on the question that the user was shown,
// if the user has confirmed it. The arguments of the retry, with the target, must be those that
// were shown.
func (x *exchange) confirmed(ctx context.Context, d decision, arguments json.RawMessage) (any, error) {
	if x.call.state == "" {
		return nil, x.rpcError(invalid("inputResponses need the requestState that they came with; call the tool again without them"))
	}
	shown, err := x.Seals.OpenProposal(ctx, x.call.state)
	if err != nil {
		return nil, x.rpcError(err)
	}
	digest, err := digestOf(arguments)
	if err != nil {
		return nil, err
	}
	if digest != shown.Digest {
		return nil, x.rpcError(invalid("the requestState is that of another decision; send it with the arguments that it came for, or call decide again without it"))
	}
	said, answered := x.call.responses[shown.Suspension]
	switch {
	case !answered && x.asks:
		return x.propose(ctx, d, arguments)
	case !answered:
		return nil, x.rpcError(invalid("the retry has no response to the question that its requestState names; nothing was stored"))
	}
	yes, err := said.confirms()
	if err != nil {
		return nil, err
	}
	if !yes {
		return unconfirmed(d.Target, said.Action), nil
	}
	made := d.made()
	made.Shown, made.ShownBy = shown.Shown, renderer
	return x.Desk.Decide(ctx, d.RunID, made)
}

// confirms says whether the user has confirmed. Only a clear yes is one.
func (r response) confirms() (bool, error) {
	switch r.Action {
	case "decline", "cancel":
		return false, nil
	case "accept":
	default:
		return false, refusal.New(refusal.CodeUnclearDecision, "the response's action is none of accept, decline and cancel; nothing was stored")
	}
	var yes *bool
	if json.Unmarshal(r.Content["confirmed"], &yes) != nil || yes == nil {
		return false, refusal.New(refusal.CodeUnclearDecision, "the response doesn't say whether the user confirms; send confirmed as true or false. Nothing was stored")
	}
	return *yes, nil
}

// unconfirmed is the result of a decision that the user hasn't confirmed. It is an error, so that
// no model takes the question for answered.
func unconfirmed(target, action string) *mcp.CallToolResult {
	did := map[string]string{"accept": "answered no", "decline": "declined", "cancel": "closed the form"}[action]
	return &mcp.CallToolResult{IsError: true, Content: text("The user " + did + ". Nothing was stored: " + target + " is still open. Ask the user before you decide again."),
		StructuredContent: core.Encode(map[string]any{"target": target, "stored": false, "user": did})}
}
