// Package core says what a run is and what may happen to it. It decides and never does: given the head of a thread, the
// signals waiting in it, the time and the last outcome, [Decide] returns the next thing to do. Package core knows no clock, no
// randomness and no I/O, and imports the standard library alone; times are milliseconds since the Unix epoch and come in
// as arguments.
//
// # Terms
//
//   - A thread is a conversation and has at most one open run. A run is one execution in it, from an input to done.
//   - A step is one model call and the tool round it asks for. An activation is one invocation working on a run.
//   - The head ([Head]) is the small record of what is true now; the journal ([Segment]) is what happened, append-only.
//   - A signal ([Signal]) is what outsiders leave in the head for the run: an input, a message, a decision, a late answer, an
//     interrupt, a cancel.
//   - A suspension ([Suspension]) is why a tool call waits; a decision ([Resume]) is the answer to one suspension. A run that waits
//     itself does so on a pseudo-call, which no model sees.
//   - A phase ([Phase]) is where hooks are called; effects ([Effects]) are what they want. The state ([State]) is what tools and hooks
//     share.
//
// # States
//
// Runs and calls move by the two tables in transitions.go and by nothing else; docs/state-machine.md is generated from them.
//
// # Invariants
//
// What Decide promises, whatever the head holds: a tool body is asked for only if its gate allowed it on the state that is there, or a
// decision on exactly this suspension said resume for these arguments and no rule denies them; a commit that closes a door (end, release to waiting) demands that no signal is unseen; a
// run with an unresolved call ends only by cancel, stop or error, which close it with a result; deciding again from what was
// committed asks for the same work.
package core
