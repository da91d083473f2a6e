package awsstep

import (
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

// TestWhatAThousandRunsCost counts a run of ten steps with two approvals, and checks that
// docs/guides/deploy-on-aws.md says the same.
//
// The page's "seven cents" uses the list prices of us-east-1 in November 2026: $0.625 per million
// write units, $0.125 per million read units, $0.40 per million SQS requests, $0.20 per million
// Lambda calls and $1.00 per million HTTP requests. Per month an idle stack makes 43,200 calls of
// the sweep with eight small reads each and two million polls of the three queues, and has three
// dozen alarms, one dashboard and two dozen custom metrics. A stream occupies a 256 MB function
// while it is open, and up to two minutes after its reader has left.
//
// The feed of a tenant costs one write unit of the index "list" per commit that suspends a call,
// records a decision or ends a run. A follower reads half a unit per second while nothing happens,
// and a head and a segment per new commit. Counting the waiting calls reads up to 500 waiting runs
// when a stream begins and when something changed. A page of the history reads up to 500 commits;
// each matching decision may add one read of the archive and one of a segment.
func TestWhatAThousandRunsCost(t *testing.T) {
	c := newDeployed(t).run(longDesk(9, 3, 6))
	if c.approvals != 2 {
		t.Fatalf("%+v", c)
	}
	page, err := os.ReadFile("../../../docs/guides/deploy-on-aws.md")
	if err != nil {
		t.Fatal(err)
	}
	thousands := func(n float64) string {
		text := fmt.Sprintf("%.0f", n*1000)
		for i := len(text) - 3; i > 0; i -= 3 {
			text = text[:i] + "," + text[i:]
		}
		return text
	}
	for _, row := range []struct {
		what string
		n    float64
		unit string
	}{
		{"DynamoDB writes to the table", c.write, "write request units"},
		{"DynamoDB writes to the indexes", c.index, "write request units"},
		{"DynamoDB reads", c.read, "read request units"},
		{"SQS requests", float64(c.sends + 2*c.invocations), "requests: each message is sent, received and deleted"},
		{"`StepFunction`", float64(c.invocations), "Lambda invocations"},
		{"HTTP API", float64(1 + c.approvals), "requests, each with a Lambda invocation: per run, a start and two decisions"},
	} {
		if line := fmt.Sprintf("|%s|%s|%s|", row.what, thousands(row.n), row.unit); !strings.Contains(string(page), line) {
			t.Errorf("docs/guides/deploy-on-aws.md does not say:\n%s", line)
		}
	}
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
