// Package a2a projects runs to tasks of A2A 1.0, and reads what clients of the protocol send. It is
// pure: runs and events in, the SDK's shapes out.
//
//	run                       task
//	id                        id
//	thread, or the client's   contextId
//	user messages, and what
//	the agent said meanwhile  history
//	output                    artifact "output"
//	what waits for an answer  TASK_STATE_INPUT_REQUIRED, a data part for each question
//
// A client's answer is a data part with the id of a question. Nothing else in a message answers
// one, but for a text if the only question is what a tool asks the user.
package a2a
