// Package lambdatool turns Lambda functions into tools that the engine can run. It invokes a
// function with the arguments as its event, waits for the answer, and converts the answer to text.
// It retries only invocations that may be repeated. It does not decide whether a call may run: the
// permissions of the agent and the IAM role of the caller do. It creates and changes no function.
//
// # The input of a function
//
// The event is the object of arguments, byte for byte as the model wrote it. Everything else is in
// the member custom of the invocation's client context, as strings: idempotency_key, run_id,
// thread_id, tenant, call_id, tool and repeated. repeated is "true" if a process that crashed may
// have begun an execution before. A repeat of a call has the same idempotency_key; a function that
// must not act twice stores the keys it has seen.
package lambdatool

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// Client invokes a function. It sends exactly one request, because this package decides what may be
// retried, and sets no time limit, because each call brings one. The service's refusal is a
// [smithy.APIError], in an [awshttp.ResponseError].
type Client interface {
	Invoke(context.Context, Invocation) (Answer, error)
}

// Invocation is a synchronous invocation of a function.
type Invocation struct {
	Function, Qualifier string // a name or an ARN; the qualifier may be empty
	Event               []byte
	Context             string // of the client, in base64
}

// Answer is the answer of a function, or what Lambda says of one that failed.
type Answer struct {
	Payload []byte
	Failed  bool
}

// Options are the dependencies of Lambda tools. Clock and Random are required.
type Options struct {
	Clock  engine.Clock
	Random engine.Random

	// Hidden returns the values that no result may contain: secrets and credentials of this
	// process, which a function may know, too. Nil hides nothing.
	Hidden func() secret.Values
}

// Caller invokes the functions of all Lambda tools. It is safe for concurrent use.
type Caller struct {
	client Client
	o      Options
}

// New returns a caller. It makes no network request.
func New(client Client, o Options) *Caller {
	if o.Hidden == nil {
		o.Hidden = func() secret.Values { return nil }
	}
	return &Caller{client: client, o: o}
}

// Body returns the body of a Lambda tool of a definition. Whether the function exists shows only
// when it is called.
func (c *Caller) Body(d agent.Definition, t agent.Tool) (engine.Tool, error) {
	if t.Lambda == nil {
		return nil, fmt.Errorf("agent %s: tool %s has no Lambda function; set lambda to the name of one", d.Name, t.Name)
	}
	return &function{caller: c, tool: t, at: *t.Lambda}, nil
}

// function is a Lambda tool that is ready to be called.
type function struct {
	caller *Caller
	tool   agent.Tool
	at     agent.Lambda
}

// mostSent limits the size of an event; it is Lambda's limit for a synchronous invocation.
const mostSent = 6 << 20

// Run implements [engine.Tool]. What it returns contains no hidden value.
func (f *function) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	call := f.call(req)
	event, err := eventOf(req.Call.Arguments)
	if err != nil {
		return call.NotRun(err.Error()), nil
	}
	e := &execution{function: f, event: event, told: told(req)}
	return call.Run(ctx, func(ctx context.Context, _ *remote.Patience) remote.Attempt { return e.attempt(e.invoke(ctx)) })
}

// call returns one execution, under the rules shared by all remote tools.
func (f *function) call(req engine.ToolRequest) remote.Call {
	o, name := f.caller.o, f.at.Function
	return remote.Call{Request: req, ReadOnly: f.tool.ReadOnly, Hidden: o.Hidden, Clock: o.Clock, Random: o.Random, Quiet: f.at.Limit(), Repeats: mostAgain,
		Words: remote.Words{Read: "The function " + name + " was invoked", Sent: "The function " + name + " was invoked",
			Asked: f.tool.Name + " invoked the function " + name, Before: "It was invoked before", Again: "It could not be invoked again: ", Crashed: "invoked the function"}}
}

// eventOf returns the arguments exactly as they were written.
func eventOf(arguments json.RawMessage) ([]byte, error) {
	switch {
	case core.IsNull(arguments):
		return []byte("{}"), nil
	case !json.Valid(arguments):
		return nil, fmt.Errorf("its arguments are not valid JSON")
	case len(arguments) > mostSent:
		return nil, fmt.Errorf("its arguments have %d bytes, and a Lambda function accepts at most %d; shorten them or pass a reference to the data", len(arguments), mostSent)
	}
	return arguments, nil
}

// told returns the client context of an invocation. Libraries expect custom to be an object of
// strings and reject anything else.
func told(req engine.ToolRequest) string {
	custom := map[string]string{"idempotency_key": short(req.Key), "run_id": short(req.Run), "thread_id": short(req.Thread), "tenant": short(req.Tenant),
		"call_id": short(req.Call.ID), "tool": short(req.Call.Name)}
	if req.Again {
		custom["repeated"] = "true"
	}
	return base64.StdEncoding.EncodeToString(core.Encode(map[string]any{"custom": custom}))
}

// short shortens a value of the client context, which is limited to about 2,600 bytes: the id of a
// call is chosen by the model.
func short(text string) string {
	if len(text) <= 200 && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text
	}
	return core.Digest([]byte(text))
}
