package measure

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/cli/bench/workload"
)

// Report is what was measured. Times are in milliseconds.
type Report struct {
	Store   string  `json:"store"`          // embedded or dynamodb
	Cold    bool    `json:"cold,omitempty"` // each step began in a new process
	Machine Machine `json:"machine"`
	Seed    uint64  `json:"seed"`
	Rounds  int     `json:"rounds"`
	Cases   []Case  `json:"cases"`

	// a row of 1 KB each, to the same disk or table
	RawCommit Range `json:"raw_commit_ms"`

	// of DynamoDB only
	Prices *Prices `json:"list_prices,omitempty"`
	Lambda *Lambda `json:"lambda,omitempty"`
}

// Case is a workload and what it cost. Each figure has the median of the rounds, and the least and
// the most.
type Case struct {
	Steps       int `json:"steps"`
	ResultBytes int `json:"result_bytes"`
	Approvals   int `json:"approvals"`
	Runs        int `json:"runs"`

	PerStep map[string]Range `json:"per_step"` // housekeeping included
	PerRun  map[string]Range `json:"per_run"`

	Price *Range `json:"list_price_usd,omitempty"` // of a run

	RunP50 Range `json:"run_p50_ms"`
	RunP99 Range `json:"run_p99_ms"`
	// from one question to the model until the next, where no person decided in between
	StepP50 Range `json:"step_p50_ms"`
	StepP99 Range `json:"step_p99_ms"`
	// from sending a decision to the next question to the model
	DecisionP50 *Range `json:"decision_p50_ms,omitempty"`
	DecisionP99 *Range `json:"decision_p99_ms,omitempty"`

	StepsPerSecond Range `json:"steps_per_second"`

	// the same as multiples of a raw commit in the same round
	StepInCommits     Range  `json:"step_p50_in_raw_commits"`
	DecisionInCommits *Range `json:"decision_p50_in_raw_commits,omitempty"`

	// of a single run: what a step costs without housekeeping
	Windows []Window `json:"windows,omitempty"`
}

// Window is what a step costs at about a number of steps.
type Window struct {
	Step int              `json:"step"`
	Cost map[string]Range `json:"cost"`

	// as multiples of the first window's, in the same round; bounds say that a long run costs
	// no more per step
	Growth map[string]Range `json:"growth,omitempty"`
}

// windows are the numbers of steps that are looked at.
var windows = []int{10, 100, 1000, 10_000}

func summarize(s workload.Shape, rounds []round) Case {
	approvals := s.Approvals
	if approvals == workload.All {
		approvals = s.Steps - 1
	}
	c := Case{Steps: s.Steps, ResultBytes: s.Result, Approvals: approvals, Runs: s.Runs}
	var perStep, perRun []Costs
	for _, r := range rounds {
		perStep = append(perStep, r.total.over(s.Total()))
		perRun = append(perRun, r.total.over(s.Runs))
	}
	c.PerStep, c.PerRun = ranges(perStep), ranges(perRun)
	over := func(f func(round) float64) Range { return overRounds(rounds, f) }
	c.RunP50 = over(func(r round) float64 { return at(r.runs, 50) })
	c.RunP99 = over(func(r round) float64 { return at(r.runs, 99) })
	c.StepP50 = over(func(r round) float64 { return at(r.intervals(), 50) })
	c.StepP99 = over(func(r round) float64 { return at(r.intervals(), 99) })
	c.StepInCommits = over(func(r round) float64 { return at(r.intervals(), 50) / r.raw })
	c.StepsPerSecond = over(func(r round) float64 { return float64(s.Total()) / r.total[Wall] * 1000 })
	if s.Approvals != 0 {
		p50 := over(func(r round) float64 { return at(r.waits, 50) })
		p99 := over(func(r round) float64 { return at(r.waits, 99) })
		commits := over(func(r round) float64 { return at(r.waits, 50) / r.raw })
		c.DecisionP50, c.DecisionP99, c.DecisionInCommits = &p50, &p99, &commits
	}
	if s.Runs == 1 {
		c.Windows = look(s, rounds)
	}
	return c
}

func overRounds(rounds []round, f func(round) float64) Range {
	var all []float64
	for _, r := range rounds {
		all = append(all, f(r))
	}
	return RangeOf(all)
}

// intervals returns how long steps took, those left out in which a person decided. If a person
// decided in each, it returns all.
func (r round) intervals() (took []float64) {
	for _, s := range r.ordinary() {
		took = append(took, s.spent[Wall])
	}
	slices.Sort(took)
	return took
}

func (r round) ordinary() []step {
	without := slices.DeleteFunc(slices.Clone(r.steps), func(s step) bool { return s.approved })
	if len(without) == 0 {
		return r.steps
	}
	return without
}

// look returns the windows that a single run reaches.
func look(s workload.Shape, rounds []round) (all []Window) {
	var first []Costs
	for _, at := range windows {
		if at > s.Steps {
			break
		}
		var costs, growth []Costs
		for i, r := range rounds {
			costs = append(costs, typical(r.around(at)))
			if first != nil {
				growth = append(growth, costs[i].by(first[i]))
			}
		}
		if first == nil {
			first = costs
		}
		w := Window{Step: at, Cost: ranges(costs)}
		if growth != nil {
			w.Growth = ranges(growth)
		}
		all = append(all, w)
	}
	return all
}

// around returns what the steps around a number cost.
func (r round) around(number int) (costs []Costs) {
	width := max(5, number/20)
	for _, s := range r.ordinary() {
		if number-width < s.number && s.number < number+width {
			costs = append(costs, s.spent)
		}
	}
	return costs
}

// by returns c as multiples of others.
func (c Costs) by(others Costs) Costs {
	out := Costs{}
	for name, n := range c {
		if others[name] > 0 {
			out[name] = n / others[name]
		}
	}
	return out
}
