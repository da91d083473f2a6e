package pace_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
)

var start = time.Unix(1_800_000_000, 0)

func TestABucketGivesItsBurstAndThenItsRate(t *testing.T) {
	r := pace.PerSecond(0.5, 0)
	if r.Burst != 5 || r.Every != 2*time.Second {
		t.Fatalf("%+v", r)
	}
	var full time.Time
	for n := range 5 {
		var ok bool
		if full, ok = r.Take(full, start, 1); !ok || r.Free(full, start) != 4-n {
			t.Fatalf("token %d: %v, %d left", n, ok, r.Free(full, start))
		}
	}
	if after, ok := r.Take(full, start, 1); ok || !after.Equal(full) || r.Wait(full, start, 1) != 2*time.Second || r.Wait(full, start, 3) != 6*time.Second {
		t.Errorf("%v, wait %v and %v", ok, r.Wait(full, start, 1), r.Wait(full, start, 3))
	}
	if _, ok := r.Take(full, start.Add(2*time.Second-1), 1); ok {
		t.Error("a token came early")
	}
	if _, ok := r.Take(full, start.Add(2*time.Second), 1); !ok {
		t.Error("a token did not come")
	}
	if _, ok := r.Take(full, start.Add(time.Hour), 6); ok {
		t.Error("a bucket gives more than it holds")
	}
}

func TestWhatIsNoRateIsNoLimit(t *testing.T) {
	for _, n := range []float64{0, -1, math.NaN()} {
		if r := pace.PerSecond(n, 20); r.Limits() {
			t.Errorf("%v: %+v", n, r)
		}
	}
	for _, n := range []float64{1e-300, math.Inf(1), 1e300} {
		if r := pace.PerSecond(n, 0); !r.Limits() || r.Every <= 0 || r.Of(r.Burst) <= 0 || r.Of(r.Burst) > time.Hour {
			t.Errorf("%v: %+v", n, r)
		}
	}
}

// world is some processes that take from one bucket, whose clock is the table's.
type world struct {
	rate  pace.Rate
	full  time.Time
	now   time.Time
	ahead []pace.Ahead

	writes   int
	admitted []time.Time
}

// request is one for n tokens at a process; it asks the bucket as an implementation of it does.
func (w *world) request(process, n int) bool {
	a := &w.ahead[process]
	if a.Use(n, w.now) {
		return w.admit(n)
	}
	if wait, _ := a.Resting(w.now); wait > 0 {
		return false
	}
	for want := a.Want(w.rate, n, w.now); ; want = n {
		w.writes++
		after, ok := w.rate.Take(w.full, w.now, want)
		if ok {
			w.full = after
			a.Took(want, n, after, w.now)
			return w.admit(n)
		}
		if w.rate.Free(w.full, w.now) < n {
			a.Refused(w.rate, n, w.full, w.now)
			return false
		}
	}
}

func (w *world) admit(n int) bool {
	for range n {
		w.admitted = append(w.admitted, w.now)
	}
	return true
}

// TestProcessesTogetherKeepTheRate: in any time t no more is admitted than comes in t and a window,
// and one burst; from the beginning on, no more than one burst and what comes.
func TestProcessesTogetherKeepTheRate(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for round := range 200 {
		t.Run(fmt.Sprintf("seed %d", seed+uint64(round)), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed+uint64(round), 1))
			w := &world{rate: pace.PerSecond(math.Exp(random.Float64()*8-2), 0), now: start, ahead: make([]pace.Ahead, 1+random.IntN(30))}
			mean := math.Exp(random.Float64()*8 - 4) // ms between two requests
			for range 3000 {
				w.now = w.now.Add(time.Duration(random.ExpFloat64() * mean * float64(time.Millisecond)))
				if random.IntN(500) == 0 {
					w.now = w.now.Add(time.Duration(random.IntN(20)) * time.Second)
				}
				w.request(random.IntN(len(w.ahead)), min(w.rate.Burst, 1+random.IntN(3)))
			}
			most := func(d time.Duration) float64 { return float64(w.rate.Burst) + float64(d)/float64(w.rate.Every) }
			for i, from := range w.admitted {
				if n := float64(i + 1); n > most(from.Sub(start)) {
					t.Fatalf("%v of %v in the first %v", n, most(from.Sub(start)), from.Sub(start))
				}
				for _, j := range []int{i + w.rate.Burst, i + 2*w.rate.Burst, len(w.admitted) - 1} {
					if j <= i || j >= len(w.admitted) {
						continue
					}
					if n, d := float64(j-i+1), w.admitted[j].Sub(from); n > most(d+pace.Window) {
						t.Fatalf("%v of %v within %v", n, most(d+pace.Window), d)
					}
				}
			}
		})
	}
}

// TestNoOneStarves: processes that all ask for more than there is get the whole rate, and one that
// asks for less than the rate is admitted in time, also if its requests meet any process.
func TestNoOneStarves(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for round := range 50 {
		t.Run(fmt.Sprintf("seed %d", seed+uint64(round)), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed+uint64(round), 1))
			perSecond := 1 + random.Float64()*50
			w := &world{rate: pace.PerSecond(perSecond, 0), now: start, ahead: make([]pace.Ahead, 1+random.IntN(20))}
			for w.now.Before(start.Add(2 * time.Minute)) {
				w.now = w.now.Add(time.Duration(random.ExpFloat64() * float64(time.Second) / perSecond / 4))
				w.request(random.IntN(len(w.ahead)), 1)
			}
			if want := 0.95 * perSecond * 120; float64(len(w.admitted)) < want {
				t.Errorf("four times the rate was asked for, and %d of %.0f admitted", len(w.admitted), want)
			}
			w = &world{rate: w.rate, now: start, ahead: w.ahead[:1]}
			w.ahead[0] = pace.Ahead{}
			for n := range 500 {
				if !w.request(0, 1) {
					t.Fatalf("request %d of a slow process is refused", n)
				}
				w.now = w.now.Add(w.rate.Every)
			}
		})
	}
}

// TestMostRequestsCostNoWrite counts the writes of processes that stay far from their limit, of one
// at it, and of a flood.
func TestMostRequestsCostNoWrite(t *testing.T) {
	for _, tt := range []struct {
		name               string
		processes, n       int
		perSecond, request float64 // the rate, and how many requests come per second
		most               float64 // writes per request
	}{
		{"one process, a tenth of the rate", 1, 5000, 100, 10, 0.1},
		{"one process, half of the rate", 1, 5000, 100, 50, 0.05},
		{"twenty processes, half of the rate", 20, 20_000, 100, 50, 0.3},
		{"twenty processes, ten times the rate", 20, 20_000, 100, 1000, 0.1},
		{"a flood of a thousand processes", 1000, 200_000, 10, 10_000, 0.15},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &world{rate: pace.PerSecond(tt.perSecond, 0), now: start, ahead: make([]pace.Ahead, tt.processes)}
			random := rand.New(rand.NewPCG(1, 1))
			for range tt.n {
				w.now = w.now.Add(time.Duration(random.ExpFloat64() * float64(time.Second) / tt.request))
				w.request(random.IntN(tt.processes), 1)
			}
			each := float64(w.writes) / float64(tt.n)
			t.Logf("%.3f writes per request, %d of %d admitted", each, len(w.admitted), tt.n)
			if each > tt.most {
				t.Errorf("%.3f writes per request, want %.3f at most", each, tt.most)
			}
		})
	}
}
