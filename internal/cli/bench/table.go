package bench

import (
	"fmt"
	"math"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/cli/bench/measure"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// draw returns the report as tables.
func draw(r measure.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s, %s, %s; medians of %s\n", r.Machine.OS, r.Machine.Arch, display.Counted(r.Machine.CPUs, "CPU"), r.Machine.Go, display.Counted(r.Rounds, "round"))
	fmt.Fprintf(&b, "a raw commit of this disk takes %s ms (%s to %s)\n", number(r.RawCommit.Median), number(r.RawCommit.Least), number(r.RawCommit.Most))
	b.WriteString("\nPer step\n")
	b.WriteString(table(costs(r)))
	b.WriteString("\nTimes in ms, and as multiples of a raw commit\n")
	b.WriteString(table(times(r)))
	if rows := flatness(r); len(rows) > 1 {
		b.WriteString("\nA step without housekeeping at about step N, and how much more that is than at the first\n")
		b.WriteString(table(rows))
	}
	return b.String()
}

func table(rows [][]string) string { return display.DrawTable(rows, display.Screen{}, nil) }

// label returns the cells that say which case a row is about.
func label(c measure.Case) []string {
	return []string{display.Thousands(c.Steps), size(float64(c.ResultBytes)), display.Thousands(c.Approvals), display.Thousands(c.Runs)}
}

var labels = []string{"STEPS", "RESULT", "APPROVALS", "RUNS"}

func costs(r measure.Report) [][]string {
	rows := [][]string{append(labels[:4:4], "FSYNCS", "STATEMENTS", "WRITTEN", "CPU MS")}
	for _, c := range r.Cases {
		per := c.PerStep
		rows = append(rows, append(label(c), number(per[measure.Fsyncs].Median), number(per[measure.Statements].Median), size(per[measure.WrittenBytes].Median), number(per[measure.CPU].Median)))
	}
	return rows
}

func times(r measure.Report) [][]string {
	rows := [][]string{append(labels[:4:4], "STEP P50", "P99", "COMMITS", "DECISION P50", "P99", "COMMITS", "RUN", "STEPS/S")}
	for _, c := range r.Cases {
		decision := []string{"-", "-", "-"}
		if c.DecisionP50 != nil {
			decision = []string{number(c.DecisionP50.Median), number(c.DecisionP99.Median), number(c.DecisionInCommits.Median)}
		}
		row := append(label(c), number(c.StepP50.Median), number(c.StepP99.Median), number(c.StepInCommits.Median))
		rows = append(rows, append(append(row, decision...), number(c.PerRun[measure.Wall].Median), number(c.StepsPerSecond.Median)))
	}
	return rows
}

func flatness(r measure.Report) [][]string {
	rows := [][]string{append(labels[:4:4], "AT STEP", "FSYNCS", "STATEMENTS", "WRITTEN", "CPU MS", "MS")}
	for _, c := range r.Cases {
		if len(c.Windows) < 2 {
			continue
		}
		for _, w := range c.Windows {
			row := append(label(c), display.Thousands(w.Step))
			for _, name := range []string{measure.Fsyncs, measure.Statements, measure.WrittenBytes, measure.CPU, measure.Wall} {
				cell := number(w.Cost[name].Median)
				if name == measure.WrittenBytes {
					cell = size(w.Cost[name].Median)
				}
				if more, ok := w.Growth[name]; ok {
					cell += fmt.Sprintf(" (×%.2f)", more.Median)
				}
				row = append(row, cell)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// number writes three digits that say something.
func number(n float64) string {
	switch {
	case n >= 1000:
		return display.Thousands(int(math.Round(n)))
	case n >= 100:
		return fmt.Sprintf("%.0f", n)
	case n >= 10:
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.2f", n)
}

func size(bytes float64) string {
	switch {
	case bytes >= 1e6:
		return number(bytes/1e6) + " MB"
	case bytes >= 1e3:
		return number(bytes/1e3) + " KB"
	}
	return fmt.Sprintf("%.0f B", bytes)
}
