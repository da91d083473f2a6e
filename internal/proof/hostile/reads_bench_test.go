//go:build unix

package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// Workers of the measured server, and what they are given.
const (
	benchWorkers = 16
	benchRuns    = 3000
	benchSteps   = 40 // of each run: enough that the backlog outlasts the measurement
)

// busyAgent calls a tool in each of its steps. It never waits, so that workers find something to do
// all the time.
const busyAgent = `
name: busy
model:
  provider: scripted
  turns:
    - given: {step: %d}
      say: Done.
    - calls:
        - {tool: look, arguments: {order: A-17}}
tools:
  - name: look
    description: Looks an order up.
    recorded: [{result: {state: shipped}}]
permissions: {allow: [look]}
`

// readTime is how long each of the two measurements takes.
const readTime = 8 * time.Second

// BenchmarkReadRun measures GET /v1/runs/{id} of a server that has nothing to do, and then of the
// same server while 16 workers have a backlog. Each reader asks, waits for the answer and asks
// again. It fails if the backlog ends too early: what it would measure then is a server half idle.
func BenchmarkReadRun(b *testing.B) {
	for _, readers := range []int{1, 8} {
		b.Run(fmt.Sprint("readers=", readers), func(b *testing.B) {
			for b.Loop() { // once: it takes longer than the usual benchtime
				benchReads(b, readers)
			}
		})
	}
}

func benchReads(b *testing.B, readers int) {
	agents := map[string]string{"busy": fmt.Sprintf(busyAgent, benchSteps), "quick": strings.Replace(fmt.Sprintf(busyAgent, 2), "busy", "quick", 1)}
	s := start(b, agents, "--workers", fmt.Sprint(benchWorkers))
	done := s.begin(b, "quick", 200)
	s.await(b, done)
	idle := s.measure(b, readers, done)
	backlog := s.begin(b, "busy", benchRuns)
	var sample []string
	for i := 0; i < benchRuns; i += 10 { // old ones and new ones: they take turns
		sample = append(sample, backlog[i])
	}
	stepsBefore, _ := s.progress(b, sample)
	busy := s.measure(b, readers, append(done, backlog...))
	stepsAfter, open := s.progress(b, sample)
	if open < len(sample)/2 {
		b.Fatalf("of %d runs only %d were open in the end: give the workers more", len(sample), open)
	}
	b.ReportMetric(0, "ns/op")
	report(b, "idle", idle)
	report(b, "busy", busy)
	b.ReportMetric(float64((stepsAfter-stepsBefore)*benchRuns/len(sample))/readTime.Seconds(), "busy-steps/s")
	b.ReportMetric(float64(at(busy, 50))/float64(at(idle, 50)), "p50-ratio")
	b.ReportMetric(float64(at(busy, 99))/float64(at(idle, 99)), "p99-ratio")
}

func report(b *testing.B, when string, reads []time.Duration) {
	b.ReportMetric(float64(at(reads, 50).Microseconds())/1000, when+"-p50-ms")
	b.ReportMetric(float64(at(reads, 99).Microseconds())/1000, when+"-p99-ms")
	b.ReportMetric(float64(len(reads))/readTime.Seconds(), when+"-reads/s")
}

func at(sorted []time.Duration, percent int) time.Duration { return sorted[len(sorted)*percent/100] }

// begin starts n runs, 16 at a time, and returns their ids.
func (s *server) begin(b *testing.B, agent string, n int) []string {
	b.Helper()
	ids := make([]string, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				run, err := s.api.StartRun(b.Context(), wire.StartRequest{Agent: agent, Input: json.RawMessage(`"Look."`)}, "")
				if err != nil {
					b.Error(err)
					return
				}
				ids[i] = run.ID
			}
		})
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return ids
}

// await waits until the runs are done.
func (s *server) await(b *testing.B, ids []string) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.Context(), time.Minute)
	defer stop()
	for _, id := range ids {
		for done := false; !done; {
			run, err := s.api.PollRun(ctx, id, 10*time.Second)
			if err != nil {
				b.Fatal(err)
			}
			done = run.Status == "done"
		}
	}
}

// progress is how many steps the runs have made, and how many of them are not done.
func (s *server) progress(b *testing.B, ids []string) (steps, open int) {
	b.Helper()
	for _, id := range ids {
		run, err := s.api.Run(b.Context(), id)
		if err != nil {
			b.Fatal(err)
		}
		steps += run.Steps
		if run.Status != "done" {
			open++
		}
	}
	return steps, open
}

// measure reads the runs at random, for readTime, and returns how long each read took, sorted.
func (s *server) measure(b *testing.B, readers int, ids []string) []time.Duration {
	b.Helper()
	took := make([][]time.Duration, readers)
	end := time.Now().Add(readTime)
	var wg sync.WaitGroup
	for n := range readers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			api := client.New("http://"+s.addr, client.WithHTTPClient(&http.Client{Transport: &http.Transport{}}), client.WithRetries(0))
			for time.Now().Before(end) {
				id := ids[random.IntN(len(ids))]
				before := time.Now()
				if _, err := api.Run(b.Context(), id); err != nil {
					b.Error(err)
					return
				}
				took[n] = append(took[n], time.Since(before))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	return all
}
