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
	to := "to this disk"
	if r.Lambda != nil {
		to = "to this table"
	}
	fmt.Fprintf(&b, "A raw commit %s takes %s ms (%s to %s).\n", to, number(r.RawCommit.Median), number(r.RawCommit.Least), number(r.RawCommit.Most))
	b.WriteString("\nPer step\n")
	b.WriteString(table(costs(r)))
	if r.Lambda != nil {
		fmt.Fprintf(&b, "\nThe list price is that of 1,000 runs with %d MB and a model that answers in %s.\n", r.Lambda.MemoryMB, r.Lambda.Model)
	}
	b.WriteString("\nTimes in ms, and as multiples of a raw commit\n")
	b.WriteString(table(times(r)))
	if rows := flatness(r); len(rows) > 1 {
		b.WriteString("\nWhat a step costs at about step N without housekeeping, and as a multiple of the first\n")
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

// figure is a column: a cost by its name, and how it is written.
type figure struct{ title, name string }

var (
	embedded = []figure{{"FSYNCS", measure.Fsyncs}, {"STATEMENTS", measure.Statements}, {"WRITTEN", measure.WrittenBytes}, {"CPU MS", measure.CPU}}
	dynamodb = []figure{{"WRITE UNITS", measure.WriteUnits}, {"READ UNITS", measure.ReadUnits}, {"REQUESTS", measure.StoreRequests}, {"SENT", measure.SentBytes},
		{"SQS", measure.QueueRequests}, {"CPU MS", measure.CPU}}
)

func figures(r measure.Report) []figure {
	if r.Lambda != nil {
		return dynamodb
	}
	return embedded
}

func (f figure) of(costs map[string]measure.Range) string {
	n := costs[f.name].Median
	if strings.HasSuffix(f.name, "_bytes") {
		return size(n)
	}
	return number(n)
}

func costs(r measure.Report) [][]string {
	head := labels[:4:4]
	for _, f := range figures(r) {
		head = append(head, f.title)
	}
	if r.Prices != nil {
		head = append(head, "LIST PRICE")
	}
	rows := [][]string{head}
	for _, c := range r.Cases {
		row := label(c)
		for _, f := range figures(r) {
			row = append(row, f.of(c.PerStep))
		}
		if c.Price != nil {
			row = append(row, "$"+number(c.Price.Median*1000))
		}
		rows = append(rows, row)
	}
	return rows
}

func times(r measure.Report) [][]string {
	rows := [][]string{append(labels[:4:4], "STEP P50", "P99", "COMMITS", "DECISION P50", "P99", "COMMITS", "RUN P50", "P99", "STEPS/S")}
	for _, c := range r.Cases {
		row := append(label(c), number(c.StepP50.Median), number(c.StepP99.Median), number(c.StepInCommits.Median))
		decision := []string{"-", "-", "-"}
		if c.DecisionP50 != nil {
			decision = []string{number(c.DecisionP50.Median), number(c.DecisionP99.Median), number(c.DecisionInCommits.Median)}
		}
		row = append(row, decision...)
		rows = append(rows, append(row, number(c.RunP50.Median), number(c.RunP99.Median), number(c.StepsPerSecond.Median)))
	}
	return rows
}

func flatness(r measure.Report) [][]string {
	columns := append(figures(r), figure{"MS", measure.Wall})
	head := append(labels[:4:4], "AT STEP")
	for _, f := range columns {
		head = append(head, f.title)
	}
	rows := [][]string{head}
	for _, c := range r.Cases {
		if len(c.Windows) < 2 {
			continue
		}
		for _, w := range c.Windows {
			row := append(label(c), display.Thousands(w.Step))
			for _, f := range columns {
				cell := f.of(w.Cost)
				if more, ok := w.Growth[f.name]; ok {
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
