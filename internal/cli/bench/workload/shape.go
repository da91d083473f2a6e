// Package workload is what a benchmark lets an agent do: a model in this process that calls one
// tool in each step, and a tool that answers with text like that of an order system.
package workload

import "fmt"

// Shape is the size of a workload. The last step of a run is its answer; each of the others calls
// a tool once.
type Shape struct {
	Steps     int // of each run, at least 1
	Result    int // bytes of each tool result
	Approvals int // calls of each run that a person approves; [All] for each of them
	Runs      int // at once
}

// All is a number of approvals: as many as there are calls.
const All = -1

// Approved reports whether a person approves the call of a step, which is counted from 1. The
// approvals are spread evenly over the run.
func (s Shape) Approved(step int) bool {
	calls := s.Steps - 1
	switch {
	case step > calls:
		return false
	case s.Approvals == All:
		return true
	}
	for i := range s.Approvals {
		if step == 1+(i+1)*calls/(s.Approvals+1) {
			return true
		}
	}
	return false
}

// Total returns how many steps all runs have together.
func (s Shape) Total() int { return s.Steps * s.Runs }

// Check reports a shape that cannot be run.
func (s Shape) Check() error {
	switch {
	case s.Steps < 1, s.Runs < 1, s.Result < 0:
		return fmt.Errorf("%d steps with results of %d bytes in %d runs: a run has at least 1 step, and there is at least 1 run", s.Steps, s.Result, s.Runs)
	case s.Result > library:
		return fmt.Errorf("results of %d bytes: there can be at most %d", s.Result, library)
	case s.Approvals != All && (s.Approvals < 0 || s.Approvals >= s.Steps):
		return fmt.Errorf("%d approvals in %d steps: the last step is the answer, so there can be at most %d", s.Approvals, s.Steps, s.Steps-1)
	}
	return nil
}

// String says what the shape is.
func (s Shape) String() string {
	approvals := fmt.Sprint(s.Approvals)
	if s.Approvals == All {
		approvals = "all"
	}
	return fmt.Sprintf("%d steps, results of %d bytes, approvals: %s, runs: %d", s.Steps, s.Result, approvals, s.Runs)
}
