package dormouse

import "context"

// RunControl yields and cancels runs from outside their agents. It applies to every run that its
// process works on, for example because a queue of the program is full or a switch is off. The
// runtime polls both functions, and their answers may change. A nil function answers no.
//
// The server of the dev command and the function step of a stack call them for the runs that the
// process works on; tests of agents don't. The calls may be concurrent, also for the same run. A
// step waits for the answer, so both must return quickly: after one second ctx ends and the answer
// counts as no. An error and a panic also count as no and are logged. A control that fails loses
// nothing: the run continues as if there were no control.
type RunControl struct {
	// ShouldYield is called after each answer of the model, before the answer is committed. If
	// it returns true, the runtime drops the answer: none of its calls runs, its tokens are
	// counted, the journal gets a step.reset with the reason yielded, and the worker takes
	// other work. After 5 seconds the runtime asks the model again with the same conversation,
	// at the price of another request. There is no limit: a run for which this always returns
	// true never advances. The key yield_when of an agent file has a limit.
	ShouldYield func(ctx context.Context, run RunRef) (bool, error)

	// IsCancelled is called before each action of a step, and every second or two while a tool
	// or the model is working. If it returns true, the run ends as cancelled, exactly as if a
	// caller had cancelled it, and the ctx of a working tool ends. This can't be undone. It
	// isn't called for runs that are waiting or done.
	IsCancelled func(ctx context.Context, run RunRef) (bool, error)
}

// RunRef identifies a run.
type RunRef struct {
	Tenant, Thread, ID string
	Agent              string
}
