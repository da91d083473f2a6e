package plans

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// Plan is the next thing to do: one of the types below. After a [*Commit] the planner decides again
// from the committed head, so recovery after a crash follows the same path as normal work.
type Plan interface{ plan() }

// Commit is one write of the owner: a segment and the head after it. It must be durable before
// anything else is done. If it is refused because of unseen signals, nothing of it holds: look at
// the head again and decide again, with a higher Put. If it is refused by epoch, stop. State,
// Revision, Round and Fired are what the next decision looks at.
type Commit struct {
	Head    core.Head
	Segment *core.Segment // nil: the head alone changes
	Drained []string
	// Votes opens the count of these questions, with what it begins with, and closes those that
	// are nil. All other counts stay as they are.
	Votes   map[string]vote.Tally
	AllSeen bool   // closing commit: conditional on there being no unread signals
	Due     *int64 // for the index; nil: as it is
	Wake    *int64 // send a wake-up this many ms later
	Over    bool   // the claim is given up with this write
	State   core.State
	Round   core.Round
	Fired   []core.Fired // what hooks have answered that is not part of it

	Revision Revision // of State
}

// RunBodies are bodies to execute, side by side if there are several. Everything that allows them
// is committed: the turn that asked for them, the decisions that approved them, and, at most once,
// the intent of exactly this attempt.
type RunBodies []BodyRun

// BodyRun is one execution of a call, with the arguments that run.
type BodyRun struct {
	Call       core.ToolCall
	Attempt    int
	AtMostOnce bool
	Resume     *core.Resume    // the decision, in the mode that passes it on
	State      core.State      // as the body sees it
	Scratch    json.RawMessage // what the call kept when it began to wait; nil: nothing
	// it may have begun before, in a process that was lost; never so if it is AtMostOnce
	MayHaveBegun bool
}

// AwaitBodies: the next thing to do depends on a body in flight that ends, or on a decision that
// arrives.
type AwaitBodies struct{}

// StopBodies: the run ends while bodies are in flight. Stop them first; their outcomes go into the
// view, and the reason into [View.Ending].
type StopBodies struct{ Reason core.Reason }

// AskModel is a model call with the whole transcript. All that the model will see is committed.
type AskModel struct{ Request }

// FireHooks asks for the hooks of a phase; their answer goes into the view, and the plan is made
// again.
type FireHooks struct{ core.Firing }

// ReadPreview is the call of a tool that only reads, for the approver of another call. What comes
// of it goes into the view, and the plan is made again. Nothing is committed before it: after a
// crash it is called again.
type ReadPreview struct{ Call core.ToolCall }

// FindAgent asks which version of an agent a child would run; what is found goes into
// [View.Agents], and the plan is made again.
type FindAgent struct{ Name string }

// FoundAgent is the deployed version of an agent.
type FoundAgent struct {
	Version string
	Missing bool // none is deployed
}

// AskPeer gives the agent elsewhere its task, or looks at it; what it answers goes into
// [View.Reported]. That a task may be sent is committed. Again: an earlier owner may have sent it.
type AskPeer struct{ Again bool }

// SendOutbox names outbox entries to send, at least once each; a commit has named them.
type SendOutbox struct{ Keys []string }

// StartHeld gives the place in the head to the run that a held message begins. The end of this run
// is committed. The claim is given up with it.
type StartHeld struct{ Held core.Held }

func (*Commit) plan() {}

func (RunBodies) plan() {}

func (AwaitBodies) plan() {}

func (StopBodies) plan() {}

func (AskModel) plan() {}

func (FireHooks) plan() {}

func (ReadPreview) plan() {}

func (FindAgent) plan() {}

func (AskPeer) plan() {}

func (SendOutbox) plan() {}

func (StartHeld) plan() {}
