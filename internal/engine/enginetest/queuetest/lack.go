package queuetest

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Lack is a guarantee of the ports that a queue does not give. The suite then checks the weaker
// guarantee that remains; it never skips the check.
type Lack string

const (
	// LastingReceipts: a receipt still works after its message was given back, or handed over
	// again. A late ack may be refused or taken, and the message be gone or not.
	LastingReceipts Lack = "receipts are not revoked"

	// WholeSeconds: delays are rounded up to seconds.
	WholeSeconds Lack = "delays are whole seconds"

	// SilentDead: a dead letter does not say how often it was handed over, and why it is one.
	SilentDead Lack = "dead letters say no reason"

	// LateDead: a message becomes a dead letter when it would be handed over once more.
	LateDead Lack = "dead letters are made by the next receive"

	// NoTurns: a tenant with a large backlog may keep the messages of other tenants waiting.
	NoTurns Lack = "tenants do not take turns"
)

func (t *queueTest) lack(l Lack) bool { return slices.Contains(t.lacks, l) }

// superseded checks what a receipt says that has no right any more, where nothing is promised: it
// is taken or refused.
func (t *queueTest) superseded(err error) {
	t.Helper()
	if err != nil {
		t.refused(err)
	}
}

// lateAckAnyhow: a late ack may be taken or not, and the owner of the message can still be rid of
// it.
func (t *queueTest) lateAckAnyhow(late, owner engine.Delivery) {
	t.superseded(t.queue.Ack(t.Context(), late))
	t.none()
	t.superseded(t.queue.Ack(t.Context(), owner))
	t.clock.Advance(Visibility)
	t.none()
}

// unreasoned removes from dead letters the fields that the queue does not guarantee.
func (t *queueTest) unreasoned(letters ...[]Dead) {
	if !t.lack(SilentDead) {
		return
	}
	for _, some := range letters {
		for i := range some {
			some[i].Attempts, some[i].Cause = 0, ""
		}
	}
}
