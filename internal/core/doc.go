// Package core defines what a run is: its head, journal, signals and decisions, and the tables of
// its status changes. Package planner decides what happens next. Both are pure: they have no clock,
// randomness or I/O and import only the standard library. Times are arguments, in milliseconds
// since the Unix epoch.
//
// # Terms
//
//   - A thread is a conversation with at most one open run. A run is one execution in it, from an
//     input until it is done.
//   - A step is one model call and the tool round it requests. An activation is one invocation of a
//     worker on a run.
//   - The head ([Head]) is the small record of the current state; the journal ([Segment]) is the
//     append-only history.
//   - A signal ([Signal]) is what callers store in the head for the run: an input, a message, a
//     decision, a late answer, an interrupt or a cancel.
//   - A suspension ([Suspension]) is one wait of a tool call; a decision ([Resume]) answers one
//     suspension. A run that waits itself does so on a synthetic call, which no model sees.
//   - A phase ([Phase]) is a point where hooks are called; effects ([Effects]) are what they
//     request. The state ([State]) is shared by tools and hooks.
//
// # Reading order
//
// Start with [Head] and the two tables in transitions.go, the only ways a status changes. Continue
// with View and Plan in package plans: the input and the output of a decision about the next
// step. Then follow planner/decide.go:
//
//	decide ── foldOutbox ── foldTurn ── foldOutcomes ── applyInbox ── foldFailure ── startRun
//	       ── goOn
//	goOn   ── settle: every call that needs no body ── next
//	next   ── runBodies | await | finish | releaseWaiting
//	       ── endStep ── end | releaseRunning | ask
//
// A draft collects the next commit on the way. Everything that must be durable before the next
// effect is committed first, and the planner decides again from the committed head. Recovery after
// a crash therefore follows the same path as normal work.
//
// # Where is it
//
// Each behaviour has one owner. The index names the function to begin with, and its file.
//
//	a call that a rule denies          denyByRule         planner/denial.go
//	a call that an approver denies     cancelCall         planner/denial.go
//	the gate of a call                 gate               planner/gate.go
//	an approval                        askApproval        planner/approval.go
//	what an approval waives            lifted             planner/approval.go
//	an edit by an approver             Edit               edit.go
//	the arguments that run             effective          planner/edited_arguments.go
//	a grant for the rest of the turn   grant              planner/grant.go
//	a decision from the inbox          applyDecision      planner/decision_applied.go
//	the reading of a decision          Read               answer/decision.go
//	a deadline that passes             applyDeadlines     planner/deadline.go
//	an answer after its deadline       recordLate         planner/deadline.go
//	an interrupt                       applyInterrupt     planner/interrupt.go
//	a wait of the run itself           suspendRun         planner/run_wait.go
//	a call that begins to wait         suspend            planner/suspend.go
//	a message                          applyMessage       planner/message.go
//	a message that abandons a wait     abandon            planner/message.go
//	a message for the next run         hold               planner/next_run.go
//	the order of signals               Order              inbox/inbox.go
//	a result of a client               askClient          planner/client_tool.go
//	a model call                       ask                planner/model_call.go
//	a model's turn, a new round        foldTurn           planner/model_turn.go
//	a model that does not answer       waitForModel       planner/outage.go
//	a turn that makes way for others   yield              planner/yield.go
//	which bodies run now               batch              planner/batch.go
//	the start of bodies                runBodies          planner/body.go
//	the outcome of a body              foldOutcome        planner/outcome.go
//	a decision while bodies run        await              planner/flight.go
//	an intent, at most once            intend             planner/intent.go
//	a crash after an intent            askWhatHappened    planner/crash_after_intent.go
//	a crash without an intent          rememberOrphans    planner/crash_without_intent.go
//	a call that kills the process      settleCrashing     planner/crash_without_intent.go
//	stop rules                         First              stoprule/first.go
//	the arguments of a model's calls   Arguments          strict/arguments.go
//	budgets of tool calls              overBudget         planner/call_budget.go
//	hooks                              fire               planner/hooks.go
//	the effects of several hooks       Join               effects/join.go
//	the shared state                   writeState         planner/state.go
//	time is up                         releasePartial     planner/release.go
//	a run that waits                   releaseWaiting     planner/release.go
//	the outbox                         empty              planner/outbox.go
//	what the gate said of a call       At                 plans/gate_memo.go
//	a finish                           finishWith         planner/finish.go
//	a cancel, and any other end        end                planner/end.go
//	an agent that is unavailable       park               planner/agent_unavailable.go
package core
