// Package engine runs agents: it claims a run, asks the planner what to do next, commits the
// answer, carries it out, and repeats this until it releases the claim. One call of [Engine.Step]
// is one step of a run: at most one model call and the tool round it asks for.
//
// The package owns the ports ([Store], [Waker], [Clock], [Model], [Tool], ...). Adapters implement
// them, and package enginetest has the conformance suites. The engine makes no decisions about a
// run and depends on no technology.
//
// # What a crash costs
//
//	claim ── commit ── body ── commit ── release
//	  ✗         ✗        ✗        ✗         ✗       the worker may crash at any of these
//
// Everything committed survives. The next owner claims the run once the lease has expired and
// repeats the rest. It calls the model again only if the turn was not committed, and runs an
// at-least-once body again under the same idempotency key. It never repeats an at-most-once body
// whose intent was committed: the run asks a person what happened.
//
// # Fencing
//
// Every write of the owner carries its epoch (the fencing token) and revision, and the store
// applies it as a compare-and-set. A replaced owner's next write fails with [ErrFenced], and the
// owner stops. Clocks decide when another worker may claim, never whose write counts. The one
// exception is the start of an at-most-once body, which checks the lease, because no store can undo
// an external side effect.
package engine
