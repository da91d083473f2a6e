package spending_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/spending"
)

// The sums of today are those of all runs, whatever was read before.
func TestTodayFollowsTheRunsAndReadsFewOfThem(t *testing.T) {
	s := &runs{}
	today := &spending.Today{Runs: s}
	now := spending.Midnight(noon).Add(time.Second)
	for i := range 500 {
		now = now.Add(time.Minute)
		s.add(fmt.Sprintf("r%03d", i), "desk", now, core.RunRunning, costs(int64(i)))
		if i >= 5 { // runs become done after five minutes, and cost more by then
			for j := range s.all {
				if s.all[j].Run == fmt.Sprintf("r%03d", i-5) {
					s.all[j].Status, s.all[j].Cost = core.RunDone, s.all[j].Cost+1000
				}
			}
		}
		got, err := today.Read(t.Context(), "t", now)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := spending.Read(t.Context(), &runs{all: s.all}, "t", spending.Midnight(now))
		if got.All() != want.All() {
			t.Fatalf("after %d runs it sums %+v, want %+v", i+1, got.All(), want.All())
		}
	}
	if s.read > 500*110 { // a page each time, not the whole day
		t.Errorf("read %d records", s.read)
	}
	tomorrow, err := today.Read(t.Context(), "t", now.Add(24*time.Hour))
	if err != nil || tomorrow.All() != (spending.Sum{}) {
		t.Errorf("the next day begins with %+v, %v", tomorrow.All(), err)
	}
}

// Runs that wait cost their own reading, and not that of the runs since they started.
func TestTodayReadsTheRunsThatWaitAndNotThoseSince(t *testing.T) {
	const page = 100 // which also has runs that were read before
	for name, c := range map[string]struct {
		waits func(i int) bool
		most  int // records in one reading
	}{
		"none waits":         {func(int) bool { return false }, page},
		"the first waits":    {func(i int) bool { return i == 0 }, page + 1},
		"two wait":           {func(i int) bool { return i == 0 || i == 400 }, page + 2},
		"three beside waits": {func(i int) bool { return i >= 10 && i < 13 }, page + 3},
		"every third waits":  {func(i int) bool { return i%3 == 0 }, page + 900},
	} {
		t.Run(name, func(t *testing.T) {
			s := &runs{}
			now := spending.Midnight(noon)
			for i := range 900 {
				now = now.Add(time.Minute / 2)
				status := core.RunDone
				if c.waits(i) {
					status = core.RunWaiting
				}
				s.add(fmt.Sprintf("r%03d", i), "desk", now, status, costs(int64(i)))
			}
			today := &spending.Today{Runs: s}
			for i := range 20 {
				s.read = 0
				got, err := today.Read(t.Context(), "t", now)
				if err != nil {
					t.Fatal(err)
				}
				want, _ := spending.Read(t.Context(), &runs{all: s.all}, "t", spending.Midnight(now))
				if got.All() != want.All() {
					t.Fatalf("reading %d sums %+v, want %+v", i, got.All(), want.All())
				}
				if i > 0 && s.read > c.most {
					t.Fatalf("reading %d read %d records", i, s.read)
				}
				now = now.Add(2 * time.Second)
				for j := range s.all {
					if s.all[j].Status == core.RunWaiting {
						s.all[j].Cost++
					}
				}
			}
		})
	}
}

func TestARunThatWaitedIsReadUntilItIsDone(t *testing.T) {
	s := &runs{}
	now := spending.Midnight(noon).Add(time.Hour)
	s.add("r1", "desk", now, core.RunWaiting, costs(10))
	s.add("r2", "desk", now, core.RunDone, costs(100))
	today := &spending.Today{Runs: s}
	read := func(want core.USD, records int) {
		t.Helper()
		now = now.Add(time.Hour)
		s.read = 0
		day, err := today.Read(t.Context(), "t", now)
		if err != nil || day.All().Cost != want || s.read != records {
			t.Errorf("it sums %+v, %v, after %d records; want %d after %d", day.All(), err, s.read, want, records)
		}
	}
	change := func(status core.RunStatus, cost int64) {
		for i := range s.all {
			if s.all[i].Run == "r1" {
				s.all[i].Status, s.all[i].Cost = status, cost
			}
		}
	}
	read(110, 2)
	change(core.RunWaiting, 20)
	read(120, 2+2) // also those of the same time, and the page of the newest
	change(core.RunDone, 30)
	read(130, 2+2)
	read(130, 2)
}

// stuck is a list of runs that answers when it may.
type stuck struct {
	runs
	asked, answer chan struct{}
}

func (s *stuck) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	s.asked <- struct{}{}
	<-s.answer
	return s.runs.Runs(ctx, tenant, thread, cursor, limit)
}

func TestACallerWaitsForAnotherOnlyUntilItsContextEnds(t *testing.T) {
	s := &stuck{asked: make(chan struct{}, 1), answer: make(chan struct{})}
	today := &spending.Today{Runs: s}
	first := make(chan error)
	go func() {
		_, err := today.Read(t.Context(), "t", noon)
		first <- err
	}()
	<-s.asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := today.Read(gone, "t", noon); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(s.answer)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if _, err := today.Read(t.Context(), "t", noon); err != nil {
		t.Error(err)
	}
}
