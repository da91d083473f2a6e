// Package planner decides what the owner of a run does next. [Decide] is pure: it reads a
// [plans.View], everything that is known, and returns a [plans.Plan], one thing to do. The
// documentation of package core has the terms, the reading order and an index of behaviors.
//
// # Invariants
//
// Decide guarantees, for every head:
//
//   - A tool body runs only if its gate allowed it on the current state, or if a decision on
//     exactly this suspension approved these arguments and no rule denies them.
//   - A closing commit (an end, or a release to waiting) is conditional on there being no unread
//     signals.
//   - A run with an unresolved call ends only by a cancel, a stop or an error, which give the call
//     a result.
//   - Deciding again from the committed head asks for the same work under the same idempotency
//     keys.
package planner
