package sleepers

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/cli/bench/measure"
)

// Report is what was measured. Times are in milliseconds, and those of a round are medians.
type Report struct {
	Machine   measure.Machine `json:"machine"`
	Seed      uint64          `json:"seed"`
	Rounds    int             `json:"rounds"`
	Decisions int             `json:"decisions_per_round"`
	Cold      bool            `json:"cold"` // the file was not in the system's cache
	Cases     []Case          `json:"cases"`
}

// Case is a store and what was measured of it: medians of the rounds, the least and the most.
type Case struct {
	Waiting int `json:"waiting_runs"`

	// from sending it to the next question to the model
	Decision  measure.Range `json:"decision_ms"`
	FirstPage measure.Range `json:"inbox_page_1_ms"`
	DeepPage  measure.Range `json:"inbox_page_100_ms"`
	Sweep     measure.Range `json:"sweep_ms"` // with nothing due
	// from the start of the process to its first answer
	Start measure.Range `json:"start_ms"`

	// resident memory of the server at the end of a round, where the system reports it
	Memory *measure.Range `json:"memory_bytes,omitempty"`

	// bytes of the database per waiting run, and of each table and index
	Bytes float64            `json:"bytes_per_run"`
	Space map[string]float64 `json:"bytes_per_run_by_table"`

	// as multiples of the first case, in the same round
	Growth *Growth `json:"growth,omitempty"`
}

// Growth compares a case with the first one.
type Growth struct {
	Decision  measure.Range `json:"decision"`
	FirstPage measure.Range `json:"inbox_page_1"`
	DeepPage  measure.Range `json:"inbox_page_100"`
	Sweep     measure.Range `json:"sweep"`
}

func (b *bench) report(visits [][]visit) Report {
	r := Report{Machine: measure.ThisMachine(), Seed: b.Seed, Rounds: b.Rounds, Decisions: b.Decisions, Cold: b.Cold}
	for i, s := range b.stores {
		c := Case{Waiting: s.waiting, Bytes: s.bytes, Space: s.space,
			Decision: over(visits[i], decisions), FirstPage: over(visits[i], firstPage), DeepPage: over(visits[i], page), Sweep: over(visits[i], sweep),
			Start: over(visits[i], func(v visit) float64 { return v.start })}
		if memory := over(visits[i], func(v visit) float64 { return v.memory }); memory.Least > 0 {
			c.Memory = &memory
		}
		if i > 0 {
			c.Growth = &Growth{grown(visits, i, decisions), grown(visits, i, firstPage), grown(visits, i, page), grown(visits, i, sweep)}
		}
		r.Cases = append(r.Cases, c)
	}
	return r
}

func decisions(v visit) float64 { return median(v.decisions) }
func firstPage(v visit) float64 { return median(v.firstPage) }
func page(v visit) float64      { return median(v.page) }
func sweep(v visit) float64     { return median(v.sweeps) }

func median(all []float64) float64 { return measure.RangeOf(slices.Clone(all)).Median }

func over(rounds []visit, f func(visit) float64) measure.Range {
	var all []float64
	for _, v := range rounds {
		all = append(all, f(v))
	}
	return measure.RangeOf(all)
}

// grown compares the rounds of a case with those of the first.
func grown(visits [][]visit, i int, f func(visit) float64) measure.Range {
	var all []float64
	for round, v := range visits[i] {
		all = append(all, f(v)/f(visits[0][round]))
	}
	return measure.RangeOf(all)
}
