package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// Store is what a worker needs of a store. Every method is safe for concurrent use, by several
// processes too. Each write is atomic, and sending the same request again after [ErrUnavailable]
// has the effect of sending it once.
type Store interface {
	// Claim makes the caller the owner of the thread's run if [core.Head.Claimable] holds: it
	// raises epoch, rev and tries, sets lease, claim and due, and the status to running, and
	// returns the head as it is then. A repeat of a claim that was granted returns the head as
	// it is, epoch not raised again. [ErrRefused] if the condition does not hold or there is no
	// such thread, [ErrNewerSchema] if the head's schema is above req.Schema.
	Claim(ctx context.Context, req ClaimRequest) (core.Head, error)

	// Commit writes a segment, if there is one, and the owner's attributes of the head, removes
	// the drained signals, and returns the head as it is then, with the signals that came
	// meanwhile. Both or neither become visible. A repeat of a commit that landed, known by its
	// stamp, is a success. [ErrFenced] if epoch or rev differ; [ErrSignals] (with the head) if
	// only the demanded sigs differ. [*invariant.Error] if [CommitRequest.Check] refuses
	// it, before anything is written.
	Commit(ctx context.Context, req CommitRequest) (Written, error)

	// Load reads the head, consistently. [ErrNotFound] if there is none.
	Load(ctx context.Context, tenant, thread string) (core.Head, error)

	// Segments reads the segments from..to, in order, consistently. Those that no head ever
	// named may be among them only above the head's seq.
	Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error)

	// Start creates a run. The engine uses it for children, and for the run that a held message
	// begins, in place of the one it owns: req.Owned. Errors as for the frontend's Store;
	// [ErrFenced], [ErrSignals] and [*invariant.Error] as for Commit.
	Start(ctx context.Context, req StartRequest) (Written, error)

	// Payload reads what was put under its digest. [ErrNotFound] if it is not there.
	Payload(ctx context.Context, tenant, thread, digest string) ([]byte, error)

	// Signal and PutPayload are as for the frontend's Store. The engine uses them for the runs
	// above and below the one it owns.
	Signal(ctx context.Context, req SignalRequest) (Written, error)
	PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error
}

// Earlier is a store that reads journals at a lower price as they were a moment ago.
type Earlier interface {
	// EarlierSegments is Segments of [Store], but segments may be missing that were written
	// shortly before, and any error says no more than that. None has other content than what
	// was committed under its stamp.
	EarlierSegments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error)
}

// Wakeup is a hint that a thread may have work, or one of its delivery lines. It may be lost,
// doubled, late or out of order, and carries nothing else.
type Wakeup struct {
	Tenant   string `json:"tenant"`
	Thread   string `json:"thread"`
	Endpoint string `json:"endpoint,omitempty"` // of the line; empty for the run
}

// Waker sends wake-ups. At least once; [ErrUnavailable] if it may not have been sent.
type Waker interface {
	Send(ctx context.Context, w Wakeup, delay time.Duration) error
}

// Receiver hands out wake-ups. A delivery that is neither acknowledged nor given back becomes
// visible again when its visibility ends, and goes to the dead letters after too many attempts.
type Receiver interface {
	// Receive returns up to max deliveries without waiting; none if nothing is visible. Tenants
	// take turns, where the queue can do that: the next delivery is of the tenant with the
	// fewest deliveries that are not settled yet, and of several such tenants, of the one that
	// has waited longest for its turn.
	Receive(ctx context.Context, max int) ([]Delivery, error)

	// Ack removes a delivery. It returns [ErrRefused] if the delivery's visibility timeout
	// ended and another consumer has it.
	Ack(ctx context.Context, d Delivery) error

	// Nack gives it back, visible after delay; cause is kept for the dead letters. [ErrRefused]
	// as for Ack.
	Nack(ctx context.Context, d Delivery, delay time.Duration, cause string) error
}

// Delivery is one hand-over of a message.
type Delivery struct {
	ID       string
	Receipt  string // of this hand-over only
	Attempts int
	Wakeup
}

// Overdue is what the sweep needs of a store.
type Overdue interface {
	// TakeOverdue moves up to limit entries that were due at or before now to next, and returns
	// their threads. Moving comes first, so concurrent sweeps don't send an entry twice, and an
	// entry that was returned but never sent comes back at next. An entry that can't be moved
	// stays due and doesn't block later ones: the moved entries are returned with the error,
	// which is partial.Failures if it concerns single entries.
	TakeOverdue(ctx context.Context, now, next int64, limit int) ([]Wakeup, error)
}

// Clock tells the time and wakes later. Real or virtual.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once in a new goroutine, after d, unless stop is called first.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// Random gives fresh unguessable text, the source of ids.
type Random interface {
	// Text returns n characters of a-z2-7.
	Text(n int) string
}

// Agents finds pinned definitions.
type Agents interface {
	// Load returns the agent version that a run is pinned to, narrowed by what the deployed
	// version now denies, by the policy for all agents, and by the run's own permissions. The
	// tools that the start supplied are added, but for those that the version does not accept
	// or whose names it uses: no tool of the version is ever replaced. It returns [ErrNotFound]
	// if that version, or a part that it needs, is gone for good; [*AgentUnavailableError] if
	// it is missing temporarily; and [ErrUnavailable] if the store can't answer.
	Load(ctx context.Context, pin Pin) (Agent, error)

	// Newest is the version that a new run of the agent starts with. [ErrNotFound] if there is
	// none any more.
	Newest(ctx context.Context, tenant, name string) (version string, err error)
}

// Pin is what a run is pinned to.
type Pin struct {
	Tenant, Name, Version string
	Narrow                json.RawMessage // permissions of this run alone; nil for none
	Supplied              supplied.Input  // by the start of this run
}

// Agent is a pinned definition with everything behind it.
type Agent struct {
	Instructions string
	Rules        core.Rules
	Offered      []core.ToolSpec // the tools the model sees, in a fixed order
	Model        Model
	Tools        map[string]Tool // the bodies; a client tool has none
	Peers        map[string]Peer // the agents that run elsewhere, by the tool that calls them
	Hooks        []Hook
	Memory       Memory         // nil: nothing is remembered
	Supplied     supplied.Input // that of the pin, as far as the version accepts it
}

// Model answers with the next turn. The same prompt may be asked again after a crash.
type Model interface {
	// Ask returns the next assistant turn, whole: an answer that broke off is an error and
	// never a turn. A [*StopError] ends the run as stopped; a [*TryLater], or an error that
	// wraps [ErrTryAgain], is tried again later by another activation, for as long as the agent
	// waits for its model, or a few times if it is Answered; any other ends the run with error.
	// It may repeat a request at once, a few times and for a few seconds in all, and does not
	// sleep longer than that. If ctx ends first, the error is the cause of ctx, in a
	// [*CutShort] if the model had begun to answer.
	Ask(ctx context.Context, p Prompt) (core.Turn, error)
}

// Prompt is what a model is asked.
type Prompt struct {
	Tenant, Thread, Run string
	Step                int
	Instructions        string
	Messages            []core.Message // well formed: one result for each call, none without
	Tools               []core.ToolSpec
	// for this request only, as hooks want them; an adapter takes what it knows
	Parameters map[string]any

	// Patient: the run may soon wait for a person, for longer than minutes. The provider should
	// cache this prompt for an hour.
	Patient bool

	// Say receives the model's output while it is generated, for readers who follow along; nil
	// if there can be none. Only the goroutine of Ask may call it. It returns immediately and
	// stores nothing: only the turn that Ask returns counts. Restart voids everything said so
	// far.
	Say func(Delta)
}

// Delta is a piece of what a model is saying.
type Delta struct {
	Kind    string // [core.TextPart] or [core.ReasoningPart]
	Text    string
	Restart bool // the model restarts; Text is empty
}

// Tool runs a call's body.
type Tool interface {
	// Run executes the body. An at-least-once body may run again after a crash, with the same
	// idempotency key. It must return soon after ctx ends. An error is a failure that the model
	// sees; to suspend, return an outcome with a ticket.
	Run(ctx context.Context, req ToolRequest) (core.Outcome, error)
}

// ToolRequest is one execution of a call.
type ToolRequest struct {
	Tenant, Thread, Run string
	Call                core.ToolCall
	Key                 string       // idempotency key: run, call and attempt
	Epoch               int64        // fencing token: a larger one is newer
	Resume              *core.Resume // the decision, in the mode that passes it on
	State               *pad.Pad     // shared with the other tools and the hooks of the run
	// says how far it is, to readers who look on; stores nothing and returns at once; nil in
	// tests
	Progress func(Progress)
	Scratch  *pad.Scratch // the call's own, from one run of its body to the next
	// what may have taken effect must not be done again, within this execution neither
	AtMostOnce bool
	// an execution in a process that was lost may have begun before this one, with the same key
	Again bool
}

// Peer is an agent that runs elsewhere. Its methods are bounded in time and in what they read, hold
// nothing open, and show nothing secret. An error means that the agent was not reached, or did not
// answer in a way that says anything: the same request may be made again.
type Peer interface {
	// Send gives the agent its task and does not wait for its end. With req.Again, an earlier
	// Send may have arrived: the task is looked for first, and with req.Once it is not sent
	// again unless it is certain that none arrived ([peer.Unclear]).
	Send(ctx context.Context, req PeerRequest) (peer.Report, error)

	// Look asks how far req.Task is.
	Look(ctx context.Context, req PeerRequest) (peer.Report, error)

	// Stop cancels req.Task, or, if it was not acknowledged, the one that an earlier Send may
	// have begun. Nil: the agent does not work on it, and will not. That it knows no such task
	// is no confirmation before [peer.Settled].
	Stop(ctx context.Context, req PeerRequest) error
}

// PeerRequest is about one task of an agent that runs elsewhere.
type PeerRequest struct {
	Tenant, Thread, Run string
	Key                 string // idempotency key: the same each time, and the id of the message
	Context             string // of the task, if the agent takes it; the same each time
	Input               string
	Again, Once         bool
	Push                string // where the agent may say that there is news; empty: nowhere
	Task                peer.Task
	Stops               int // attempts to stop it that were not confirmed
}

// Definition is a stored version of an agent.
type Definition struct {
	Tenant, Name, Digest string
	Body                 json.RawMessage
}

// HookFile is a deployed hook file. All tenants share the names, because an address has no tenant.
type HookFile struct{ Name, Tenant, Text string }
