package core

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// The forms of a stored head. Programs that don't know a form leave its heads alone.
const (
	SchemaAlone  = 1 // a run without a parent that has started no child
	SchemaFamily = 2 // a run with one of them
	// a run whose start supplied tools, context or state, with or without a family
	SchemaSupplied = 3
	SchemaHold     = 4 // a run with a decision that was held, or withdrawn
	// a run with a journal, whose segments may be packed; all others include it
	SchemaPacked = 5

	// SchemaVersion is the newest form that this program reads. It writes that of [SchemaOf].
	SchemaVersion = SchemaPacked
)

// Head is the one small record of a thread: what is true now. Nothing in it grows with the age of
// the run.
//
// The numbers of [Position] never go back, not even when a new run starts. Inbox, Sigs, Due and
// Votes are written by anyone; everything else by the holder of the claim alone, on condition of
// Epoch and Rev. The records are embedded: the stored form is one flat object.
type Head struct {
	Identity
	Position
	Ownership

	Status RunStatus       `json:"st"`
	Calls  map[string]Call `json:"calls,omitempty"` // of the current round
	Round  int64           `json:"round,omitempty"` // the segment of the last assistant turn
	Waits
	Held []Held         `json:"held,omitempty"` // messages that wait for the end of the run
	Out  map[string]Out `json:"out,omitempty"`  // what must still be sent
	Schedule
	Ending

	Counters
	Budget
	Stage
	Conversation
	StateLog
	Permissions
	Origin
	Family

	Inbox map[string]Signal `json:"inbox,omitempty"`
	// the votes on questions whose votes are counted, by suspension; a question without a vote
	// has no entry. The owner writes an entry only in the commits that open and close its
	// question
	Votes map[string]vote.Tally `json:"q,omitempty"`
	// when the sweep shall wake the thread; 0: never. Only the sweep reads it
	Due int64 `json:"due,omitempty"`
}

// Identity is which run of which thread it is, and what it runs.
type Identity struct {
	Tenant  string `json:"tenant"`
	Thread  string `json:"thread"`
	Run     string `json:"run"`
	Agent   string `json:"agent"`
	Version string `json:"av"` // digest of the definition the run is pinned to
	Schema  int    `json:"v"`
	Idem    string `json:"idem,omitempty"` // digest of the start that created the thread
}

// Position is how far the thread has come: the fencing token, the revision, the journal and the
// signals.
type Position struct {
	Epoch int64 `json:"epoch"` // raised by each claim
	Rev   int64 `json:"rev"`   // raised by each write of the owner
	CID   Stamp `json:"cid"`   // stamp of the owner's last write
	Seq   int64 `json:"seq"`   // the last segment
	Seg   Stamp `json:"seg"`   // and its stamp
	Ev    int64 `json:"ev"`    // the last event number given out
	Sigs  int64 `json:"sigs"`  // how many signals were ever stored
}

// Ownership is who may write.
type Ownership struct {
	Lease     int64  `json:"lease,omitempty"` // when the claim ends; 0: there is no owner
	Claim     string `json:"claim,omitempty"` // who claimed last; stays after a release
	Tries     int    `json:"tries,omitempty"` // claims since the last commit
	ClaimKept bool   `json:"kept,omitempty"`  // the last commit did not give the claim up
}

// Waits are the suspensions of the run.
type Waits struct {
	// suspended calls that a message does not answer
	Pending int `json:"nsus,omitempty"`
	// key in the list of approvals; empty: nothing is suspended
	Oldest string `json:"as,omitempty"`
	// suspensions that their deadline closed; of each, one late answer is recorded
	TimedOut map[string]int `json:"timed,omitempty"`
}

// Schedule is when the run is looked at next.
type Schedule struct {
	// the earliest deadline or moment of its suspended calls; 0: none has one
	Deadline int64 `json:"dl,omitempty"`
	// the next attempt to call the model, or to send
	NotBefore int64   `json:"not_before,omitempty"`
	Outage    *Outage `json:"mo,omitempty"` // set while the model does not answer
}

// Ending is how the run came to its end.
type Ending struct {
	End      *Reason       `json:"end,omitempty"` // set once nothing is accepted any more
	Response ResponseState `json:"rs,omitempty"`
	Finish   string        `json:"fin,omitempty"` // the call whose output is the run's
}

// Counters are counted from the start of the run.
type Counters struct {
	Step         int   `json:"step,omitempty"`
	Turn         int   `json:"turn,omitempty"`
	Activations  int   `json:"acts,omitempty"`
	Resumes      int   `json:"res,omitempty"`
	InputTokens  int64 `json:"tin,omitempty"`
	OutputTokens int64 `json:"tout,omitempty"`
	ModelTries   int   `json:"mt,omitempty"` // failed model calls in a row
	// what the model's answers cost, in millionths of a dollar, each at the price that was
	// known when it came
	Cost int64 `json:"cost,omitempty"`
	// every answer so far had a price; without it, Cost is not known and is 0
	Priced bool `json:"prc,omitempty"`
}

// Budget is what stop rules and budgets count, from the start of the run. Waiting and resuming
// leave it as it is.
type Budget struct {
	ToolCalls   int `json:"tc,omitempty"`  // calls that were let through
	StepCalls   int `json:"sc,omitempty"`  // of them in this step
	RoundOK     int `json:"rok,omitempty"` // executed calls of this round that succeeded
	RoundFailed int `json:"rf,omitempty"`  // and that failed
	// rounds in a row in which every executed call failed
	Errors      int      `json:"err,omitempty"`
	Wrote       bool     `json:"wr,omitempty"`  // a tool that is not read-only succeeded
	Rounds      []string `json:"rnd,omitempty"` // signatures of the last turns, oldest first
	Awake       int64    `json:"aw,omitempty"`  // ms the run has been awake, up to AwakeSince
	AwakeSince  int64    `json:"aws,omitempty"` // 0 while it waits
	Yields      int      `json:"yl,omitempty"`  // turns that were dropped for others
	YieldsInRow int      `json:"ylr,omitempty"` // of them since the last turn that was accepted
	// how often an approval raised the run's cost limit, by that limit each time
	CostRaises int `json:"cra,omitempty"`
}

// Stage is where in its run, its turn and its step the run is.
type Stage struct {
	StartHooksDone bool `json:"bg,omitempty"` // the hooks of run start have been called
	EndHooksDone   bool `json:"cl,omitempty"` // those of run end have
	StepOpen       bool `json:"so,omitempty"`
	TurnOpen       bool `json:"to,omitempty"`
}

// Conversation is what the user and the model know of each other.
type Conversation struct {
	// the user has said something since the model's last turn
	UserSpokeSince bool `json:"spk,omitempty"`
	// the model's last turn has seen everything there is: nothing came since
	ModelSawAll bool `json:"told,omitempty"`
	// the segment of the thread's last user message; 0: none
	LastUserMessage int64 `json:"usr,omitempty"`
}

// StateLog is where in the journal the shared state is.
type StateLog struct {
	Snapshot   int64 `json:"snap,omitempty"` // the segment of the last snapshot; 0: none
	FirstDelta int64 `json:"delt,omitempty"` // the first segment with writes since; 0: none
}

// Permissions are what this run alone may do, or may not.
type Permissions struct {
	// permissions of this run alone; they can only take away
	Narrow json.RawMessage `json:"narrow,omitempty"`
	// what approvals of this turn allowed beyond their own calls
	Grants   []string `json:"grants,omitempty"`
	NoMemory bool     `json:"nomem,omitempty"` // the start asked for none
}

// Origin is where the run began, and when it was written last.
type Origin struct {
	RetryOf  string          `json:"retry_of,omitempty"`
	Metadata json.RawMessage `json:"meta,omitempty"`
	// the payload with the targets of notices that the start named; empty: none
	Notify string `json:"ntf,omitempty"`
	// the payload with the tools, context and state that the start supplied; empty: none
	Supplied string `json:"sup,omitempty"`
	Born     int64  `json:"born"`
	At       int64  `json:"at"`   // of the last write of the owner
	Seq0     int64  `json:"seq0"` // the run's segments are those after Seq0
	Ev0      int64  `json:"ev0"`  // and its events those after Ev0
}

// ResponseState is what the end of a run means to its caller.
type ResponseState string

// Open says whether the run may still change.
func (h Head) Open() bool { return h.Status != RunDone }

// Clone returns a head that shares no map with h.
func (h Head) Clone() Head {
	h.Calls = CloneMap(h.Calls)
	h.TimedOut = CloneMap(h.TimedOut)
	h.Out = CloneMap(h.Out)
	h.Inbox = CloneMap(h.Inbox)
	h.Votes = CloneMap(h.Votes)
	for sus, tally := range h.Votes {
		h.Votes[sus] = maps.Clone(tally)
	}
	h.Held = slices.Clone(h.Held)
	h.Grants = slices.Clone(h.Grants)
	if h.End != nil {
		end := *h.End
		h.End = &end
	}
	if h.Outage != nil {
		outage := *h.Outage
		h.Outage = &outage
	}
	if h.Parent != nil {
		parent := *h.Parent
		h.Parent = &parent
	}
	if h.Peer != nil {
		work := *h.Peer
		h.Peer = &work
	}
	return h
}

// CloneMap is a shallow copy; of nil, an empty map.
func CloneMap[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

// Visible returns the status that readers see. A waiting run with signals in its inbox is shown as
// running, and a run that has ended stays running until its outbox is empty.
func (h Head) Visible() RunStatus {
	if h.Status == RunWaiting && len(h.Inbox) > 0 {
		return RunRunning
	}
	return h.Status
}

// Claimable says whether a claim at now would be granted: the condition that every store enforces.
func (h Head) Claimable(now int64, claim string) bool {
	if h.Lease != 0 && h.Lease >= now || h.Claim == claim {
		return false
	}
	switch h.Status {
	case RunCreated, RunRunning:
		return h.NotBefore <= now || len(h.Inbox) > 0
	case RunWaiting:
		return len(h.Inbox) > 0 || h.Deadline != 0 && h.Deadline <= now
	}
	return false
}

const (
	ResponseDone          ResponseState = "done"
	ResponseNoOp          ResponseState = "no_op"
	ResponseAwaitingInput ResponseState = "awaiting_input"
)

// A message can wait for the end of the run and then begin the next one of its thread.
//
//	applyMessage ── hold … releaseDone ── StartHeld ── FindHeld ── Succeed

// Succeed is the head of the next run of h's thread, on condition that h is done or about to be:
// what never goes back goes on from h. The input is its first signal; version is the definition it
// is pinned to.
func (h Head) Succeed(version string, input Signal, now int64) Head {
	next := Head{
		Identity: Identity{Tenant: h.Tenant, Thread: h.Thread, Run: RunID(h.Thread, h.Rev+1), Agent: h.Agent, Version: version,
			Idem: h.Idem},
		Position:     Position{Epoch: h.Epoch + 1, Rev: h.Rev + 1, CID: h.CID, Seq: h.Seq, Seg: h.Seg, Ev: h.Ev, Sigs: h.Sigs + 1},
		Ownership:    Ownership{Claim: h.Claim},
		Conversation: Conversation{LastUserMessage: h.LastUserMessage},
		StateLog:     h.StateLog,
		Origin:       Origin{Born: now, At: now, Seq0: h.Seq, Ev0: h.Ev},
		Inbox:        map[string]Signal{KeyStart: input},
	}
	next.Schema = SchemaOf(next)
	return next
}
