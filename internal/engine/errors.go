package engine

import (
	"errors"
	"fmt"
	"slices"
)

// What a store or a queue may answer. Adapters translate every failure of their technology to one
// of these, or wrap [ErrUnavailable] around what they cannot name.
var (
	// ErrUnavailable: it may or may not have happened. The same request may be sent again.
	ErrUnavailable = errors.New("engine: the store did not answer")

	// ErrUnreadable: stored data cannot be read, and a retry doesn't help. It comes with
	// ErrUnavailable, because a newer program or a repair may make the data readable.
	ErrUnreadable = errors.New("engine: stored data cannot be read")

	// The following are an ErrUnavailable whose reason is known. After ErrDisk and
	// ErrGone, something may have been written; after the others, nothing was.

	// ErrNoRoom: the store's disk is full.
	ErrNoRoom = fmt.Errorf("%w: the disk is full", ErrUnavailable)

	// ErrDisk: the store's disk answers with errors. They may pass, or not.
	ErrDisk = fmt.Errorf("%w: the disk fails", ErrUnavailable)

	// ErrDamaged: the stored data is damaged where it was read or written. An operator has to
	// repair it.
	ErrDamaged = fmt.Errorf("%w: the stored data is damaged", ErrUnavailable)

	// ErrGone: the store no longer exists, or another one has replaced it.
	ErrGone = fmt.Errorf("%w: the store is gone", ErrUnavailable)

	// ErrDenied: the store refuses this program's credentials, or what they may do.
	ErrDenied = fmt.Errorf("%w: the store denies access", ErrUnavailable)

	// ErrRefused: a condition did not hold and nothing was written. The head that refused comes
	// with it.
	ErrRefused = errors.New("engine: refused by a condition")

	// ErrFenced: another owner has claimed the run. Stop without writing anything.
	ErrFenced = errors.New("engine: another owner has the run")

	// ErrSignals: the closing commit was refused because of a signal that the owner hasn't
	// seen. Nothing was written; the head with the signal comes with the error.
	ErrSignals = errors.New("engine: unseen signals")

	// ErrNewerSchema: the head was written by a newer program. Nothing was written; give the
	// message back.
	ErrNewerSchema = errors.New("engine: the run was written by a newer version")

	// ErrNotFound: there is no such thing.
	ErrNotFound = errors.New("engine: not found")
)

// lasting are the reasons of [ErrUnavailable] that do not pass while a request waits.
var lasting = []error{ErrUnreadable, ErrDamaged, ErrGone, ErrDenied}

// Lasting says whether sending the request of an [ErrUnavailable] again is of no use until a person
// has done something.
func Lasting(err error) bool {
	return slices.ContainsFunc(lasting, func(reason error) bool { return errors.Is(err, reason) })
}

// LacksError is the [ErrNotFound] of something that a stored version cannot do without. Its text
// may be shown to callers. Name is what the definition calls it; "" if it names nothing that could
// be looked for in its file.
type LacksError struct{ Text, Name string }

func (e *LacksError) Error() string { return e.Text }

// Unwrap makes it an [ErrNotFound].
func (e *LacksError) Unwrap() error { return ErrNotFound }

// AgentUnavailableError is what [Agents.Load] answers for an agent that is deployed and that this
// program cannot serve for now: a secret is not set, a file cannot be read. Its runs wait; none of
// them fails for it. Reason may be shown to callers.
type AgentUnavailableError struct{ Name, Reason string }

func (e *AgentUnavailableError) Error() string {
	return fmt.Sprintf("engine: agent %q is not available: %s", e.Name, e.Reason)
}
