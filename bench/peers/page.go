//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// pagePath is the page that -page writes, in the repository.
const pagePath = "docs/decisions/2026-11-29-beside-other-runtimes.md"

// begin and end are around the part of the page that is written.
const begin, end = "<!-- figures: bench/peers/run run -page -->\n", "<!-- end of figures -->\n"

// draw returns the report as Markdown.
func (b *bench) draw() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s, %d CPUs, medians of %d rounds (and ranges)", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), b.options.rounds)
	if b.note != "" {
		fmt.Fprintf(&s, ", %s", b.note)
	}
	s.WriteString("; ms per step:\n\n|steps|peer|wall|CPU|gap p50|decision|fsyncs|\n|--:|---|--:|--:|--:|--:|--:|\n")
	for _, steps := range b.steps {
		for _, name := range b.peers {
			s.WriteString(b.row(name, steps))
		}
	}
	return s.String()
}

func (b *bench) row(name string, steps int) string {
	p, found := find(name), b.figures[name][steps]
	row := fmt.Sprintf("|%d|%s %s|", steps, p.title, b.versions[name])
	if why := b.failed[key(name, steps)]; len(found) == 0 {
		if why == "" {
			why = "failed"
		}
		return row + why + "|||||\n"
	}
	for _, f := range []func(figures) float64{
		func(f figures) float64 { return f.wall }, func(f figures) float64 { return f.cpu },
		func(f figures) float64 { return f.gap }, func(f figures) float64 { return f.decision }} {
		var all []float64
		for _, one := range found {
			all = append(all, f(one))
		}
		row += fmt.Sprintf("%.1f (%.1f–%.1f)|", median(all), slices.Min(all), slices.Max(all))
	}
	if n, ok := b.flushes[name]; ok {
		return row + fmt.Sprintf("%.1f|\n", n)
	}
	return row + "-|\n"
}

// writePage replaces the figures of the page.
func writePage(path, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok1 := strings.Cut(string(page), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no place for the figures", path)
	}
	return os.WriteFile(path, []byte(before+begin+text+end+after), 0o644)
}
