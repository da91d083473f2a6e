package mcpserver

import (
	"context"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// callAgent starts a run, or continues the call that the state names.
func (x *exchange) callAgent(ctx context.Context, agent string, p *mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
	if x.call.state != "" || len(x.call.responses) > 0 {
		return x.resume(ctx, agent)
	}
	var in struct {
		Input  string `json:"input"`
		Thread string `json:"thread"`
	}
	if err := bodies.Decode(orEmpty(p.Arguments), &in); err != nil {
		return x.refused(err)
	}
	if in.Input == "" {
		return x.refused(invalid("input is missing; send what the agent is asked as text"))
	}
	key, err := x.key(p)
	if err != nil {
		return x.refused(err)
	}
	run, err := x.Desk.Start(ctx, Input{Agent: agent, Text: in.Input, Thread: in.Thread, Key: key})
	if refusal.Is(err, refusal.CodeAgentNotFound) {
		return nil, x.rpcError(err) // as of any tool that there is none of
	}
	if err != nil {
		return x.refused(err)
	}
	return x.settle(ctx, run, &replies{})
}

// key is what the client says that the call is known by.
func (x *exchange) key(p *mcp.CallToolParamsRaw) (string, error) {
	switch key := p.Meta[KeyMeta].(type) {
	case nil:
	case string:
		if key != "" {
			return key, nil
		}
	default:
		return "", invalid("the member %s of _meta must be text", KeyMeta)
	}
	return x.header.Get(keyHeader), nil
}

// resume decides what the client's user has answered, and waits on. The state says which run is
// meant; the arguments of the call are those of its first round and say nothing any more.
func (x *exchange) resume(ctx context.Context, agent string) (*mcp.CallToolResult, error) {
	if x.call.state == "" {
		return nil, x.rpcError(invalid("inputResponses need the requestState that they came with; call the tool again without them"))
	}
	run, err := x.Seals.OpenRun(ctx, x.call.state)
	if err != nil {
		return nil, x.rpcError(err)
	}
	now, err := x.Desk.Await(ctx, run, 0)
	if err != nil {
		return x.refused(err)
	}
	if now.Agent != agent {
		return nil, x.rpcError(invalid("the requestState is that of a call of another tool; send it to the tool that it came from"))
	}
	said, err := x.reply(ctx, now, x.call.responses)
	if err != nil {
		return x.refusedOf(now, said, err)
	}
	return x.settle(ctx, run, said)
}

// refusedOf is a refused answer: its question is still open.
func (x *exchange) refusedOf(run wire.Run, said *replies, err error) (*mcp.CallToolResult, error) {
	result, err := x.refused(err)
	if err == nil {
		result.Content = append(result.Content, text("The question is still open. "+x.ways(run))...)
		result.Meta = metaOf(run, said)
	}
	return result, err
}

// settle shows the run once it needs someone, or as it is after a while.
func (x *exchange) settle(ctx context.Context, id string, said *replies) (*mcp.CallToolResult, error) {
	if !x.may(access.Read) {
		return structured(map[string]string{"run_id": id, "status": "started; who may read runs can follow it"})
	}
	run, err := x.Desk.Await(ctx, id, longest)
	if err != nil {
		return x.refused(err)
	}
	if run.Status == core.RunDone.String() {
		return x.ended(run, said), nil
	}
	if asked := x.questions(run, said); x.asks && len(asked) > 0 {
		state, err := x.Seals.Run(ctx, id)
		if err != nil {
			return x.refused(err)
		}
		return &mcp.CallToolResult{InputRequests: asked, RequestState: state, Meta: metaOf(run, said)}, nil
	}
	if x.tasks {
		// the run is stored, so that tasks/get finds it
		x.task = x.taskOf(run, created)
		x.task.Meta = metaOf(run, said)
		return &mcp.CallToolResult{}, nil
	}
	return x.waiting(run, said), nil
}

// replies are what became of the answers in a request.
type replies struct {
	// the questions that are not asked again in the same call: they were answered, and others
	// must answer too, or the user has put them off
	over map[string]bool

	// what was answered, stored or not
	answers []wire.DecisionAnswer
}

// reply decides about the open calls of a run as the responses say, one after the other. An answer
// that came too late, or twice, or to no question of the run, changes nothing, and its client is
// shown what counts. One that isn't allowed, or isn't clear, is the error; those before it are
// stored.
func (x *exchange) reply(ctx context.Context, run wire.Run, responses map[string]response) (*replies, error) {
	said := &replies{over: map[string]bool{}}
	if err := checkResponses(responses); err != nil {
		return said, err
	}
	for _, sus := range slices.Sorted(maps.Keys(responses)) {
		d, answered, err := responses[sus].decision(pendingOf(run, sus))
		if err != nil {
			return said, err
		}
		said.over[sus] = true
		if !answered {
			continue
		}
		d.Target = sus
		answer, err := x.decideOn(ctx, run.ID, d)
		if err != nil {
			return said, err
		}
		said.answers = append(said.answers, answer)
	}
	return said, nil
}

func pendingOf(run wire.Run, sus string) *wire.Pending {
	for i, p := range run.Pending {
		if p.Suspension.ID == sus {
			return &run.Pending[i]
		}
	}
	return nil
}

// closed are the codes of answers to questions that are not open.
var closed = []refusal.Code{refusal.CodeAlreadyDecided, refusal.CodeLateDecision, refusal.CodeStaleSuspension, refusal.CodeNotSuspended,
	refusal.CodeArgumentsChanged, refusal.CodeRunDone, refusal.CodeCallNotFound}

// decideOn takes a decision about a suspension. That its question isn't open is no error.
func (x *exchange) decideOn(ctx context.Context, run string, d wire.Decision) (answer wire.DecisionAnswer, err error) {
	// what the API takes for the id of a call was never asked here
	err = refusal.New(refusal.CodeCallNotFound, "the run has no such question")
	if _, is := core.SuspensionSeq(d.Target); is {
		answer, err = x.Desk.Decide(ctx, run, d)
	}
	if !refusal.Is(err, closed...) {
		return answer, err
	}
	e, _ := problems.Refused(err)
	doc := problems.Document(e)
	return wire.DecisionAnswer{Status: doc.Status, Code: doc.Code, Detail: doc.Detail, Target: d.Target, Same: e.Same, Winner: e.Winner}, nil
}
