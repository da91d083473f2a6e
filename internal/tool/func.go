// Package tool turns Go functions and recorded answers into tools that the engine can run. It
// decodes arguments, derives schemas and converts results to text. It does not decide whether a
// call may run, or how often.
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
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// Call is one call of a tool, as its body sees it.
type Call struct {
	Tenant, Thread, Run string
	ID, Name            string
	Arguments           json.RawMessage // as the model wrote them
	// Key is the idempotency key, the same whenever this execution is retried.
	Key   string
	Epoch int64 // fencing token: the larger one is newer
	// Again reports that a process which crashed may have begun this execution under the same
	// key. It is never set for a tool that is AtMostOnce.
	Again bool
	// Resume is the decision that resumed the call, in the mode that passes it to the body;
	// otherwise it is nil.
	Resume *core.Resume

	// State is shared with the other tools and the hooks of the run. Its writes are committed
	// with the result of the call; if the body is interrupted, all of them are discarded.
	State *pad.Pad

	// Progress shows readers how far the body has come. It stores nothing and returns at once;
	// it is nil where no reader can follow the run.
	Progress func(engine.Progress)

	// Scratch keeps data of this call: what the body stored when it suspended is there when it
	// runs again.
	Scratch *pad.Scratch
}

// Suspend is the error that a body returns to wait for an answer. The call is journaled as waiting,
// and nothing stays in memory. Mode says what the answer does: it runs the body again (the zero
// value), becomes the result, or is passed to the body in [Call.Resume]. A Kind that is not set
// follows from the mode, as in [core.Outcome].
type Suspend struct {
	Action  string
	Message string
	Schema  json.RawMessage // JSON Schema of the answer; nil accepts any answer
	Mode    core.ResumeMode
	Kind    core.Kind

	// Within limits the wait, rounded up to a millisecond; 0 uses the limit of the agent's
	// definition.
	Within time.Duration
}

func (s Suspend) Error() string { return "tool: the call waits for " + s.Action }

// Function is a tool whose body is a Go function. Make one with [Func].
type Function struct {
	spec core.ToolSpec
	body func(ctx context.Context, call Call) (any, error)
	log  *slog.Logger
}

var _ engine.Tool = Function{}

// Option sets a property of a [Function].
type Option func(*core.ToolSpec)

// AtMostOnce forbids a second execution: after a crash, a person is asked for the outcome.
func AtMostOnce() Option { return func(s *core.ToolSpec) { s.Delivery = core.AtMostOnce } }

// Idempotent says that running the body twice with one key has the effect of running it once, so
// that even a call that a person approved may run again after a crash.
func Idempotent() Option { return func(s *core.ToolSpec) { s.Delivery = core.AtLeastOnce } }

// ReadOnly says that the body changes nothing.
func ReadOnly() Option { return func(s *core.ToolSpec) { s.ReadOnly = true } }

// Func makes a tool from f. It derives the schema of the arguments from A, a struct or a map with
// string keys; the struct tag jsonschema describes a field. The model sees a string result
// unchanged, nil as an empty text, and any other result as JSON. It also sees the text of an error,
// so secrets must stay out of it; it does not see the text of a panic. Func panics if no schema can
// be derived from A, which is a bug in the program.
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

// exact holds the schemas of types that the schema library does not know.
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

// decode decodes the arguments from their text, so that numbers keep every digit that A can hold.
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

// unfit tells the model which argument has the wrong type, without naming Go types.
func unfit(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("argument %q: a %s is not allowed here", wrong.Field, wrong.Value)
	}
	return errors.New("the arguments do not match the schema of this tool: " + strings.TrimPrefix(err.Error(), "json: "))
}

// Spec returns the guarantees of the tool and what the model reads about it.
func (f Function) Spec() core.ToolSpec { return f.spec }

// Run implements [engine.Tool]. If ctx has ended and the body returned an error, Run returns that
// error instead of an outcome, because it says nothing about the tool.
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

// hidden is a failure whose cause goes to the log only, because it may contain secrets.
type hidden string

func (h hidden) Error() string { return string(h) }

const (
	panicked   hidden = "The tool failed unexpectedly."
	unwritable hidden = "The tool ran, but its result could not be encoded."
)

// guarded runs the body and encodes its result. It turns a panic into a failure.
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

// wholeMillis rounds up, so that a short limit does not become no limit.
func wholeMillis(d time.Duration) int64 {
	return int64((max(0, d) + time.Millisecond - 1) / time.Millisecond)
}

// written converts a result to the text that the model sees, and to a value unless it is only text.
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
