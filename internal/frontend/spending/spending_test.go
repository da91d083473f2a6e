package spending_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/spending"
)

// runs is a list of runs in memory, which counts the records that were read.
type runs struct {
	all  []core.Record
	read int
}

func (s *runs) RunsBehind(born int64, run string) string { return fmt.Sprintf("%d|%s", born, run) }

func (s *runs) Runs(_ context.Context, _, _, cursor string, limit int) (page []core.Record, next string, err error) {
	slices.SortFunc(s.all, func(a, b core.Record) int {
		return cmp.Or(cmp.Compare(b.Born, a.Born), cmp.Compare(b.Run, a.Run))
	})
	at, run, _ := strings.Cut(cursor, "|")
	born, _ := strconv.ParseInt(at, 10, 64)
	for _, r := range s.all {
		if r.Born > born || r.Born == born && r.Run >= run {
			continue
		}
		if len(page) == limit {
			last := page[limit-1]
			return page, s.RunsBehind(last.Born, last.Run), nil
		}
		page, s.read = append(page, r), s.read+1
	}
	return page, "", nil
}

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func (s *runs) add(run, agent string, at time.Time, status core.RunStatus, c core.Counters) {
	s.all = append(s.all, core.Record{Run: run, Agent: agent, Born: at.UnixMilli(), Status: status, Counters: c})
}

func costs(usd int64) core.Counters { return core.Counters{Step: 1, Cost: usd, Priced: true} }

func TestADayHasTheRunsThatStartedOnIt(t *testing.T) {
	s := &runs{}
	midnight := spending.Midnight(noon)
	s.add("r0", "desk", midnight.Add(-time.Millisecond), core.RunDone, costs(1))
	s.add("r1", "desk", midnight, core.RunDone, costs(10))
	s.add("r2", "desk", noon, core.RunWaiting, costs(100))
	s.add("r3", "shop", noon, core.RunRunning, core.Counters{Step: 1, InputTokens: 7})
	s.add("r4", "shop", noon, core.RunCreated, core.Counters{})
	s.add("r5", "desk", midnight.Add(24*time.Hour-time.Millisecond), core.RunDone, costs(1000))
	s.add("r6", "desk", midnight.Add(24*time.Hour), core.RunDone, costs(1))
	day, err := spending.Read(t.Context(), s, "t", midnight)
	if err != nil {
		t.Fatal(err)
	}
	if want := (spending.Sum{Runs: 3, Cost: 1110}); day["desk"] != want {
		t.Errorf("desk used %+v, want %+v", day["desk"], want)
	}
	if want := (spending.Sum{Runs: 2, Unpriced: 1, Input: 7}); day["shop"] != want {
		t.Errorf("shop used %+v, want %+v", day["shop"], want)
	}
	if want := (spending.Sum{Runs: 5, Unpriced: 1, Input: 7, Cost: 1110}); day.All() != want {
		t.Errorf("all used %+v, want %+v", day.All(), want)
	}
}
