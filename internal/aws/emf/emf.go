// Package emf counts what functions do, as lines of the embedded metric format on their standard
// output: CloudWatch makes metrics of them, and no client and no request are needed. The names are
// here, all of them, because dashboards and alarms are made of them.
//
// It keeps nothing between invocations and sums nothing up over processes. The only dimension is
// the stack: a dimension of runs or tenants would make a metric of each.
package emf

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Name is a metric.
type Name string

// Of a step.
const (
	Steps      Name = "Steps"      // activations that were released or fenced
	StepErrors Name = "StepErrors" // messages given back because their step failed
	// wake-ups with nothing to claim: stale, or somebody else has the run
	ClaimsLost   Name = "ClaimsLost"
	Takeovers    Name = "Takeovers"    // runs taken over from an owner that was lost
	Commits      Name = "Commits"      // writes of a head by its owner
	ModelCalls   Name = "ModelCalls"   //
	ToolCalls    Name = "ToolCalls"    // tool bodies run
	InputTokens  Name = "InputTokens"  // as the model counts them
	OutputTokens Name = "OutputTokens" //
	Waits        Name = "Waits"        // sleeping runs that were woken
	WaitSeconds  Name = "WaitSeconds"  // how long those had slept
	RunsDone     Name = "RunsDone"     // runs that ended, however
	RunsFailed   Name = "RunsFailed"   // those of them that ended with an error
	Unreadable   Name = "Unreadable"   // messages of the wake queue that are not ours
)

// Of the intake queue.
const (
	RunsStarted Name = "RunsStarted"
	// messages put back, because the thread or the store is busy
	IntakeBusy Name = "IntakeBusy"
	IntakeDead Name = "IntakeDead" // messages put aside with the reason
)

// Of the sweep.
const (
	Overdue Name = "Overdue" // wake-ups sent for what was due
	// threads that were due and could not be woken; the next sweep tries again
	SweepFailures Name = "SweepFailures"
	// how long the first of it had been due; 0 if nothing was
	OldestDueSeconds Name = "OldestDueSeconds"
)

// Of the table, in every function that writes metrics: what the server says it has consumed,
// indexes included. Refused writes are not in it.
const (
	ReadUnits  Name = "ReadUnits"
	WriteUnits Name = "WriteUnits"
)

// Names are all of them, for what is made of them.
func Names() []Name {
	return []Name{Steps, StepErrors, ClaimsLost, Takeovers, Commits, ModelCalls, ToolCalls, InputTokens, OutputTokens, Waits, WaitSeconds,
		RunsDone, RunsFailed, Unreadable, RunsStarted, IntakeBusy, IntakeDead, Overdue, SweepFailures, OldestDueSeconds,
		ReadUnits, WriteUnits}
}

// Namespace is where CloudWatch keeps the metrics.
const Namespace = "Dormouse"

// dimension is the one there is.
const dimension = "Stack"

// ErrName is a metric that [Names] does not have.
var ErrName = errors.New("emf: there is no metric of this name; add it to Names")

// Metrics writes the lines of one process. Safe for concurrent use.
type Metrics struct {
	stack string
	now   func() time.Time

	mu sync.Mutex
	w  io.Writer
}

// New writes to w. Each line is one call of Write.
func New(w io.Writer, stack string, now func() time.Time) *Metrics {
	return &Metrics{stack: stack, now: now, w: w}
}

// Counts are those of one invocation; begin with Counts{}. Not for concurrent use.
type Counts map[Name]float64

// Add counts. Zero is worth adding: a metric that says 0 is told from one that nobody writes any
// more.
func (c Counts) Add(n Name, by float64) { c[n] += by }

// Write writes what was counted as one line, or nothing if nothing was.
func (m *Metrics) Write(c Counts) error {
	if len(c) == 0 {
		return nil
	}
	line, err := m.line(c)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err = m.w.Write(append(line, '\n'))
	return err
}

// Metadata of the format. Its names are CloudWatch's.
type (
	metadata struct {
		Timestamp         int64
		CloudWatchMetrics []directive
	}
	directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []definition
	}
	definition struct {
		Name Name
		Unit string
	}
)

func (m *Metrics) line(c Counts) ([]byte, error) {
	d := directive{Namespace: Namespace, Dimensions: [][]string{{dimension}}}
	members := map[string]any{dimension: m.stack}
	for _, n := range slices.Sorted(maps.Keys(c)) {
		if !slices.Contains(Names(), n) {
			return nil, ErrName
		}
		d.Metrics = append(d.Metrics, definition{n, n.unit()})
		members[string(n)] = c[n]
	}
	members["_aws"] = metadata{m.now().UnixMilli(), []directive{d}}
	return json.Marshal(members)
}

func (n Name) unit() string {
	if n == WaitSeconds || n == OldestDueSeconds {
		return "Seconds"
	}
	return "Count"
}
