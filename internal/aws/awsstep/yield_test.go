package awsstep

import (
	"context"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awstest"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

const politeDesk = `
name: polite
model: {provider: scripted, turns: [{say: Done.}]}
yield_when: newer_run_waits
`

// On the stack a run finds the newer one in the index of runs, and writes nothing for it.
func TestARunOnTheStackMakesWayForANewerOne(t *testing.T) {
	d := newDeployed(t)
	d.stand()
	def, err := agentfile.Parse("polite.yaml", []byte(politeDesk), nil)
	d.must(err)
	d.must(d.parts.Store.PutDefinition(t.Context(), engine.Definition{Tenant: "acme", Name: def.Name, Digest: def.Digest(), Body: def.Encode()}))
	d.must(d.parts.Store.Deploy(t.Context(), "acme", def.Name, def.Digest()))
	start := func() wire.Run {
		s, err := d.starter.Start(t.Context(), d.caller, "", wire.StartRequest{Agent: "polite", Input: core.Encode("hi")})
		d.must(err)
		return s.Run
	}
	first := start()
	d.clock.Advance(time.Second)
	second := start()
	d.clock.Advance(time.Second)
	d.step(first.ThreadID)
	head, err := d.parts.Store.Load(t.Context(), "acme", first.ThreadID)
	if err != nil || head.Yields != 1 || head.Status != core.RunRunning || head.Lease != 0 {
		t.Fatalf("the first run is %+v, %v\nthe log:\n%s", head, err, d.out.String())
	}
	d.step(second.ThreadID)
	if head, err = d.parts.Store.Load(t.Context(), "acme", second.ThreadID); err != nil || head.Status != core.RunDone || head.Yields != 0 {
		t.Fatalf("the second run is %+v, %v", head, err)
	}
	d.clock.Advance(10 * time.Second)
	d.step(first.ThreadID)
	if head, err = d.parts.Store.Load(t.Context(), "acme", first.ThreadID); err != nil || head.Status != core.RunDone || head.Yields != 1 {
		t.Errorf("the first run is %+v, %v", head, err)
	}
}

// step hands a wake-up of the thread to the function.
func (d *deployed) step(thread string) {
	d.Helper()
	ctx, cancel := context.WithDeadline(d.Context(), d.deadline())
	defer cancel()
	answer, err := d.handler.Invoke(ctx, awstest.Message(d.T, wakeARN, string(core.Encode(engine.Wakeup{Tenant: "acme", Thread: thread})), 1))
	if d.must(err); string(answer) != `{"batchItemFailures":[]}` {
		d.Errorf("the step of %s is to come again: %s", thread, answer)
	}
}
