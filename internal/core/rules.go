package core

import "github.com/dormouse-dev/dormouse/internal/core/vote"

// Rules is the part of an agent's definition that decides. Every method is pure: the same call, the
// same answer.
type Rules interface {
	// Tool is the tool of that name, or false: a call of it fails.
	Tool(name string) (ToolSpec, bool)

	// Check says why the arguments do not fit the tool, in words for the model; nil if they do.
	Check(call ToolCall) error

	// Gate says whether the call may run. It is asked again when the call is replayed, and when
	// earlier calls of the round have changed the state.
	Gate(call ToolCall, state State) Verdict

	// Deadline says how long a call of this kind of wait may wait, and what closes it then.
	Deadline(call ToolCall, kind Kind) Deadline

	// Times says when something is due about a call that is suspended now and waits for the
	// people of a stage of a policy.
	Times(p *vote.Policy, stage int, now int64) Times

	// Child is what a call of another agent asks for; false if its tool is none.
	Child(call ToolCall) (ChildSpec, bool)

	// Terms are what else the definition says about running it.
	Terms() Terms
}

// CostLimit bounds what a run may cost. A limit of 0 is none.
type CostLimit struct {
	Most USD
	// a person is asked for as much again; otherwise the run ends
	Ask bool
}

// Terms say how a run is worked on.
type Terms struct {
	Parallel  bool       // the calls of a round that may run run side by side
	Continue  bool       // the model is asked again while calls of its turn still wait
	Stops     []StopRule // in their declared order
	StepCalls int        // most tool calls in a step; 0: no limit
	RunCalls  int        // and in the run
	Memory    bool       // something is remembered of each run
	Result    int        // bytes of a result's text that are kept; [DefaultResult] if 0
	// the only ones who may say that a call runs; none: every caller who may decide
	Approvers []string
	// who decides about calls where no rule says it; nil: the approvers, each alone
	Policy *vote.Policy
	// the run makes way for a newer one of its agent that waits, see package yields
	Yield   bool
	Price   *Price    // of the model; nil: it is not known
	RunCost CostLimit // of the whole run
	// ms that a run waits for a model that does not answer; if 0, the default of package plans
	Outage int64
	// how many runs may be above a child that the run starts; [DefaultDepth] if 0
	Depth int
	// how many children the run may start; [DefaultChildren] if 0
	Children int
}

// What holds for agents that do not say it.
const (
	DefaultDepth    = 4
	DefaultChildren = 50
)
