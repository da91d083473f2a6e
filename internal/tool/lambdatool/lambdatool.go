// Package lambdatool makes Lambda functions into tools the engine can run: it invokes a function
// with the arguments as its event, waits for what it answers, and turns that into words. It invokes
// again only what may be invoked again. Whether a call may run is decided elsewhere, by the
// permissions of the agent and by the rights of the role that invokes; it makes and changes no
// function.
//
// # What a function is given
//
// Its event is the object of arguments, byte for byte as the model wrote it. Everything else is in
// the member custom of the invocation's client context, as text: idempotency_key, run_id,
// thread_id, tenant, call_id, tool, and repeated, which is "true" when an execution in a process
// that was lost may have begun before. A repeat of a call has the same idempotency_key, and a
// function that is not to act twice remembers it.
package lambdatool

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// Client is what is used of the service's own client. It is told with each call to send once: what
// may be sent again is decided here. It must have no time limit of its own: each call brings one.
type Client interface {
	Invoke(context.Context, *lambda.InvokeInput, ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
}

// Options are the surroundings of Lambda tools. Clock and Random are required.
type Options struct {
	Clock  engine.Clock
	Random engine.Random

	// Hidden are values that no result may show: secrets and credentials of this process, which
	// a function may know too. Nil: none.
	Hidden func() secret.Values
}

// Caller invokes the functions of all Lambda tools. Safe for concurrent use.
type Caller struct {
	client Client
	o      Options
}

// New returns a caller. It asks the service nothing.
func New(client Client, o Options) *Caller {
	if o.Hidden == nil {
		o.Hidden = func() secret.Values { return nil }
	}
	return &Caller{client: client, o: o}
}

// Body is the body of a Lambda tool of a definition. Whether there is such a function is found out
// by the first call.
func (c *Caller) Body(d agent.Definition, t agent.Tool) (engine.Tool, error) {
	if t.Lambda == nil {
		return nil, fmt.Errorf("agent %s: tool %s is no Lambda function; give it lambda, with the name of one", d.Name, t.Name)
	}
	return &function{caller: c, tool: t, at: *t.Lambda}, nil
}

// function is a Lambda tool, ready to be called.
type function struct {
	caller *Caller
	tool   agent.Tool
	at     agent.Lambda
}

// mostSent is how large an event may be: what Lambda takes of a caller that waits.
const mostSent = 6 << 20

// Run implements [engine.Tool]. Nothing it returns holds a value that is hidden.
func (f *function) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	call := f.call(req)
	event, err := eventOf(req.Call.Arguments)
	if err != nil {
		return call.NotRun(err.Error()), nil
	}
	e := &execution{function: f, event: event, told: told(req)}
	return call.Run(ctx, func(ctx context.Context, _ *remote.Patience) remote.Attempt { return e.attempt(e.invoke(ctx)) })
}

// call is one execution under the rules that all tools elsewhere share.
func (f *function) call(req engine.ToolRequest) remote.Call {
	o, name := f.caller.o, f.at.Function
	return remote.Call{Request: req, ReadOnly: f.tool.ReadOnly, Hidden: o.Hidden, Clock: o.Clock, Random: o.Random, Quiet: f.at.Limit(), Repeats: mostAgain,
		Words: remote.Words{Read: "The function " + name + " was invoked", Sent: "The function " + name + " was invoked",
			Asked: f.tool.Name + " invoked the function " + name, Before: "It was invoked before", Again: "It could not be invoked again: ", Crashed: "invoked the function"}}
}

// eventOf keeps the arguments as they were written.
func eventOf(arguments json.RawMessage) ([]byte, error) {
	switch {
	case core.IsNull(arguments):
		return []byte("{}"), nil
	case !json.Valid(arguments):
		return nil, fmt.Errorf("its arguments are no JSON")
	case len(arguments) > mostSent:
		return nil, fmt.Errorf("its arguments have %d bytes, and a Lambda function takes at most %d; say less, or where the rest is", len(arguments), mostSent)
	}
	return arguments, nil
}

// told is the client context of an invocation. Libraries read custom as an object of texts, and
// refuse anything else in it.
func told(req engine.ToolRequest) string {
	custom := map[string]string{"idempotency_key": short(req.Key), "run_id": short(req.Run), "thread_id": short(req.Thread), "tenant": short(req.Tenant),
		"call_id": short(req.Call.ID), "tool": short(req.Call.Name)}
	if req.Again {
		custom["repeated"] = "true"
	}
	return base64.StdEncoding.EncodeToString(core.Encode(map[string]any{"custom": custom}))
}

// short is a word as a header can hold it: a client context has room for some 2,600 bytes, and the
// id of a call is the model's word.
func short(text string) string {
	if len(text) <= 200 && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text
	}
	return core.Digest([]byte(text))
}
