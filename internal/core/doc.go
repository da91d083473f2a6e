// Package core says what a run is and what may happen to it. It decides and never does: given the
// head of a thread, the signals waiting in it, the time and the last outcome, [Decide] returns the
// next thing to do. Package core knows no clock, no randomness and no I/O, and imports the standard
// library alone; times are milliseconds since the Unix epoch and come in as arguments.
//
// # Terms
//
//   - A thread is a conversation and has at most one open run. A run is one execution in it, from
//     an input to done.
//   - A step is one model call and the tool round it asks for. An activation is one invocation
//     working on a run.
//   - The head ([Head]) is the small record of what is true now; the journal ([Segment]) is what
//     happened, append-only.
//   - A signal ([Signal]) is what outsiders leave in the head for the run: an input, a message, a
//     decision, a late answer, an interrupt, a cancel.
//   - A suspension ([Suspension]) is why a tool call waits; a decision ([Resume]) is the answer to
//     one suspension. A run that waits itself does so on a synthetic call, which no model sees.
//   - A phase ([Phase]) is where hooks are called; effects ([Effects]) are what they want. The
//     state ([State]) is what tools and hooks share.
//
// # Reading order
//
// Start with [Head] and [View], what is known; [Plan], what can be asked for; and the two tables in
// transitions.go, the only ways a status changes. Then follow one decision through decide.go:
//
//	decide ── foldOutbox ── foldTurn ── foldOutcomes ── applyInbox ── foldFailure ── startRun ── goOn
//	goOn   ── settle: every call that needs no body ── next
//	next   ── runBodies | await | finish | releaseWaiting | endStep ── end | releaseRunning | ask
//
// A draft collects the next commit on the way. Whatever must be durable before the next effect is
// committed first, and the plan is made anew from what was committed. So work after a crash and
// work without one are asked for in the same way.
//
// # Where is it
//
// Each behaviour has one owner. The index names the function to begin with, and its file.
//
//	a call that a rule denies          denyByRule         denial.go
//	a call that an approver denies     cancelCall         denial.go
//	the gate of a call                 gate               gate.go
//	an approval                        askApproval        approval.go
//	what an approval waives            lifted             approval.go
//	edited arguments                   edit               edited_arguments.go
//	a grant for the rest of the turn   grant              grant.go
//	a decision from the inbox          applyDecision      decision_applied.go
//	the reading of a decision          ReadDecision       decision.go
//	a deadline that passes             applyDeadlines     deadline.go
//	an answer after its deadline       recordLate         deadline.go
//	an interrupt                       applyInterrupt     interrupt.go
//	a wait of the run itself           suspendRun         run_wait.go
//	a call that begins to wait         suspend            suspend.go
//	a message                          applyMessage       message.go
//	a message that abandons a wait     abandon            message.go
//	a message for the next run         hold               next_run.go
//	the order of signals               inboxOrder         inbox.go
//	a result of a client               askClient          client_tool.go
//	a model call                       ask                model_call.go
//	a model's turn, a new round        foldTurn           model_turn.go
//	a model that does not answer       waitForModel       outage.go
//	a turn that makes way for others   yield              yield.go
//	which bodies run now               batch              batch.go
//	the start of bodies                runBodies          body.go
//	the outcome of a body              foldOutcome        outcome.go
//	a decision while bodies run        await              flight.go
//	an intent, at most once            intend             intent.go
//	a crash after an intent            askWhatHappened    intent.go
//	a crash without an intent          rememberOrphans    crash.go
//	a call that kills the process      settleCrashing     crash.go
//	stop rules                         stopOf             stop.go
//	budgets of tool calls              overBudget         budget.go
//	hooks                              fire               hooks.go
//	the shared state                   writeState         state.go
//	time is up                         releasePartial     release.go
//	a run that waits                   releaseWaiting     release.go
//	the outbox                         empty              outbox.go
//	a finish                           finishWith         finish.go
//	a cancel, and any other end        end                end.go
//	an agent that is unavailable       park               agent_unavailable.go
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
package core
