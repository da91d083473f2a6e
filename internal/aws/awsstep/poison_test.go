package awsstep

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// What is no wake-up goes to the dead letters after the queue's five tries, whatever it is, and the
// run beside it is worked on.
func TestWhatIsNoWakeUpBecomesADeadLetterAndHoldsUpNobody(t *testing.T) {
	for _, body := range []string{"not JSON", "{}", `{"tenant":"acme"}`, `{"tenant":"acme","thread":"thr_x","color":"red"}`, `[]`,
		`{"tenant":"acme","thread":"thr_x"}{"tenant":"acme","thread":"thr_y"}`} {
		t.Run(body, func(t *testing.T) {
			d := newDeployed(t)
			d.withRedrive()
			d.put("wake", body)
			if hands := d.exhaust(); hands != 5 {
				t.Errorf("it was handed over %d times", hands)
			}
			d.start()
			d.finish()
		})
	}
}

// poisoned are agents that cannot be loaded: whoever tries dies of it.
type poisoned struct {
	engine.Agents
	asked int
}

func (p *poisoned) Load(context.Context, engine.Pin) (engine.Agent, error) {
	p.asked++
	panic("the process is gone")
}

// A run that kills whoever works on it ends with an error that says so, after a bounded number of
// tries; sweeps and redeliveries do not make it go on for ever.
func TestARunThatKillsItsProcessEndsAndSaysSo(t *testing.T) {
	d := newDeployed(t)
	d.withRedrive()
	agents := &poisoned{Agents: d.parts.Agents}
	by := time.Duration(0)
	h := New(d.parts, func() float64 { return 0 })
	h.engine = func(log *slog.Logger) stepper {
		return engine.New(engine.Options{Store: d.parts.Store, Waker: d.parts.Wake, Agents: agents, Clock: later{by: by}, Random: d.parts.Random, Logger: log,
			Margin: 10 * time.Second, Skew: 5 * time.Second, Grain: time.Minute})
	}
	d.handler = lambda.NewHandler(h.Handle)
	d.start()
	minutes := 0
	for ; minutes < 120 && d.runs()[0].Status != "done"; minutes++ {
		by += time.Minute
		d.time = by + 2*time.Minute // of the clock that is later
		d.ahead += time.Minute
		d.sweep(by)
		for range 20 {
			if !d.hand("wake", wakeARN) {
				break
			}
		}
	}
	run := d.runs()[0]
	t.Logf("after %d minutes and %d hand-overs the agent was loaded %d times; dead letters: %d; the run is %s, %v, %+v", minutes, d.pumped, agents.asked,
		d.deadLetters(), run.Status, run.Reason, run.Error)
	if run.Status != "done" || run.Error == nil || agents.asked > 10 {
		t.Errorf("run %+v", run)
	}
}
