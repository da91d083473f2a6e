package core

import "cmp"

// yieldPause is how long a run that made way for others waits, in ms.
const yieldPause = 5000

// yield drops the turn: it cost something, and nothing follows from it.
func (d *draft) yield() {
	if !d.v.Yielded {
		return
	}
	t := *d.v.Turn
	d.modelAnswered()
	d.countTokens(t)
	d.h.Yields++
	d.h.YieldsInRow++
	d.h.NotBefore = d.v.Now + yieldPause
	d.event(EventStepReset, map[string]any{"reason": "yielded", "text": cmp.Or(t.Text, "The run made way for others before it had said anything.")}, 0)
}

// How far a run of an agent with [Terms.Yield] makes way for newer ones.
const (
	// MostYields is how many turns in a row it gives up. The next one is accepted, so that
	// every run goes on although newer ones keep coming.
	MostYields = 3

	// NewestLooked is how many of the newest runs of its tenant are looked at.
	NewestLooked = 20

	// newerWaits is how long a run must have waited for a worker, in ms. A worker with nothing
	// else to do takes a run much sooner, and nothing has to make way for it.
	newerWaits = 1000
)

// MayMakeWay says whether the run may give up one more turn for a newer run.
func (h Head) MayMakeWay() bool { return h.YieldsInRow < MostYields }

// MakesWay says whether the run makes way for one of the newest runs of its tenant, which are
// listed newest first: for a run of the same agent that was started later and that no worker has
// taken yet.
func (h Head) MakesWay(newest []Record, now int64) bool {
	if !h.MayMakeWay() {
		return false
	}
	for _, r := range newest[:min(len(newest), NewestLooked)] {
		switch {
		case r.Born < h.Born || r.Born == h.Born && r.Run <= h.Run:
			return false // this run and older ones follow
		case r.Agent == h.Agent && r.Status == RunCreated && now-r.Born >= newerWaits:
			return true
		}
	}
	return false
}
