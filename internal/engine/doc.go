// Package engine works on runs: it claims one, asks package core what to do, commits that, then
// does it, until the claim is given up. One call of [Engine.Step] is one step of a run: at most one
// model call and the tool round it asks for.
//
// The package owns the ports ([Store], [Waker], [Clock], [Model], [Tool], ...); adapters implement
// them and package enginetest holds what each must pass. It decides nothing itself and knows no
// technology.
//
// # What a crash costs
//
//	claim ── commit ── body ── commit ── release
//	  ✗         ✗        ✗        ✗         ✗       the process may be lost at any of these
//
// Whatever was committed stays; the rest is done again by the next owner, who claims when the lease
// is over: a model is asked again only if its turn was not committed, an at-least-once body runs
// again under the same idempotency key, and an at-most-once body whose intent was committed is not
// run again: a person is asked what happened.
//
// # Fencing
//
// Every write of the owner carries epoch and revision. An owner that was replaced is refused by its
// next write ([ErrFenced]) and stops. A clock decides when somebody else may start, never whose
// write counts; only the start of an at-most-once body looks at the clock, since no store can
// refuse what happens outside.
package engine
