package pretraffic

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// tenant has the runs of tests.
const tenant = stack.PreTrafficTenant

// scripted asks no model and no network. It uses a tool, waits for an answer, and ends. Both calls
// are of one turn: between turns, the version would send a wake-up.
var scripted = agent.Definition{
	Name:        "pretraffic",
	Description: "Tests a new version of the step function.",
	Model: agent.Model{Provider: agent.ProviderScripted, Turns: []agent.Turn{
		{Given: agent.Given{Step: 1}, Calls: []agent.ScriptCall{{Tool: "look", Arguments: core.Encode(struct{}{}), ID: "look"},
			{Tool: "confirm", Arguments: core.Encode(struct{}{}), ID: "confirm"}}},
		{Say: "ready"},
	}},
	Tools: []agent.Tool{
		{Name: "look", Recorded: []agent.Answer{{Result: core.Encode("fine")}}, Parameters: object, ReadOnly: true},
		{Name: "confirm", Client: true, Parameters: object},
	},
	Permissions: agent.Permissions{Allow: []agent.Rule{{Tool: "look"}, {Tool: "confirm"}}},
}

var object = core.Encode(map[string]string{"type": "object"})

var definition = engine.Definition{Tenant: tenant, Name: scripted.Name, Digest: scripted.Digest(), Body: scripted.Encode()}

// catalog has the one agent. It isn't deployed in the table, so that the tenant is in no list.
type catalog struct{}

func (catalog) Current(context.Context, string, string) (engine.Definition, error) {
	return definition, nil
}

func (catalog) Deployed(context.Context, string) ([]engine.Definition, error) {
	return []engine.Definition{definition}, nil
}

// quiet is how long the sweep leaves a run alone.
const quiet = 15 * time.Minute

// silent keeps every other version away from the run. The script makes the version send no wake-up,
// the hook sends none, and the sweep finds the run only after quiet:
//
//	hook              table                    new version        wake-up queue → old version
//	start ──────────▶ head, due in 15 min
//	invoke ─────────────────────────────────▶ claim: epoch 1
//	                  waits ◀──────────────── commit
//	answer ─────────▶ inbox, due in 15 min
//	invoke ─────────────────────────────────▶ claim: epoch 2
//	                  done ◀───────────────── commit
//	delete ─────────▶ (nothing is left)
//
// If the old version gets at the run all the same, its claim is fenced as any other is: nothing
// runs twice. The hook then sees an epoch that it hasn't caused, and begins again with another run.
// A policy that denies the script's calls leads to that: the run doesn't wait, and the version
// sends a wake-up. The hook then cancels the run, and is content with its first step and its end. A
// wake-up of a run that was deleted is dropped.
type silent struct {
	Store
	clock engine.Clock
}

func (s silent) due() int64 { return s.clock.Now().Add(quiet).UnixMilli() }

func (s silent) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	req.Due = s.due()
	return s.Store.Start(ctx, req)
}

func (s silent) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	req.Due = s.due()
	return s.Store.Signal(ctx, req)
}

// none sends no wake-ups.
type none struct{}

func (none) Send(context.Context, engine.Wakeup, time.Duration) error { return nil }
