package dormouse

import (
	"context"
	"encoding/json"
	"time"
)

// Hook takes part in the runs of the agents whose files name it:
//
//	hooks: [shop.budget]
//
// It has a function for each phase that it takes part in, and nil for the others; a hook without
// any is refused. The phases come in the order of the fields: StepStart to StepEnd once for each
// step, the three of tools once for each call of it.
//
// What a function wants is committed before anything follows from it. If the process is lost before
// that, the function is called again. An error is journaled and the run goes on without what the
// function wanted; fields say where it is otherwise. So it is with a panic, and with a function
// that takes too long: it has 10 seconds, and less where an agent has many hooks. The hooks of one
// phase are called in the order of the agent's file, and see neither what another of them writes
// nor how it fails.
type Hook struct {
	Name string

	// RunStart is called once per run, with nothing done yet. It may end the run, or let it
	// wait for an answer first.
	RunStart func(ctx context.Context, run Run) (Opening, error)

	// StepStart is called before each call of the model. A reason ends the run; nil goes on.
	StepStart func(ctx context.Context, run Run) (*Reason, error)

	// BeforeInference is called directly before the model is asked, and shapes this one
	// request.
	BeforeInference func(ctx context.Context, run Run) (Request, error)

	// AfterInference is called with the model's answer before it is committed. It may take
	// calls out of it, or end the run.
	AfterInference func(ctx context.Context, run Run, turn Turn) (Review, error)

	// ToolGate judges a call whose arguments are valid. It must be pure: the same call and
	// state, the same verdict, and no clock, network or memory of its own. It is asked when the
	// call is first looked at, again when the call's turn comes if the state has changed since,
	// and after an approval: in a round of 40 calls at most 80 times. It can make the
	// permissions of the agent stricter and never looser. A panic denies the call.
	ToolGate func(call ToolCall, state View) Verdict

	// BeforeToolExecute is called when the body of a call is about to run, after gates and
	// approvals, and may look at a clock or ask a service. A text that is not empty, or an
	// error, is why the call fails instead: the model is told.
	BeforeToolExecute func(ctx context.Context, run Run, call ToolCall) (refusal string, err error)

	// AfterToolExecute is called with what came of each call, whether its body ran or not. Its
	// note is shown to the model behind the result.
	AfterToolExecute func(ctx context.Context, run Run, call ToolCall, result Result) (note string, err error)

	// StepEnd is called after the calls of a step, also when one of them waits. A reason ends
	// the run; nil goes on.
	StepEnd func(ctx context.Context, run Run) (*Reason, error)

	// RunEnd is called once per run, when nothing can keep it from ending any more, with why it
	// does.
	RunEnd func(ctx context.Context, run Run, end Reason) error

	// StopRule is asked after each of the model's answers, behind the stop rules of the agent's
	// file. A reason, whose kind is taken as Stopped, ends the run before any call of the
	// answer runs. It must be pure. A panic stops the run.
	StopRule func(p Progress) *Reason
}

// Run is what a hook may know of a run.
type Run struct {
	Tenant, Thread, ID string
	Step               int // counted from 1; 0 before the first
	State              State
}

// ToolCall is a call as the model asked for it, or as a person edited it.
type ToolCall struct {
	ID, Name  string
	Arguments json.RawMessage
}

// Turn is a model's answer. All of it is untrusted.
type Turn struct {
	Text                      string
	Calls                     []ToolCall
	InputTokens, OutputTokens int64

	// CutOff is why the provider cut the answer off or withheld it, such as "max_tokens"; empty
	// for a whole one. None of its calls runs, and the run ends so.
	CutOff string
}

// Result is what came of a call.
type Result struct {
	// before it is cut to what the agent keeps of results; of a call that waits, empty
	Text   string
	Failed bool // it did not run, or its body failed
	Waits  bool // its body waits for an answer
}

// Reason is why a run ends, or should. Code is a short name for programs and Detail a text for
// people.
type Reason struct {
	Kind         ReasonKind // where a hook says nothing: Requested
	Code, Detail string
}

// ReasonKind says what sort of end it is.
type ReasonKind string

const (
	// NaturalEnd is an end with an answer.
	NaturalEnd ReasonKind = "natural_end"

	// Requested is an end that a hook asked for.
	Requested ReasonKind = "behavior_requested"

	// Stopped is an end by a stop rule, or by a model that has nothing more to say.
	Stopped ReasonKind = "stopped"

	// Cancelled is an end that somebody outside asked for.
	Cancelled ReasonKind = "cancelled"

	// Blocked is an end by policy.
	Blocked ReasonKind = "blocked"

	// Failed is an end by a failure.
	Failed ReasonKind = "error"
)

// Opening is what a hook wants of the start of a run. The zero value is nothing.
type Opening struct {
	End *Reason // the run ends before its first step

	// Wait lets the run wait for an answer before its first step. A no ends it. Its Then is of
	// no account.
	Wait *Suspend
}

// Request is what a hook wants of one request to the model. The zero value changes nothing.
type Request struct {
	// shown to the model in this request only; it is no part of the conversation
	Context      []Context
	Instructions string         // in place of the agent's; empty: those
	Parameters   map[string]any // for the model's provider, which takes those it knows
	// offer these tools; empty: all. Of several hooks, what all of them offer
	Only    []string
	Without []string // and not these
	End     *Reason  // the run ends without the request
}

// Context is text for the model.
type Context struct {
	Key  string // tells texts apart, for Cooldown
	Text string
	// of n: the same text under the same key is left out of the n-1 requests that follow
	Cooldown int
}

// Review is what a hook wants of a model's answer. The zero value takes it as it is.
type Review struct {
	Drop []string // ids of calls that are taken out of the answer
	End  *Reason
}

// Verdict is a gate's answer for one call. The zero value is no opinion.
type Verdict struct {
	Effect VerdictEffect
	Reason string // of Deny and Block, told to the model; of Ask, shown to the person
	Result string // of SetResult
	// of Ask: names what an approval for the rest of the run covers; empty: it covers this call
	// only
	Grant string
}

// VerdictEffect says what becomes of a call. Of several verdicts the strictest counts; they stand
// here from lax to strict.
type VerdictEffect string

const (
	// SetResult gives the call a result without running its body.
	SetResult VerdictEffect = "set_result"

	// Ask lets a person decide.
	Ask VerdictEffect = "ask"

	// Deny fails the call.
	Deny VerdictEffect = "deny"

	// Block ends the run.
	Block VerdictEffect = "block"
)

// Progress is what a stop rule looks at: the run after a model's answer, before any of the calls it
// asks for runs.
type Progress struct {
	Steps        int           // answers of the model, this one included
	Tokens       int64         // of the whole run, in and out
	Awake        time.Duration // since the run began, without the time it waited for somebody
	FailedRounds int           // rounds in a row in which every tool that was executed failed
	Turn         Turn
}
