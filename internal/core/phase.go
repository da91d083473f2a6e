package core

// Fired is a firing's answer, as the view carries it until a commit contains it.
type Fired struct {
	Phase Phase
	Call  string // of the tool phases
	Of    string // what exactly it answers
	Effects
}

// Answer is the effects of f's hooks as the view carries them.
func (f Firing) Answer(e Effects) Fired {
	fired := Fired{Phase: f.Phase, Of: f.Digest(), Effects: e}
	if f.Call != nil {
		fired.Call = f.Call.ID
	}
	return fired
}

// Digest distinguishes two firings of one phase between two commits: a signal that arrives in
// between may change the outcome that hooks see.
func (f Firing) Digest() string {
	of := map[string]any{"step": f.Step, "rev": f.Rev, "call": f.Call, "reason": f.Reason}
	if out := f.Outcome; out != nil {
		of["outcome"] = []any{out.Text, out.Failed, out.Ticket != nil}
	}
	return Digest(Encode(of))[:16]
}

// Phase is a place in the life of a run where hooks are called. They are called in this order; the
// middle of it comes once for each step, and the three of a call once for each call of the step.
type Phase uint8

const (
	RunStart        Phase = iota // once, before anything else of the run
	StepStart                    // before a step's model call
	BeforeInference              // the last chance to shape the request, or to end without it
	AfterInference               // the model has answered and nothing is committed yet
	// may this call run? Pure, and asked again before the body if the state has changed
	ToolGate
	BeforeToolExecute // the body of this call is about to run
	AfterToolExecute  // this call has a result, whether its body ran or not
	StepEnd           // after the round of the step, also when it has to wait
	RunEnd            // once, when nothing can keep the run from ending any more
)

var phaseNames = []string{"run_start", "step_start", "before_inference", "after_inference", "tool_gate", "before_tool_execute", "after_tool_execute", "step_end", "run_end"}

// Phases are all phases, in their order.
var Phases = []Phase{RunStart, StepStart, BeforeInference, AfterInference, ToolGate, BeforeToolExecute, AfterToolExecute, StepEnd, RunEnd}

func (p Phase) String() string { return name(phaseNames, uint8(p)) }

func (p Phase) MarshalText() ([]byte, error) { return marshalName("phase", phaseNames, uint8(p)) }

func (p *Phase) UnmarshalText(b []byte) error { return unmarshalName("phase", phaseNames, b, p) }

// Firing asks for the hooks of one phase. Only the members of the phase are set.
type Firing struct {
	Phase Phase
	Step  int
	// as the hooks of this phase see it: none sees what another of the same phase writes
	State   State
	Call    *ToolCall // of the three tool phases, with the arguments that run
	Outcome *Outcome  // AfterToolExecute
	Turn    *Turn     // AfterInference
	Reason  *Reason   // RunEnd
	// StepEnd: of the head; what happened since another commit it has not seen
	Rev int64
}

// Effects are what the hooks of one phase want. Which members count depends on the phase.
type Effects struct {
	State []StateOp

	// BeforeInference. Context is shown to the model in this request only; Override and the
	// tool lists live for this step.
	Context  []ContextMessage
	Override *Override
	Include  []string // offer these tools only; empty: all
	Exclude  []string // but not these

	End  *Reason  // StepStart, BeforeInference, AfterInference, StepEnd: end the run
	Drop []string // AfterInference: calls that are taken out of the turn before it is committed

	Refuse string // BeforeToolExecute: why the call fails instead of running

	Append string // AfterToolExecute: text added to the result, for the model to see

	// RunStart: the run waits for an answer before its first step; no tells it to end
	Wait   *SuspendTicket
	Recall string // RunStart: what is remembered of earlier runs, for the model

	RecallFailed string // RunStart: why that is not known

	Notes []string // failures of hooks that do not stop the run, for the journal
	// two hooks wrote one exclusive key; nothing of the phase counts, and the run ends
	Conflict string
}

// ContextMessage is text for the model outside the conversation. With a cooldown of n, the next n-1
// requests omit the same text under the same key.
type ContextMessage struct {
	Key      string
	Text     string
	Cooldown int
}

// Override changes one request. What is not set stays.
type Override struct {
	Instructions string         // in place of the agent's
	Parameters   map[string]any // for the model's adapter
}
