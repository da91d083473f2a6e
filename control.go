package dormouse

import "context"

// RunControl yields and cancels runs from outside of their agents: it is the program's word on all
// runs that its process works on, for example because a queue of its own is full or a switch is
// off. Both functions are polled, and their answers may change. Nil says no.
//
// They are called by the server of the dev command and by the function step of a stack, in each
// process for the runs it works on, and not by the tests of agents. They may be called at the same
// time, also about one run, and must return quickly: a step waits for the answer. An answer that
// has not come after a second counts as no, and its ctx ends. So do an error and a panic, which are
// logged. A control that fails loses nothing: the run goes on as if there were none.
type RunControl struct {
	// ShouldYield is asked after each answer of the model, before the answer is accepted. True
	// drops the answer: none of its calls runs, its tokens are counted, the journal has a
	// step.reset with the reason yielded, and the worker takes other work. The model is asked
	// again after 5 seconds, with the same conversation, and paid for again. There is no bound:
	// a run about which this always says true gets no further. The key yield_when of an agent's
	// file has one.
	ShouldYield func(ctx context.Context, run RunRef) (bool, error)

	// IsCancelled is asked before each thing that a step does, and every second or two while a
	// tool or the model works. True ends the run as cancelled, as a cancel by a caller does,
	// and a tool at work is told by its ctx. That cannot be taken back. A run that waits or is
	// done is not asked about.
	IsCancelled func(ctx context.Context, run RunRef) (bool, error)
}

// RunRef names a run.
type RunRef struct {
	Tenant, Thread, ID string
	Agent              string
}
