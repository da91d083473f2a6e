// Package nightshift is a program with two tools and a hook: one tool reads the sensor of a pump,
// the other restarts a pump. The pumps are a small table, and restarts are counted in the state of
// the run. The agent's permissions say which call needs approval.
package nightshift

import (
	"context"
	"fmt"

	"github.com/dormouse-dev/dormouse"
)

// Keys of the state of a run.
const (
	readings = "readings" // how often a sensor was read
	restarts = "restarts" // how often a pump was restarted
)

// Program has the tools night_shift.read_sensor and night_shift.restart_pump, and the gate
// night_shift.one_restart.
func Program() dormouse.Program {
	return dormouse.Program{
		Name: "night-shift",
		Tools: []dormouse.Tool{
			dormouse.Func("night_shift.read_sensor", "Returns the pressure of a pump in bar.", readSensor, dormouse.ReadOnly),
			dormouse.Func("night_shift.restart_pump", "Restarts a pump.", restartPump, dormouse.AtMostOnce),
		},
		Hooks: []dormouse.Hook{{Name: "night_shift.one_restart", ToolGate: oneRestart}},
	}
}

// oneRestart denies a second restart in one run, so that no one is asked to approve it.
func oneRestart(call dormouse.ToolCall, state dormouse.View) dormouse.Verdict {
	if call.Name != "restart_pump" || state.Run[restarts] == nil {
		return dormouse.Verdict{}
	}
	return dormouse.Verdict{Effect: dormouse.Deny, Reason: "One restart per night is the limit; call the technician."}
}

// gauge is the pressure of a pump in bar, before and after a restart.
type gauge struct{ before, after float64 }

var pumps = map[int]gauge{
	1: {4.8, 4.8},
	3: {9.1, 5.0}, // a restart fixes it
	7: {9.4, 9.9}, // a restart does not
}

type pump struct {
	Pump int `json:"pump" jsonschema:"the number of the pump"`
}

type reading struct {
	Pump     int     `json:"pump"`
	Pressure float64 `json:"pressure"`
	Reading  int     `json:"reading"` // counts the readings of this run
}

func readSensor(_ context.Context, call dormouse.Call, args pump) (any, error) {
	g, ok := pumps[args.Pump]
	if !ok {
		return "no signal", nil
	}
	state := call.State.Run
	state.Add(readings, 1)
	count, err := dormouse.Value[int](state.Get(readings))
	r := reading{Pump: args.Pump, Pressure: g.before, Reading: count}
	if state.Get(restarts) != nil {
		r.Pressure = g.after
	}
	return r, err
}

func restartPump(_ context.Context, call dormouse.Call, args pump) (any, error) {
	if _, ok := pumps[args.Pump]; !ok {
		return nil, fmt.Errorf("there is no pump %d", args.Pump)
	}
	call.State.Run.Add(restarts, 1)
	return fmt.Sprintf("pump %d restarted", args.Pump), nil
}
