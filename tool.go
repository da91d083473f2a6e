package dormouse

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Tool is a Go function that an agent's model may call, where the agent's file names it:
//
//	tools:
//	  - {name: find_order, go: shop.find_order}
//
// Make one with [Func], which derives the schema and reads the arguments.
type Tool struct {
	// Name is what agent files call it. A prefix keeps programs apart: "shop.find_order".
	Name string

	// Description is what the model is told of it, unless the agent's file says something else.
	Description string

	// Parameters is the JSON Schema of the arguments, an object. Arguments that do not fit
	// never reach Run.
	Parameters json.RawMessage

	// Promises say what may be done with a call after a crash. Without one a call may run
	// again, with the same key, unless a person had approved it.
	Promises []Promise

	// Run is the body. A result that is a string is shown to the model as it is, nil as
	// nothing, any other as JSON. The text of an error is shown to the model, so it must be fit
	// for that; a panic's is not. To wait for an answer, return a [Suspend] as the error. When
	// ctx ends Run must return soon. Calls of different runs, and of one round, may run at the
	// same time.
	Run func(ctx context.Context, call Call) (any, error)
}

// Promise is what a tool says of itself.
type Promise string

const (
	// AtMostOnce keeps a body from running again once it may have begun: a person is asked what
	// happened.
	AtMostOnce Promise = "at_most_once"

	// Idempotent says that running the body twice with one key does what running it once does,
	// so that even a call that somebody approved may run again after a crash.
	Idempotent Promise = "idempotent"

	// ReadOnly says that the body changes nothing in the world. Effects do not follow it.
	ReadOnly Promise = "read_only"
)

// Func makes f a tool. The schema of its arguments is derived from A, a struct or a map with string
// keys: a field is required unless its json tag says omitempty or omitzero, and its tag jsonschema
// describes it. Numbers keep every digit where A can hold them.
//
// Func panics if no schema can be derived from A, which is a mistake of the program and not of its
// input.
func Func[A any](name, description string, f func(ctx context.Context, call Call, args A) (any, error), promises ...Promise) Tool {
	return Tool{Name: name, Description: description, Parameters: tool.SchemaOf[A](name), Promises: promises,
		Run: func(ctx context.Context, call Call) (any, error) {
			args, err := tool.Decode[A](call.Arguments)
			if err != nil {
				return nil, err
			}
			return f(ctx, call, args)
		}}
}

// Call is what a body may know of its call besides its arguments.
type Call struct {
	Tenant, Thread, Run string

	ID        string          // of the call, unique in its thread
	Name      string          // of the tool in the agent's file
	Arguments json.RawMessage // as the model wrote them, or as a person edited them

	// Key is the idempotency key: the same whenever this execution is tried again, and another
	// one when the call runs again after an answer. Give it to the service behind the tool.
	Key string

	// Epoch is a fencing token: of two executions the one with the larger is newer.
	Epoch int64

	// Again says that this execution may have begun before under the same key, in a process
	// that was lost. Such a body must not say of what may have happened that it did not. Never
	// set if the tool is [AtMostOnce].
	Again bool

	// Answer is what a [Suspend] with HandAnswer waited for; else nil.
	Answer *Answer

	// Scratch is the call's own memory from one run of its body to the next. What the body sets
	// before it suspends is there when it runs again, and gone when the call has its result.
	// Nil in a Call that a test made without one.
	Scratch Scratch

	progress func(ToolProgress)

	// State is shared with the other tools and the hooks of the run. What the body writes takes
	// effect with its result, or with its wait; nothing of it does if the body is cut off and
	// runs again.
	State State
}

// ToolProgress is how far a tool is.
type ToolProgress struct {
	Done  float64
	Total float64 // 0: not known
	Text  string  // what the tool is doing, for people; at most 500 bytes are shown
}

// Report tells readers who follow the run how far the tool is. They see the last report: it is not
// stored, and costs no write. It returns at once and may be called from any goroutine.
func (c Call) Report(p ToolProgress) {
	if c.progress != nil {
		c.progress(p)
	}
}

// OnProgress makes report the receiver of what the body reports, for tests of tools and for
// programs that run them.
func (c *Call) OnProgress(report func(ToolProgress)) { c.progress = report }

// Scratch is what one call keeps while it waits, at most 16 KiB of JSON. Safe for concurrent use.
//
//	if call.Scratch.Get() == nil {
//		call.Scratch.Set(quote)
//		return nil, dormouse.Suspend{Action: "accept_quote", Message: quote.String()}
//	}
type Scratch interface {
	// Get returns the JSON that is kept, nil if nothing is. [Value] reads it.
	Get() json.RawMessage

	// Set replaces what is kept; a nil value keeps nothing. It is committed with the [Suspend]
	// that the body returns, and dropped if the body returns anything else or crashes. An error
	// says that value has no JSON form or is too large, and changes nothing.
	Set(value any) error
}

// NewScratch returns a scratch with nothing in it, for tests of tools.
func NewScratch() Scratch { return engine.NewScratch(nil) }

// Answer is a decision on a call that waited. One that says no never reaches the body: the call is
// cancelled then.
type Answer struct {
	// the answer itself, which fits the schema that was asked for; nil if there is none
	Value  json.RawMessage
	Reason string // why, in words; untrusted
}

// Suspend is the error that a body returns to wait for an answer, for a second or for a month. The
// call is journaled as waiting and nothing stays in memory. A message from the user ends a wait of
// HandAnswer and TakeAnswer with its text as the answer.
type Suspend struct {
	Action  string          // a short name of what is asked, such as "choose_slot"
	Message string          // what the person reads
	Schema  json.RawMessage // JSON Schema of the answer; nil for any
	Then    Then            // what the answer does
	// how long this wait may last, to the millisecond; 0: as the agent's file says
	Within time.Duration
}

// Error makes a Suspend an error. It says what is waited for.
func (s Suspend) Error() string { return "dormouse: the call waits for " + s.Action }

// Then says what an answer does.
type Then string

const (
	// RunAgain runs the body again with the same arguments, or with those that the person
	// wrote: the wait was for an approval. It is what an empty Then means. The body must know
	// that it asked already, or it asks for ever: what it writes to [Call.Scratch] before it
	// suspends is there when it runs again.
	RunAgain Then = "run_again"

	// HandAnswer runs the body again, with the answer in [Call.Answer].
	HandAnswer Then = "hand_answer"

	// TakeAnswer makes the answer the result of the call. No body runs.
	TakeAnswer Then = "take_answer"
)
