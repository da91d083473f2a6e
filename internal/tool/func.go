// Package tool makes Go functions and recorded answers into tools the engine can run. It decodes
// arguments, derives schemas and turns results into text; whether a call may run, and how often, is
// decided elsewhere.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Call is what a body may know of its call besides its arguments.
type Call struct {
	Tenant, Thread, Run string
	ID, Name            string
	Arguments           json.RawMessage // as the model wrote them
	// idempotency key: the same whenever this execution is tried again
	Key   string
	Epoch int64 // fencing token: a larger one is newer
	// it may have begun before under this key, in a process that was lost; never so if it is
	// AtMostOnce
	Again bool
	// the decision that woke the call, in the mode that passes it on; else nil
	Resume *core.Resume

	// State is shared with the other tools and the hooks of the run. What is written takes
	// effect with the call's result, all of it or, if the body is cut off or runs again after a
	// crash, nothing.
	State *engine.Pad

	// Progress tells readers who look on how far the body is. It stores nothing and returns at
	// once; nil where no reader can look on.
	Progress func(engine.Progress)

	// Scratch is the call's own: what the body kept when it suspended is there when it runs
	// again.
	Scratch *engine.Scratch
}

// Suspend is the error a body returns to wait for an answer. The call is journaled as waiting and
// nothing stays in memory; Mode says what the answer does: run the body again (the zero value),
// stand as the result, or run it again with the answer in [Call.Resume]. A Kind that is not set
// follows from the mode, as in [core.Outcome].
type Suspend struct {
	Action  string
	Message string
	Schema  json.RawMessage // JSON Schema of the answer; nil for any
	Mode    core.ResumeMode
	Kind    core.Kind

	// Within is how long this wait may last, to the millisecond, in place of what the agent's
	// definition says; 0: as it says.
	Within time.Duration
}

func (s Suspend) Error() string { return "tool: the call waits for " + s.Action }

// Function is a Go function as a tool. Make one with [Func].
type Function struct {
	spec core.ToolSpec
	body func(ctx context.Context, call Call) (any, error)
	log  *slog.Logger
}

var _ engine.Tool = Function{}

// Option says more about a [Function].
type Option func(*core.ToolSpec)

// AtMostOnce keeps the body from running again after a crash: a person is asked what happened.
func AtMostOnce() Option { return func(s *core.ToolSpec) { s.Delivery = core.AtMostOnce } }

// Idempotent says that running the body twice with one key does what running it once does, so that
// even a call somebody approved may run again after a crash.
func Idempotent() Option { return func(s *core.ToolSpec) { s.Delivery = core.AtLeastOnce } }

// ReadOnly says that the body changes nothing in the world.
func ReadOnly() Option { return func(s *core.ToolSpec) { s.ReadOnly = true } }

// Func makes f a tool. The schema of its arguments is derived from A, a struct or a map with string
// keys; the struct tag jsonschema describes a field. A result that is a string is shown to the
// model as it is, nil as nothing, any other as JSON. An error's text is shown to the model, so it
// must be fit for that; a panic's is not. Func panics if no schema can be derived from A, which is
// a mistake of the program and not of its input.
func Func[A any](name, description string, f func(ctx context.Context, call Call, args A) (any, error), opts ...Option) Function {
	spec := core.ToolSpec{Name: name, Description: description, Parameters: schemaOf[A](name)}
	for _, opt := range opts {
		opt(&spec)
	}
	return Function{spec: spec, body: func(ctx context.Context, call Call) (any, error) {
		args, err := decode[A](call.Arguments)
		if err != nil {
			return nil, err
		}
		return f(ctx, call, args)
	}}
}

// exact are the types whose JSON form the schema library does not know.
var exact = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.Number]():     {Type: "number"},
	reflect.TypeFor[json.RawMessage](): {},
}

func schemaOf[A any](name string) json.RawMessage {
	schema, err := jsonschema.For[A](&jsonschema.ForOptions{TypeSchemas: exact})
	if err != nil {
		panic(fmt.Sprintf("tool: %s: no schema for its arguments: %v", name, err))
	}
	if schema.Type != "object" {
		panic(fmt.Sprintf("tool: %s: its arguments must be a struct or a map with string keys", name))
	}
	return core.Encode(schema)
}

// decode reads the arguments from their text, so that numbers keep every digit where A can hold
// them.
func decode[A any](raw json.RawMessage) (A, error) {
	var args A
	if core.IsNull(raw) {
		raw = json.RawMessage(`{}`)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	if err := dec.Decode(&args); err != nil {
		return args, unfit(err)
	}
	return args, nil
}

// unfit says for the model which argument does not fit, without naming Go types.
func unfit(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("argument %q: %s is not possible here", wrong.Field, wrong.Value)
	}
	return errors.New("the arguments do not fit this tool: " + strings.TrimPrefix(err.Error(), "json: "))
}

// Spec is what the tool promises and what the model is told of it.
func (f Function) Spec() core.ToolSpec { return f.spec }

// Run implements [engine.Tool]. When ctx has ended and the body returned an error, Run returns it
// as an error and not as an outcome, since it says nothing of the tool.
func (f Function) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	out, err := f.guarded(ctx, Call{
		Tenant: req.Tenant, Thread: req.Thread, Run: req.Run,
		ID: req.Call.ID, Name: req.Call.Name, Arguments: req.Call.Arguments,
		Key: req.Key, Epoch: req.Epoch, Again: req.Again, Resume: req.Resume, State: req.State, Progress: req.Progress, Scratch: req.Scratch,
	})
	if wait, ok := errors.AsType[Suspend](err); ok {
		return wait.outcome(req.Call), nil
	}
	if err != nil && ctx.Err() != nil {
		return core.Outcome{}, err
	}
	if err != nil {
		return core.Outcome{Text: strings.ToValidUTF8(err.Error(), "\uFFFD"), Failed: true}, nil
	}
	return out, nil
}

// hidden is a failure whose cause is for the log alone: it may hold anything.
type hidden string

func (h hidden) Error() string { return string(h) }

const (
	panicked   hidden = "The tool failed unexpectedly."
	unwritable hidden = "The tool ran, but its result could not be written down."
)

// guarded runs the body and writes its result down.
func (f Function) guarded(ctx context.Context, call Call) (out core.Outcome, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			f.logger().ErrorContext(ctx, "a tool panicked", "tool", f.spec.Name, "run", call.Run, "call", call.ID,
				"cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			out, err = core.Outcome{}, panicked
		}
	}()
	result, err := f.body(ctx, call)
	if err != nil {
		return core.Outcome{}, err
	}
	out, err = written(result)
	if err != nil {
		f.logger().ErrorContext(ctx, "a tool's result has no JSON form", "tool", f.spec.Name, "run", call.Run, "call", call.ID,
			"cause", err)
		return core.Outcome{}, unwritable
	}
	return out, nil
}

func (s Suspend) outcome(call core.ToolCall) core.Outcome {
	return core.Outcome{
		Ticket: &core.SuspendTicket{
			Suspension: core.Suspension{Action: s.Action, Message: s.Message, ResponseSchema: s.Schema},
			Pending:    core.PendingCall(call),
			ResumeMode: s.Mode,
			Within:     wholeMillis(s.Within),
		},
		Kind: s.Kind,
	}
}

// wholeMillis rounds up, so that a short limit does not become none.
func wholeMillis(d time.Duration) int64 {
	return int64((max(0, d) + time.Millisecond - 1) / time.Millisecond)
}

// written is a result as the model sees it, and as a value if it is more than text.
func written(result any) (core.Outcome, error) {
	switch r := result.(type) {
	case nil:
		return core.Outcome{}, nil
	case string:
		return core.Outcome{Text: strings.ToValidUTF8(r, "\uFFFD")}, nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(result); err != nil {
		return core.Outcome{}, err
	}
	text := strings.ToValidUTF8(strings.TrimSuffix(buf.String(), "\n"), "\uFFFD")
	return core.Outcome{Text: text, Value: json.RawMessage(text)}, nil
}

func (f Function) logger() *slog.Logger {
	if f.log == nil {
		return slog.Default()
	}
	return f.log
}
