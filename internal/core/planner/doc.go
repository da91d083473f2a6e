// Package planner says what the owner of a run does next. [Decide] is pure: it looks at a [View],
// everything that is known, and returns a [Plan], one thing to do. The documentation of package
// core has the terms, the reading order and an index of behaviours.
//
// # Invariants
//
// What Decide promises, whatever the head holds:
//
//   - A tool body is asked for only if its gate allowed it on the state that is there, or a
//     decision on exactly this suspension said resume for these arguments and no rule denies them.
//   - A closing commit (end, release to waiting) is conditional on there being no unread signals.
//   - A run with an unresolved call ends only by cancel, stop or error, which close it with a
//     result.
//   - Deciding again from what was committed asks for the same work.
package planner
