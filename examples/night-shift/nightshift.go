// Package nightshift holds the tools and the hook of the night-shift example: somebody watches pumps at night, and a person is asked
// before one is restarted. The pumps are a small table, and what happens to them is in the state of the run. It turns no real pump,
// and what a call needs to be allowed is the agent's to say.
package nightshift

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Keys of the state of a run.
const (
	readings = "readings" // how often a sensor was read
	restarts = "restarts" // how often a pump was restarted
)

// Register adds the tools night_shift.read_sensor and night_shift.restart_pump.
func Register(r *tool.Registry) error {
	return r.Register(
		tool.Func("night_shift.read_sensor", "The pressure of a pump, in bar.", readSensor, tool.ReadOnly()),
		tool.Func("night_shift.restart_pump", "Restarts a pump.", restartPump, tool.AtMostOnce()),
	)
}

// RegisterHooks adds the gate night_shift.one_restart: nothing is restarted twice in one run, whoever approves it.
func RegisterHooks(r *hook.Registry) error {
	return r.Register(hook.Gate("night_shift.one_restart", oneRestart))
}

func oneRestart(call core.ToolCall, state core.State) *core.Verdict {
	if call.Name != "restart_pump" || state.Get(core.RunScope, restarts) == nil {
		return nil
	}
	return &core.Verdict{Effect: core.Deny, Reason: "One restart a night is enough; leave it to the technician."}
}

// gauge is the pressure of a pump in bar, before and after a restart.
type gauge struct{ before, after float64 }

var pumps = map[int]gauge{
	1: {4.8, 4.8},
	3: {9.1, 5.0}, // a restart helps
	7: {9.4, 9.9}, // it does not
}

type pump struct {
	Pump int `json:"pump" jsonschema:"the number on its door"`
}

type reading struct {
	Pump     int     `json:"pump"`
	Pressure float64 `json:"pressure"`
	Reading  int     `json:"reading"` // which one of this run
}

func readSensor(_ context.Context, call tool.Call, args pump) (any, error) {
	g, ok := pumps[args.Pump]
	if !ok {
		return "no signal", nil
	}
	call.State.Add(core.RunScope, readings, 1)
	r := reading{Pump: args.Pump, Pressure: g.before}
	if call.State.Get(core.RunScope, restarts) != nil {
		r.Pressure = g.after
	}
	return r, json.Unmarshal(call.State.Get(core.RunScope, readings), &r.Reading)
}

func restartPump(_ context.Context, call tool.Call, args pump) (any, error) {
	if _, ok := pumps[args.Pump]; !ok {
		return nil, fmt.Errorf("there is no pump %d", args.Pump)
	}
	call.State.Add(core.RunScope, restarts, 1)
	return fmt.Sprintf("pump %d restarted", args.Pump), nil
}
