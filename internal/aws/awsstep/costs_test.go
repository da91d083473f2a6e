package awsstep

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
)

// longDesk is an agent that makes nine calls, one a step, before it says that it is done. Of them,
// those numbered in asked need a person.
func longDesk(calls int, asked ...int) string {
	var turns, ask strings.Builder
	for n := range calls {
		tool := "look"
		for _, a := range asked {
			if a == n {
				tool = "pay"
			}
		}
		given := "{no_result: true}"
		if n > 0 {
			given = fmt.Sprintf("{result: 'order %d '}", n-1)
		}
		fmt.Fprintf(&turns, "    - given: %s\n      calls:\n        - {tool: %s, arguments: {order: %d}}\n", given, tool, n)
		fmt.Fprintf(&ask, "      - {when: {order: %d}, result: 'order %d is as it should be, and a note of some length stands beside it'}\n", n, n)
	}
	return fmt.Sprintf(`
name: long-desk
model:
  provider: scripted
  turns:
%s    - given: {result: 'order %d '}
      say: All orders are settled.
tools:
  - name: look
    description: Looks at an order.
    parameters: {type: object, properties: {order: {type: integer}}}
    recorded:
%s  - name: pay
    description: Pays an order back.
    parameters: {type: object, properties: {order: {type: integer}}}
    recorded:
%spermissions:
  allow: [look]
  ask: [pay]
`, turns.String(), calls-1, ask.String(), ask.String())
}

// costs are what a run made the services do.
type costs struct {
	invocations, sends, approvals int
	write, index, read            float64
}

// run plays one run of an agent to its end, everything approved, and counts.
func (d *deployed) run(text string) (c costs) {
	d.Helper()
	d.stand()
	def, err := agentfile.Parse("long-desk.yaml", []byte(text), nil)
	d.must(err)
	d.must(d.parts.Store.PutDefinition(d.Context(), engine.Definition{Tenant: "acme", Name: def.Name, Digest: def.Digest(), Body: def.Encode()}))
	d.must(d.parts.Store.Deploy(d.Context(), "acme", def.Name, def.Digest()))
	d.double.ResetCounts()
	started, err := d.starter.Start(d.Context(), d.caller, "", wire.StartRequest{Agent: "long-desk", Input: core.Encode("settle them")})
	d.must(err)
	before := d.pumped
	for range 50 {
		d.pump()
		units := d.double.Units()
		run, err := d.starter.Run(d.Context(), d.caller, started.Run.ID)
		d.must(err)
		c.read -= d.double.Units().Read - units.Read // whoever looks is not part of it
		if run.Status == "done" {
			units = d.double.Units()
			c.invocations, c.sends = d.pumped-before, d.double.Requests()["SendMessage"]
			c.write, c.index, c.read = units.Write, units.IndexWrite, c.read+units.Read
			return c
		}
		c.approvals++
		d.decide(run, wire.Decision{DecisionID: "d", Action: "resume"})
	}
	d.Fatalf("the run does not end\nthe log:\n%s", d.out.String())
	return c
}

var updateUnits = flag.Bool("update-units", false, "write what a run consumes for the table of costs")

// unitsFile has what package costs computes with.
const unitsFile = "../template/costs/units.json"

// TestWhatARunConsumes counts a run of ten steps, and what one approval in it adds, and checks that
// the table of costs is computed with the same.
//
// The feed of a tenant costs one write unit of the index "list" per commit that suspends a call,
// records a decision or ends a run. A follower reads half a unit per second while nothing happens,
// and a head and a segment per new commit. Counting the waiting calls reads up to 500 waiting runs
// when a stream begins and when something changed. A page of the history reads up to 500 commits;
// each matching decision may add one read of the archive and one of a segment.
func TestWhatARunConsumes(t *testing.T) {
	plain, asked := newDeployed(t).run(longDesk(9)), newDeployed(t).run(longDesk(9, 3, 6))
	if plain.approvals != 0 || asked.approvals != 2 {
		t.Fatalf("%+v, %+v", plain, asked)
	}
	one, two := plain.units(), asked.units()
	added := map[string]float64{}
	for name := range one {
		added[name] = (two[name] - one[name]) / 2
	}
	want := string(core.Encode(map[string]any{"run": one, "approval": added})) + "\n"
	if *updateUnits {
		if err := os.WriteFile(unitsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(unitsFile); err != nil || string(have) != want {
		t.Errorf("%s says\n%swhere a run consumes\n%srun this test with -update-units, then go test ./internal/aws/template/costs -update; %v", unitsFile, have, want, err)
	}
}

// units are named as in package costs. Each message is sent, received and deleted, and each
// approval and the start is a request.
func (c costs) units() map[string]float64 {
	return map[string]float64{"writes": c.write, "index": c.index, "reads": c.read, "sqs": float64(c.sends + 2*c.invocations), "steps": float64(c.invocations),
		"http": float64(1 + c.approvals)}
}

// What a step writes depends on what the step adds, and not on how long the run already is.
func TestALongRunWritesNoMoreAStep(t *testing.T) {
	perStep := func(steps int) float64 {
		c := newDeployed(t).run(longDesk(steps - 1))
		return (c.write + c.index) / float64(steps)
	}
	short, long := perStep(10), perStep(40)
	t.Logf("units written a step: %.2f of 10 steps, %.2f of 40", short, long)
	if long > short {
		t.Errorf("a step of a run of 40 writes %.2f units, one of a run of 10 writes %.2f", long, short)
	}
}

// A run that waits costs one wake-up for each time its people are reminded, and nothing else.
func TestAReminderCostsOneWakeUp(t *testing.T) {
	d := newDeployed(t)
	d.stand()
	d.deployText("patient", strings.Replace(longDesk(1, 0), "name: long-desk", "name: patient\ngroups: {office: [token:anna]}\napprovals: {default: {group: office, remind: {after: 1h, every: 2h, most: 3}}}", 1))
	_, err := d.starter.Start(d.Context(), d.caller, "", wire.StartRequest{Agent: "patient", Input: core.Encode("settle them")})
	d.must(err)
	d.pump()
	d.double.ResetCounts()
	pumped, woken := d.pumped, []int{}
	for hour := range 24 {
		for range 12 {
			d.clock.Advance(5 * time.Minute)
			d.must(sweeper.Sweep(d.Context(), d.parts.Store, d.parts.Wake, d.clock, time.Minute))
			d.pump()
		}
		if d.pumped > pumped {
			woken, pumped = append(woken, hour+1), d.pumped
		}
	}
	units := d.double.Units()
	t.Logf("units written for a reminder: %.1f, and %.1f to the index", units.Write/3, units.IndexWrite/3)
	if sent := d.double.Requests()["SendMessageBatch"]; fmt.Sprint(woken) != "[1 3 5]" || sent != 3 {
		t.Errorf("woken in the hours %v by %d messages, want [1 3 5] by 3", woken, sent)
	}
	if units.Write > 3*8 || units.IndexWrite > 3*6 {
		t.Errorf("three reminders wrote %.1f units, and %.1f to the index", units.Write, units.IndexWrite)
	}
}
