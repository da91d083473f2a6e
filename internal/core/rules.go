package core

import "encoding/json"

// Delivery is the promise a tool's body carries.
type Delivery uint8

const (
	// DeliveryDefault is at least once, unless a person was asked: then at most once.
	DeliveryDefault Delivery = iota
	AtLeastOnce              // may run again after a crash, always with the same idempotency key
	AtMostOnce               // an intent is committed first; a crash in between asks a person what happened
)

var deliveryNames = []string{"", "at_least_once", "at_most_once"}

func (d Delivery) String() string { return name(deliveryNames, uint8(d)) }
func (d Delivery) MarshalText() ([]byte, error) {
	return marshalName("delivery", deliveryNames, uint8(d))
}
func (d *Delivery) UnmarshalText(b []byte) error {
	return unmarshalName("delivery", deliveryNames, b, d)
}

// ToolSpec is what a tool promises and what the model is told of it.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments
	Result      json.RawMessage `json:"result,omitempty"`     // JSON Schema of what a client answers
	Delivery    Delivery        `json:"delivery,omitempty"`
	Client      bool            `json:"client,omitempty"`    // whoever calls the API runs it
	ReadOnly    bool            `json:"read_only,omitempty"` // it changes nothing in the world
	Finish      bool            `json:"finish,omitempty"`    // built in: it ends the run with an output
}

// FinishTool is the name of the built-in tool that ends a run.
const FinishTool = "finish"

// Effect is what a gate says of a call.
type Effect uint8

const (
	Ask Effect = iota // a person decides; what is not stated is asked
	Allow
	Deny      // the call fails and the model is told
	Block     // the run ends
	SetResult // the call has this result without running
)

var effectNames = []string{"ask", "allow", "deny", "block", "set_result"}

// strictness orders the effects: of several verdicts on one call the strictest counts.
var strictness = map[Effect]int{Allow: 0, SetResult: 1, Ask: 2, Deny: 3, Block: 4}

// Stricter returns the stricter of two verdicts; of two that are alike, a. An approval lifts an ask and nothing else: the result that
// another verdict gives in place of the body stays with it.
func Stricter(a, b Verdict) Verdict {
	switch {
	case a.Effect == Ask && b.Effect == SetResult && a.Result == nil:
		a.Result = givenResult(b)
		return a
	case a.Effect == SetResult && b.Effect == Ask && b.Result == nil:
		b.Result = givenResult(a)
		return b
	}
	if strictness[b.Effect] > strictness[a.Effect] {
		return b
	}
	return a
}

func (e Effect) String() string                { return name(effectNames, uint8(e)) }
func (e Effect) MarshalText() ([]byte, error)  { return marshalName("effect", effectNames, uint8(e)) }
func (e *Effect) UnmarshalText(b []byte) error { return unmarshalName("effect", effectNames, b, e) }

// Verdict is a gate's answer for one call.
type Verdict struct {
	Effect Effect
	Reason string // of a denial, told to the model; of an ask, shown to the person
	// Mode and Schema shape the suspension of an ask.
	Mode   ResumeMode
	Schema json.RawMessage
	// Grant names what an approval that says [GrantRun] allows: the tool and the rule that asked. Empty: nothing more.
	Grant string
	// NotBy bars approvers of an ask, see [SuspendTicket].
	NotBy string
	// Result is that of SetResult, or what an approved call has instead of running.
	Result *Outcome
}

func givenResult(v Verdict) *Outcome {
	if v.Result == nil {
		return &Outcome{}
	}
	return v.Result
}

// Rules is the part of an agent's definition that decides. Every method is pure: the same call, the same answer.
type Rules interface {
	// Tool is the tool of that name, or false: a call of it fails.
	Tool(name string) (ToolSpec, bool)

	// Check says why the arguments do not fit the tool, in words for the model; nil if they do.
	Check(call ToolCall) error

	// Gate says whether the call may run. It is asked again when the call is replayed, and when earlier calls of the round have
	// changed the state.
	Gate(call ToolCall, state State) Verdict

	// Deadline says how long a call of this kind of wait may wait, and what closes it then.
	Deadline(call ToolCall, kind Kind) Deadline

	// Terms are what else the definition says about running it.
	Terms() Terms
}

// Deadline is a limit to waiting. The zero value is none.
type Deadline struct {
	Within  int64           // ms; 0: no limit
	Outcome DeadlineOutcome // what the call comes to
	Result  json.RawMessage // of DeadlineResult
}

// DeadlineOutcome says what a call comes to that nobody answered in time.
type DeadlineOutcome uint8

const (
	DeadlineFail   DeadlineOutcome = iota // it failed
	DeadlineCancel                        // it is cancelled, as if somebody had said no
	DeadlineResult                        // it has a result that was set in advance; not for approvals
)

var deadlineNames = []string{"fail", "cancel", "result"}

func (o DeadlineOutcome) String() string { return name(deadlineNames, uint8(o)) }
func (o DeadlineOutcome) MarshalText() ([]byte, error) {
	return marshalName("deadline outcome", deadlineNames, uint8(o))
}
func (o *DeadlineOutcome) UnmarshalText(b []byte) error {
	return unmarshalName("deadline outcome", deadlineNames, b, o)
}

// DefaultResult is how many bytes of a result's text are kept where nothing else is said.
const DefaultResult = 256 << 10

// Terms say how a run is worked on.
type Terms struct {
	Parallel  bool       // the calls of a round that may run run side by side
	Continue  bool       // the model is asked again while calls of its turn still wait
	Stops     []StopRule // in their declared order
	StepCalls int        // most tool calls in a step; 0: no limit
	RunCalls  int        // and in the run
	Memory    bool       // something is remembered of each run
	Result    int        // bytes of a result's text that are kept; [DefaultResult] if 0
	Approvers []string   // the only ones who may say that a call runs; none: every caller who may decide
	Yield     bool       // the run makes way for a newer one of its agent that waits, see [Head.MakesWay]
	Outage    int64      // ms that a run waits for a model that does not answer; [Limits.Outage] if 0
}

// Outcome is what a tool's body came to: a result, a failure, or a ticket to wait with.
type Outcome struct {
	Text    string          // the result, or what went wrong, as the model sees it
	Value   json.RawMessage // the result as JSON; nil if it is plain text
	Media   []Part          // images and documents that belong to the result
	Failed  bool
	State   []StateOp       // what the body wrote
	Ticket  *SuspendTicket  // set: the call waits
	Scratch json.RawMessage // with a ticket: what the call keeps for the next run of its body; nil: what it kept before, null: nothing
	Kind    Kind            // of the ticket; KindApproval if not said and the call is to be replayed, else KindInput
}

// Status is the call status an outcome leads to.
func (o Outcome) Status() CallStatus {
	switch {
	case o.Ticket != nil:
		return CallSuspended
	case o.Failed:
		return CallFailed
	}
	return CallSucceeded
}
