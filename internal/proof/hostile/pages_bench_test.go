//go:build unix

package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// asksAgent waits for one approval.
const asksAgent = `
name: asks
model:
  provider: scripted
  turns:
    - given: {tool: pay}
      say: Done.
    - calls:
        - {tool: pay, arguments: {order: A-17}}
tools:
  - name: pay
    description: Pays.
    recorded: [{result: {paid: true}}]
permissions: {ask: [pay]}
`

const (
	openPages  = 200
	pageRounds = 11
	pageRuns   = 30 // in each half of a round
)

// BenchmarkRunBesidePages measures what runs take that ask and are answered, alone and while 200
// pages of the console are open, in turns. The ratio is the median of those of the rounds: what
// else the machine does changes from round to round.
func BenchmarkRunBesidePages(b *testing.B) {
	for b.Loop() { // once: it takes longer than the usual benchtime
		s := start(b, map[string]string{"asks": asksAgent})
		s.takes(b, 20)
		var alone, beside []time.Duration
		var ratios []float64
		for range pageRounds {
			without := s.takes(b, pageRuns)
			shut := s.openPages(b, openPages)
			with := s.takes(b, pageRuns)
			shut()
			slices.Sort(without)
			slices.Sort(with)
			alone, beside = append(alone, at(without, 50)), append(beside, at(with, 50))
			ratios = append(ratios, float64(at(with, 50))/float64(at(without, 50)))
		}
		slices.Sort(alone)
		slices.Sort(beside)
		slices.Sort(ratios)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(at(alone, 50).Microseconds())/1000, "alone-p50-ms")
		b.ReportMetric(float64(at(beside, 50).Microseconds())/1000, "beside-p50-ms")
		b.ReportMetric(ratios[len(ratios)/2], "p50-ratio")
	}
}

// takes is how long each of n runs takes, one after the other, with its answer.
func (s *server) takes(b *testing.B, n int) (took []time.Duration) {
	b.Helper()
	for i := range n {
		began := time.Now()
		run, err := s.api.StartRun(b.Context(), wire.StartRequest{Agent: "asks", Input: json.RawMessage(`"Pay."`)}, "")
		for err == nil && len(run.Pending) == 0 {
			run, err = s.api.PollRun(b.Context(), run.ID, 10*time.Second)
		}
		if err == nil {
			_, err = s.api.Decide(b.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume", DecisionID: fmt.Sprint(run.ID, i)})
		}
		for err == nil && run.Status != "done" {
			run, err = s.api.PollRun(b.Context(), run.ID, 10*time.Second)
		}
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	return took
}

// openPages listens as n open pages do, until shut is called.
func (s *server) openPages(b *testing.B, n int) (shut func()) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	pages := &http.Client{Transport: &http.Transport{}}
	var open sync.WaitGroup
	for range n {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/live?types=call.suspended,decision.recorded,run.status&from=tail", http.NoBody)
		if err != nil {
			b.Fatal(err)
		}
		q.Header.Set("Accept", "text/event-stream")
		got, err := pages.Do(q)
		if err != nil || got.StatusCode != http.StatusOK {
			b.Fatalf("%v, %+v", err, got)
		}
		open.Go(func() {
			_, _ = io.Copy(io.Discard, got.Body) // until it is shut
			got.Body.Close()
		})
	}
	return func() {
		stop()
		open.Wait()
		pages.CloseIdleConnections()
	}
}
