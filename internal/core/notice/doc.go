// Package notice decides what becomes of notices: which events of a run people and programs are
// notified of, and what a delivery line does next. It is pure: time and randomness come in from
// outside.
//
// A notice is an event of the journal, so nothing about it is stored twice. The head of the run
// says from which event on notices are owed. The owner of the run hands each one over to a line for
// each endpoint, and the line delivers it without holding the run.
//
//	event committed, out.n set ── handed over ── out.n removed ── run waits or is done
//	                                 │
//	                                 └─ line: attempt ── recorded … delivered or dead
package notice
