package dormouse

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine/pad"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Tool is a Go function that the model of an agent may call, if the agent file names it:
//
//	tools:
//	  - {name: find_order, go: shop.find_order}
//
// Make one with [Func], which derives the schema and decodes the arguments.
type Tool struct {
	// Name is the name that agent files use. Give it a prefix that tells programs apart, as in
	// "shop.find_order".
	Name string

	// Description is what the model reads about the tool. The agent file may override it.
	Description string

	// Parameters is the JSON Schema of the arguments; its type is "object". Arguments that
	// don't match it never reach Run.
	Parameters json.RawMessage

	// Promises say what the runtime may do with a call after a crash. Without one a call may
	// run again with the same key, unless a person had approved it.
	Promises []Promise

	// Run is the body. The model sees a string result unchanged, nil as an empty text, and any
	// other result as JSON. The model also sees the text of an error, so keep secrets out of
	// it; it doesn't see the text of a panic. To wait for an answer, return a [Suspend] as the
	// error. When ctx ends, Run must return soon. Calls may run concurrently, also calls of one
	// answer of the model.
	Run func(ctx context.Context, call Call) (any, error)
}

// Promise is a guarantee that a tool gives about its body.
type Promise string

const (
	// AtMostOnce forbids a second execution. If a crash leaves the outcome of a call unknown, a
	// person is asked for it.
	AtMostOnce Promise = "at_most_once"

	// Idempotent says that running the body twice with one key has the effect of running it
	// once. Even a call that a person approved may then run again after a crash.
	Idempotent Promise = "idempotent"

	// ReadOnly says that the body changes nothing. Effects don't run after it.
	ReadOnly Promise = "read_only"
)

// Func makes a tool from f. It derives the schema of the arguments from A, a struct or a map with
// string keys. A field is required unless its json tag has omitempty or omitzero; its jsonschema
// tag is its description. Numbers keep every digit that A can hold.
//
// Func panics if no schema can be derived from A, which is a bug in the program.
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

// Call is one call of a tool, as its body sees it.
type Call struct {
	Tenant, Thread, Run string

	ID        string          // id of the call, unique in its thread
	Name      string          // name of the tool in the agent file
	Arguments json.RawMessage // as the model wrote them, or as a person edited them

	// Key is the idempotency key. Every retry of this execution has the same key; when the call
	// runs again after an answer, it has a new one. Pass it to the service behind the tool.
	Key string

	// Epoch is a fencing token: of two executions, the one with the larger epoch is newer.
	Epoch int64

	// Again reports that a process which crashed may have begun this execution, under the same
	// key. The body must not then report as failed what may have succeeded. It is never set for
	// a tool with [AtMostOnce].
	Again bool

	// Answer is the answer that a [Suspend] with [HandAnswer] waited for, otherwise nil.
	Answer *Answer

	// Scratch keeps data of this call from one execution of its body to the next. What the body
	// sets before it suspends is still there when it runs again, and is deleted once the call
	// has its result. It is nil in a Call that a test builds without one.
	Scratch Scratch

	progress func(ToolProgress)

	// State is shared with the other tools and the hooks of the run. The writes of the body are
	// committed with its result or its [Suspend]. If the body is interrupted and runs again,
	// the writes of the interrupted execution are discarded.
	State State
}

// ToolProgress says how far a tool has come.
type ToolProgress struct {
	Done  float64
	Total float64 // 0 if unknown
	Text  string  // what the tool is doing, for people; cut after 500 bytes
}

// Report shows the progress of the tool to people who follow the run. They see the latest report;
// reports aren't stored and cost no write. It returns at once and is safe for concurrent use.
func (c Call) Report(p ToolProgress) {
	if c.progress != nil {
		c.progress(p)
	}
}

// OnProgress sets the function that receives the reports of the body. It is meant for tests of
// tools and for programs that run tools themselves.
func (c *Call) OnProgress(report func(ToolProgress)) { c.progress = report }

// Scratch is the data that one call keeps while it waits: at most 16 KiB of JSON. It is safe for
// concurrent use.
//
//	if call.Scratch.Get() == nil {
//		call.Scratch.Set(quote)
//		return nil, dormouse.Suspend{Action: "accept_quote", Message: quote.String()}
//	}
type Scratch interface {
	// Get returns the stored JSON, or nil if nothing is stored. Decode it with [Value].
	Get() json.RawMessage

	// Set replaces the stored value; nil removes it. The value is committed with the [Suspend]
	// that the body returns, and discarded if the body returns anything else or crashes. It
	// returns an error, and changes nothing, if value is too large or can't be encoded as JSON.
	Set(value any) error
}

// NewScratch returns an empty scratch, for tests of tools.
func NewScratch() Scratch { return pad.NewScratch(nil) }

// Answer is a positive decision on a call that waited. A denial never reaches the body: it cancels
// the call.
type Answer struct {
	// Value matches the Schema of the [Suspend]; it is nil if the decision carries no value.
	Value  json.RawMessage
	Reason string // the approver's explanation; untrusted
}

// Suspend is the error that a body returns to wait for an answer, for a second or for a month. The
// call is journaled as waiting, and nothing stays in memory. With [HandAnswer] and [TakeAnswer], a
// message from the user also ends the wait; its text is the answer.
type Suspend struct {
	Action  string          // short name of the question, such as "choose_slot"
	Message string          // what the person reads
	Schema  json.RawMessage // JSON Schema of the answer; nil accepts any answer
	Then    Then            // what happens with the answer
	// Within limits the wait, rounded up to a millisecond; 0 uses the limit of the agent file.
	Within time.Duration
}

// Error implements error. It names the action that the call waits for.
func (s Suspend) Error() string { return "dormouse: the call waits for " + s.Action }

// Then says what happens with an answer.
type Then string

const (
	// RunAgain runs the body again with the same arguments, or with the arguments that the
	// approver edited. It fits a wait for an approval, and is the default. The body must record
	// in [Call.Scratch] that it has asked, or it suspends again each time.
	RunAgain Then = "run_again"

	// HandAnswer runs the body again with the answer in [Call.Answer].
	HandAnswer Then = "hand_answer"

	// TakeAnswer makes the answer the result of the call. The body doesn't run again.
	TakeAnswer Then = "take_answer"
)
