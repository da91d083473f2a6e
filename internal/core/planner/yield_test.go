package planner_test

import (
	"fmt"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/yields"
)

func TestARunMakesWayForANewerOneThatWaits(t *testing.T) {
	own := core.Head{Identity: core.Identity{Run: "run_b_0", Agent: "desk"}, Origin: core.Origin{Born: 1000}}
	self := core.Record{Run: own.Run, Agent: own.Agent, Born: own.Born, Status: core.RunRunning}
	newer := core.Record{Run: "run_c_0", Agent: "desk", Born: 2000, Status: core.RunCreated}
	changed := func(change func(*core.Record)) core.Record {
		r := newer
		change(&r)
		return r
	}
	var many []core.Record
	for i := range yields.Looked {
		many = append(many, changed(func(r *core.Record) { r.Run, r.Agent = fmt.Sprintf("run_d%02d_0", 99-i), "other" }))
	}
	for name, tt := range map[string]struct {
		newest []core.Record
		now    int64
		yields int
		want   bool
	}{
		"a newer run waits":                        {[]core.Record{newer, self}, 9000, 0, true},
		"two turns in a row were given up":         {[]core.Record{newer, self}, 9000, 2, true},
		"three were":                               {[]core.Record{newer, self}, 9000, yields.Most, false},
		"behind newer ones that are worked on":     {[]core.Record{changed(func(r *core.Record) { r.Status = core.RunRunning; r.Born = 3000 }), newer, self}, 9000, 0, true},
		"it has only just come":                    {[]core.Record{newer, self}, 2999, 0, false},
		"it has waited for a second":               {[]core.Record{newer, self}, 3000, 0, true},
		"it is worked on":                          {[]core.Record{changed(func(r *core.Record) { r.Status = core.RunRunning }), self}, 9000, 0, false},
		"it waits for a person":                    {[]core.Record{changed(func(r *core.Record) { r.Status = core.RunWaiting }), self}, 9000, 0, false},
		"it is another agent's":                    {[]core.Record{changed(func(r *core.Record) { r.Agent = "other" }), self}, 9000, 0, false},
		"it is older":                              {[]core.Record{self, changed(func(r *core.Record) { r.Born = 999 })}, 9000, 0, false},
		"it is older, and this run is not listed":  {[]core.Record{changed(func(r *core.Record) { r.Born = 999 })}, 9000, 0, false},
		"of the same time, its id is behind":       {[]core.Record{changed(func(r *core.Record) { r.Born = 1000 }), self}, 9000, 0, true},
		"of the same time, its id is before":       {[]core.Record{self, changed(func(r *core.Record) { r.Born, r.Run = 1000, "run_a_0" })}, 9000, 0, false},
		"it is this run, not taken yet by a clock": {[]core.Record{changed(func(r *core.Record) { r.Run, r.Born = own.Run, own.Born })}, 9000, 0, false},
		"it is too far behind the newest":          {append(many, newer), 9000, 0, false},
		"there is no run":                          {nil, 9000, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := own
			h.YieldsInRow = tt.yields
			if got := yields.To(h, tt.newest, tt.now); got != tt.want {
				t.Errorf("makes way: %v", got)
			}
		})
	}
}
