package dormouse

import (
	"context"
	"encoding/json"
	"time"
)

// Hook observes and steers the runs of the agents whose files name it:
//
//	hooks: [shop.budget]
//
// It sets a function for each phase that it needs and leaves the others nil; a hook without any
// function is refused. The phases run in the order of the fields: StepStart to StepEnd once per
// step, and the three phases of tools once per call.
//
// The result of a function is committed before it takes effect. If the process crashes before that
// commit, the function is called again. If a function returns an error, the error is journaled and
// the run continues without the result; the fields name the exceptions. A panic counts as an error,
// and so does a timeout: a function has 10 seconds, and less if an agent has many hooks. The hooks
// of one phase are called in the order of the agent file. They are isolated: none sees the writes
// or the failures of another.
type Hook struct {
	Name string

	// RunStart is called once per run, before anything else. It may end the run, or suspend it
	// until an answer arrives.
	RunStart func(ctx context.Context, run Run) (Opening, error)

	// StepStart is called before each request to the model. A reason ends the run; nil
	// continues it.
	StepStart func(ctx context.Context, run Run) (*Reason, error)

	// BeforeInference is called immediately before a request to the model and may change that
	// one request.
	BeforeInference func(ctx context.Context, run Run) (Request, error)

	// AfterInference is called with the answer of the model before it is committed. It may
	// remove calls from the answer, or end the run.
	AfterInference func(ctx context.Context, run Run, turn Turn) (Review, error)

	// ToolGate decides whether a call with valid arguments may run. It can make the permissions
	// of the agent stricter, never looser. It must be pure: the verdict depends on the call and
	// the state alone, not on a clock, the network or a variable. It is called when the call is
	// planned, again before the call runs if the state has changed since, and after an
	// approval: at most 80 times for an answer with 40 calls. A panic denies the call.
	ToolGate func(call ToolCall, state View) Verdict

	// BeforeToolExecute is called right before the body of a call runs, after gates and
	// approvals. It need not be pure: it may read a clock or call a service. If it returns a
	// refusal or an error, the call fails without running, and the model sees that text. Calls
	// of agents and of tools that the client runs have no body here: ToolGate covers them.
	BeforeToolExecute func(ctx context.Context, run Run, call ToolCall) (refusal string, err error)

	// AfterToolExecute is called with the result of each call, whether its body ran or not. The
	// model sees the note after the result.
	AfterToolExecute func(ctx context.Context, run Run, call ToolCall, result Result) (note string, err error)

	// StepEnd is called after the calls of a step, even if one of them is waiting. A reason
	// ends the run; nil continues it.
	StepEnd func(ctx context.Context, run Run) (*Reason, error)

	// RunEnd is called once per run, after its end is committed, with the reason for that end.
	RunEnd func(ctx context.Context, run Run, end Reason) error

	// StopRule is called after each answer of the model, after the stop rules of the agent
	// file. A reason ends the run before any call of the answer runs; its kind is always
	// [Stopped]. It must be pure. A panic stops the run.
	StopRule func(p Progress) *Reason
}

// Run identifies a run and its progress, as a hook sees it.
type Run struct {
	Tenant, Thread, ID string
	Step               int // counts from 1; 0 before the first step
	State              State
}

// ToolCall is a call as the model requested it, or as an approver edited it.
type ToolCall struct {
	ID, Name  string
	Arguments json.RawMessage
}

// Turn is an answer of the model. All of it is untrusted.
type Turn struct {
	Text                      string
	Calls                     []ToolCall
	InputTokens, OutputTokens int64

	// CutOff says why the provider cut the answer off or withheld it, for example "max_tokens".
	// It is empty for a complete answer. An answer that is cut off ends the run, and none of
	// its calls runs.
	CutOff string
}

// Result is the result of a call.
type Result struct {
	// Text is the full result, before it is shortened to the limit of the agent file. It is
	// empty if the call is waiting.
	Text   string
	Failed bool // the call did not run, or its body failed
	Waits  bool // the body is waiting for an answer
}

// Reason says why a run ends, or why a hook wants it to end. Code is a short name for programs, and
// Detail is a text for people.
type Reason struct {
	Kind         ReasonKind // a hook that leaves it empty means Requested
	Code, Detail string
}

// ReasonKind classifies the end of a run.
type ReasonKind string

const (
	// NaturalEnd means that the run ended with an answer.
	NaturalEnd ReasonKind = "natural_end"

	// Requested means that a hook ended the run.
	Requested ReasonKind = "behavior_requested"

	// Stopped means that a stop rule ended the run, or that the model returned nothing.
	Stopped ReasonKind = "stopped"

	// Cancelled means that a caller, an approver or [RunControl] cancelled the run.
	Cancelled ReasonKind = "cancelled"

	// Blocked means that policy ended the run.
	Blocked ReasonKind = "blocked"

	// Failed means that an error ended the run.
	Failed ReasonKind = "error"
)

// Opening is the result of [Hook.RunStart]. The zero value changes nothing.
type Opening struct {
	End *Reason // ends the run before its first step

	// Wait suspends the run until an answer arrives, before its first step. A denial ends the
	// run. Its Then is ignored.
	Wait *Suspend
}

// Request changes one request to the model. The zero value changes nothing.
type Request struct {
	// Context is text that the model sees in this request only. It doesn't become part of the
	// conversation.
	Context      []Context
	Instructions string         // replaces the agent's instructions, unless it is empty
	Parameters   map[string]any // for the provider, which applies those it supports
	// Only limits the request to these tools; empty allows all. If several hooks set it, a tool
	// must be in each of the lists.
	Only    []string
	Without []string // removes these tools from the request
	End     *Reason  // ends the run without the request
}

// Context is a text for the model.
type Context struct {
	Key  string // identifies the text for Cooldown
	Text string
	// Cooldown of n leaves the same text under the same key out of the next n-1 requests.
	Cooldown int
}

// Review is the result of [Hook.AfterInference]. The zero value accepts the answer unchanged.
type Review struct {
	Drop []string // ids of the calls to remove from the answer
	End  *Reason
}

// Verdict is the decision of a gate on one call. The zero value leaves it to the other gates and
// the permissions.
type Verdict struct {
	Effect VerdictEffect
	Reason string // shown to the model for Deny and Block, to the approver for Ask
	Result string // for SetResult
	// Grant applies to Ask: it names what an approval for the rest of the run covers. If it is
	// empty, an approval covers this call only.
	Grant string
}

// VerdictEffect says what happens to a call. The strictest of several verdicts counts. The effects
// are listed from the least to the most strict.
type VerdictEffect string

const (
	// SetResult sets the result of the call without running its body.
	SetResult VerdictEffect = "set_result"

	// Ask suspends the call until an approver decides.
	Ask VerdictEffect = "ask"

	// Deny fails the call.
	Deny VerdictEffect = "deny"

	// Block ends the run.
	Block VerdictEffect = "block"
)

// Progress is the input of a stop rule: the state of the run after an answer of the model, before
// any call of that answer runs.
type Progress struct {
	Steps        int           // answers of the model so far, including this one
	Tokens       int64         // input and output tokens of the whole run
	Awake        time.Duration // time since the run began, excluding the time it was suspended
	FailedRounds int           // consecutive rounds in which every tool that ran failed
	Turn         Turn
}
