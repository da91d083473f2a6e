// Package emf writes the metrics of functions to standard output as lines of the CloudWatch
// embedded metric format, which needs no client and no request. All names are defined here, because
// dashboards and alarms use them.
//
// It keeps nothing between invocations and aggregates nothing across processes. The only dimension
// is the stack: a dimension for runs or tenants would create a metric for each. Failures also have
// the version of their function as a dimension, so that a rollout sees those of the new version.
package emf

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Name is the name of a metric.
type Name string

// Metrics of steps.
const (
	Steps      Name = "Steps"      // activations that released their run or were fenced
	StepErrors Name = "StepErrors" // messages returned because their step failed
	// wake-ups without a run to claim: stale, or another worker has the run
	ClaimsLost Name = "ClaimsLost"
	// steps that claimed a run and released it, and did nothing else
	EmptySteps   Name = "EmptySteps"
	Takeovers    Name = "Takeovers"    // runs taken over from an owner that crashed
	Commits      Name = "Commits"      // writes of a head by its owner
	ModelCalls   Name = "ModelCalls"   //
	ToolCalls    Name = "ToolCalls"    // tool bodies run
	InputTokens  Name = "InputTokens"  // as the model counts them
	OutputTokens Name = "OutputTokens" //
	Waits        Name = "Waits"        // suspended runs that were resumed
	WaitSeconds  Name = "WaitSeconds"  // how long those were suspended
	RunsDone     Name = "RunsDone"     // runs that ended, for any reason
	RunsFailed   Name = "RunsFailed"   // of these, the runs that ended with an error
	Unreadable   Name = "Unreadable"   // messages of the wake-up queue that are not ours

	// how long a wake-up waited in its queue once it was due
	WakeLagSeconds Name = "WakeLagSeconds"
	// how long a decision waited for the step that takes it up
	DecisionToStepSeconds Name = "DecisionToStepSeconds"
)

// ServerErrors are the answers of the HTTP API with a status of 5xx. A function that gives them
// does not fail, as Lambda sees it.
const ServerErrors Name = "ServerErrors"

// RunsStarted are the runs that callers, webhooks and the intake queue started.
const RunsStarted Name = "RunsStarted"

// Metrics of the intake queue.
const (
	// messages returned because the thread or the store is busy
	IntakeBusy Name = "IntakeBusy"
	IntakeDead Name = "IntakeDead" // messages moved to the dead letters

	// IntakeErrors counts messages of the intake queue that failed because of a fault of the
	// program, and come again.
	IntakeErrors Name = "IntakeErrors"
)

// Metrics of the function that delivers notices.
const (
	NoticesDelivered Name = "NoticesDelivered"
	// attempts that failed and are made again, and messages that made the function panic
	NoticeFailures Name = "NoticeFailures"
	// notices that were given up; they wait for an operator
	NoticesDead Name = "NoticesDead"
)

// Metrics of the sweep.
const (
	Overdue Name = "Overdue" // wake-ups sent for due runs
	// due threads that could not be woken; the next sweep retries
	SweepFailures Name = "SweepFailures"
	// how long the oldest entry had been due; 0 if nothing was
	OldestDueSeconds Name = "OldestDueSeconds"
)

// Metrics of the table, in every function that writes metrics: the consumed capacity that the
// server reports, including indexes. Refused writes are not included.
const (
	ReadUnits  Name = "ReadUnits"
	WriteUnits Name = "WriteUnits"
)

// Names returns all metrics.
func Names() []Name {
	return []Name{Steps, StepErrors, ClaimsLost, EmptySteps, Takeovers, Commits, ModelCalls, ToolCalls, InputTokens, OutputTokens, Waits, WaitSeconds,
		RunsDone, RunsFailed, Unreadable, RunsStarted, IntakeBusy, IntakeDead, IntakeErrors, NoticesDelivered, NoticeFailures, NoticesDead, Overdue, SweepFailures, OldestDueSeconds,
		ReadUnits, WriteUnits, WakeLagSeconds, DecisionToStepSeconds, ServerErrors}
}

// Namespace is the CloudWatch namespace of the metrics.
const Namespace = "Dormouse"

// The dimensions: the stack of every metric, and the others of the metrics in byVersion.
const (
	dimension = "Stack"
	function  = "Function"
	version   = "Version"
)

var byVersion = []Name{StepErrors, ServerErrors}

// ErrName reports a metric that is missing in [Names].
var ErrName = errors.New("emf: unknown metric; add it to Names")

// Metrics writes the metrics of one process. It is safe for concurrent use.
type Metrics struct {
	stack string
	now   func() time.Time

	function, version string // empty: without these dimensions

	mu sync.Mutex
	w  io.Writer
}

// New returns metrics that are written to w. Each line is one call of Write.
func New(w io.Writer, stack string, now func() time.Time) *Metrics {
	return &Metrics{stack: stack, now: now, w: w}
}

// Of returns the metrics of a published version of a function. The function's newest code, which is
// no version, has none.
func (m *Metrics) Of(function, version string) *Metrics {
	if version != "" && version != "$LATEST" {
		m.function, m.version = function, version
	}
	return m
}

// Counts are the counts of one invocation; start with Counts{}. They are not safe for concurrent
// use.
type Counts map[Name]float64

// Add adds to a count. Adding zero is useful: it distinguishes a metric with the value 0 from one
// that is no longer written.
func (c Counts) Add(n Name, by float64) { c[n] += by }

// Write writes the counts as one line, or nothing if there are none.
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

// Metadata of the format, with CloudWatch's names.
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
	directives := []directive{d}
	ofVersion := directive{Namespace: Namespace, Dimensions: [][]string{{dimension, function, version}}}
	for _, defined := range d.Metrics {
		if m.version != "" && slices.Contains(byVersion, defined.Name) {
			ofVersion.Metrics = append(ofVersion.Metrics, defined)
		}
	}
	if len(ofVersion.Metrics) > 0 {
		members[function], members[version] = m.function, m.version
		directives = append(directives, ofVersion)
	}
	members["_aws"] = metadata{m.now().UnixMilli(), directives}
	return json.Marshal(members)
}

func (n Name) unit() string {
	if strings.HasSuffix(string(n), "Seconds") {
		return "Seconds"
	}
	return "Count"
}
