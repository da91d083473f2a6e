package engine

import (
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// ClaimRequest asks for a thread's run. Claim is random for each claim; only its own retries share
// it, never two deliveries of one message.
type ClaimRequest struct {
	Tenant, Thread string
	Claim          string
	Now            int64 // the caller's clock
	LeaseEnd       int64
	Due            int64 // when the sweep shall look, should the owner die
	Schema         int
}

// CommitRequest is one write of the owner.
type CommitRequest struct {
	// Next is the head after the write. The store takes the owner's attributes from it; Inbox,
	// Sigs and Due are not among them. Next.Epoch and Next.Rev-1 are the condition. Next.CID is
	// the write's stamp. Next.Lease 0 gives the claim up.
	Next core.Head

	// Segment is what the write adds to the journal, nil for nothing. Its number is Next.Seq,
	// its stamp Next.CID.
	Segment *core.Segment

	// Drained are the inbox keys whose signals the segment contains.
	Drained []string

	// Votes opens the counts of these questions with what they begin with, and removes those
	// that are nil. The store leaves every other count as it is, even if Next has another.
	Votes map[string]vote.Tally

	// AllSeen demands that Sigs is still Seen.
	AllSeen bool
	Seen    int64

	// Due is what the index shall say; nil leaves it as it is, 0 removes the entry.
	Due *int64

	// Wake asks for a wake-up after the write. A store that is also the queue may send it in
	// the same transaction and say so in [Written.Woken].
	Wake *Delay

	// Settle acknowledges the delivery that the step was for, with the release. A store that is
	// also the queue may do so in the same transaction, and says so in [Written.Settled].
	Settle *Settle
}

// Settle is a delivery to acknowledge. With Claim, and if no message of the queue is visible, the
// write goes on with the run that it releases: it receives the wake-up that it asks for, with the
// claim's id as receipt, and claims the run for the next step, as if Receive and Claim had followed
// it. A claim that is refused leaves the wake-up in the queue.
type Settle struct {
	Delivery Delivery
	Claim    *ClaimRequest
}

// Taken is a delivery whose run was claimed in the write that received it. Without a Head it was
// only received.
type Taken struct {
	Delivery
	Head core.Head
}

// Delay is how much later a message shall be visible.
type Delay struct{ For time.Duration }

// Written is what a write leaves behind.
type Written struct {
	Head  core.Head
	Woken bool // the wake-up was sent in the same transaction

	Settled bool   // so was the acknowledgement of the delivery
	Next    *Taken // the next step of the run; nil: it was not claimed
}

// What callers' side of a store is asked for; see package frontend, which owns the interface.

// StartRequest creates a run.
type StartRequest struct {
	// Head is the head to create, or, with Prior, the head that takes its place.
	Head core.Head

	// Prior is the finished head this run follows, as it was read: the condition is its Rev and
	// that it is done. It is kept as a [core.Record]. Nil creates the thread, on condition that
	// there is none.
	Prior *core.Head

	// Owned: Prior is the caller's own, claimed and ended (its End is set) but not done. The
	// condition is then its Epoch and Rev, and that its Sigs is still Seen, in place of being
	// done; refused as a commit is.
	Owned bool
	Seen  int64

	// Key makes the start idempotent; nil for a start without a key, or one that creates its
	// thread.
	Key *Key

	Due  int64
	Wake *Delay
}

// Key is a record that something was done once.
type Key struct {
	Tenant string
	Key    string
	Run    string
	// of the request: the same key with another digest is a mistake of the caller
	Digest  string
	Expires int64
}

// KeyTakenError: the key was used before, by the request it carries. Nothing was written.
type KeyTakenError struct{ Key Key }

func (e *KeyTakenError) Error() string { return "engine: the key was used before" }

// Answer is a decision on a call that is suspended on exactly this suspension.
type Answer struct {
	Signal           core.Signal
	Call, Suspension string
}

// Vote is what a vote adds to the count of its suspension, and until when it is taken: the
// condition of [vote.Tally.Takes].
type Vote struct {
	Voter      string // see [vote.Key]
	Maker      string // who made the link that it came by; empty without a link
	Say        vote.Say
	Need, Deny int
}

// SignalRequest stores one signal in a run's inbox. In one atomic write, on condition that the head
// still holds Run, that its end is not set, that InboxKey is not there, and on those below.
type SignalRequest struct {
	Tenant, Thread, Run string
	InboxKey            string
	Signal              core.Signal

	// Call and Suspension: this call is suspended on exactly this suspension.
	Call, Suspension string

	// MaxMessages: fewer than this many signals are in the inbox; 0 for no limit.
	MaxMessages int

	// Together are more decisions, stored in the same write: each under the id of its
	// suspension, on its own condition, all of them or none. They count as one signal.
	Together []Answer

	// Vote: the signal is counted in the same write, if the question is still open.
	Vote *Vote

	// Late: this suspension is among those whose deadline closed them.
	Late string

	// NobodyWaits: no call is suspended that a message does not answer.
	NobodyWaits bool

	// Seen: no one has claimed the run, Sigs is still as much, and its schema is none above
	// [core.SchemaPacked], which it becomes. So no owner has seen the inbox without Signal, a
	// decision that is held, and every later one knows what a hold is. Nil: no condition.
	Seen *int64

	// Undoes: this decision is held, and goes out of the inbox in the same write.
	Undoes *Held

	// Key, if set, is put in the same transaction; [*KeyTakenError] if it is there.
	Key *Key

	Due  int64
	Wake *Delay
}

// Held is a decision that is held, by its suspension, its id and the end of its hold.
type Held struct {
	Suspension, ID string
	Until          int64
}
