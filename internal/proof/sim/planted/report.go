package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// report tells what became of each fault, and of all.
type report interface {
	one(r result)
	sum(s sum)
}

// sum is what became of all faults.
type sum struct {
	planted, found int
	slowest        uint64 // schedules
	missed         []string
	unchanged      result
}

func (s *sum) add(r result) {
	if !r.found {
		s.missed = append(s.missed, r.name)
		return
	}
	s.found++
	s.slowest = max(s.slowest, r.schedules)
}

func (s sum) good() bool { return len(s.missed) == 0 && !s.unchanged.found }

func reporter(to io.Writer, asJSON bool) report {
	if asJSON {
		return lines{json.NewEncoder(to)}
	}
	return words{to}
}

// words are for people.
type words struct{ to io.Writer }

func (w words) one(r result) {
	if !r.found {
		fmt.Fprintf(w.to, "%-40s NOT FOUND in %s schedules, %s\n", r.name, thousands(r.schedules), rounded(r.took))
		return
	}
	fmt.Fprintf(w.to, "%-40s found after %7s, %6s  %s\n", r.name, thousands(r.schedules), rounded(r.took), firstWords(r.violation, 90))
}

func (w words) sum(s sum) {
	if r := s.unchanged; r.found {
		fmt.Fprintf(w.to, "%s is wrong after %s schedules: %s\n", r.name, thousands(r.schedules), r.violation)
	} else {
		fmt.Fprintf(w.to, "%s: nothing found in %s schedules, %s\n", r.name, thousands(r.schedules), rounded(r.took))
	}
	for _, name := range s.missed {
		fmt.Fprintf(w.to, "not found: %s\n", name)
	}
	fmt.Fprintf(w.to, "planted: %d faults, %d found, the slowest after %s schedules\n", s.planted, s.found, thousands(s.slowest))
}

// lines are for programs.
type lines struct{ to *json.Encoder }

type jsonResult struct {
	Fault     string  `json:"fault"`
	Found     bool    `json:"found"`
	Schedules uint64  `json:"schedules"`
	Seconds   float64 `json:"seconds"`
	Violation string  `json:"violation,omitempty"`
}

func (l lines) one(r result) {
	_ = l.to.Encode(jsonResult{r.name, r.found, r.schedules, r.took.Seconds(), r.violation})
}

func (l lines) sum(s sum) {
	l.one(s.unchanged)
	_ = l.to.Encode(struct {
		Planted int      `json:"planted"`
		Found   int      `json:"found"`
		Slowest uint64   `json:"slowest"`
		Missed  []string `json:"missed,omitempty"`
	}{s.planted, s.found, s.slowest, s.missed})
}

func rounded(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

func firstWords(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// thousands writes 8112 as 8,112.
func thousands(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
