package measure

import (
	"maps"
	"slices"
	"time"
)

// Costs are what some work cost, by the names of the report. What the backend does not have is not
// there.
type Costs map[string]float64

// The names of costs.
const (
	Fsyncs       = "fsyncs"
	Statements   = "statements"
	LogBytes     = "log_bytes"     // written to the write-ahead log
	WrittenBytes = "written_bytes" // to all files, the log included
	CPU          = "cpu_ms"
	Wall         = "wall_ms"

	ReadUnits     = "read_units"
	WriteUnits    = "write_units" // those of indexes included
	StoreRequests = "store_requests"
	SentBytes     = "sent_bytes"     // to the store, in bodies of requests
	QueueRequests = "queue_requests" // to send, receive and delete wake-ups
	Invocations   = "invocations"    // of the step function
	LambdaTime    = "lambda_ms"      // that invocations lasted
	HTTPRequests  = "http_requests"  // of callers
)

// minus returns what c has more than earlier.
func (c Costs) minus(earlier Costs) Costs {
	out := Costs{}
	for name, n := range c {
		out[name] = n - earlier[name]
	}
	return out
}

// over returns the costs of one of n.
func (c Costs) over(n int) Costs {
	out := Costs{}
	for name, total := range c {
		out[name] = total / float64(n)
	}
	return out
}

// typical returns for each cost the mean of the middle half: what a step costs that has no
// housekeeping to do, such as copying the log, which one step in dozens does for the others.
func typical(steps []Costs) Costs {
	out := Costs{}
	for _, name := range names(steps) {
		var all []float64
		for _, c := range steps {
			all = append(all, c[name])
		}
		slices.Sort(all)
		quarter := len(all) / 4
		middle := all[quarter : len(all)-quarter]
		for _, n := range middle {
			out[name] += n / float64(len(middle))
		}
	}
	return out
}

func names(all []Costs) []string {
	seen := map[string]bool{}
	for _, c := range all {
		for name := range c {
			seen[name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Range is a figure of several rounds.
type Range struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// RangeOf returns the zero value for no figures.
func RangeOf(all []float64) Range {
	if len(all) == 0 {
		return Range{}
	}
	sorted := slices.Sorted(slices.Values(all))
	return Range{at(sorted, 50), sorted[0], sorted[len(sorted)-1]}
}

func ranges(rounds []Costs) map[string]Range {
	out := map[string]Range{}
	for _, name := range names(rounds) {
		var all []float64
		for _, c := range rounds {
			all = append(all, c[name])
		}
		out[name] = RangeOf(all)
	}
	return out
}

// at is a percentile of sorted values; the median of an even number is between the middle two.
func at(sorted []float64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	if half := len(sorted) / 2; percent == 50 && len(sorted)%2 == 0 {
		return (sorted[half-1] + sorted[half]) / 2
	}
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
