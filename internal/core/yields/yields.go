// Package yields knows how far a run of an agent with [core.Terms].Yield makes way for newer ones.
package yields

import "github.com/dormouse-dev/dormouse/internal/core"

const (
	// Most is how many turns in a row a run gives up. The next one is accepted, so that every
	// run goes on although newer ones keep coming.
	Most = 3

	// Looked is how many of the newest runs of its tenant are looked at.
	Looked = 20

	// newerWaits is how long a run must have waited for a worker, in ms. A worker with nothing
	// else to do takes a run much sooner, and nothing has to make way for it.
	newerWaits = 1000
)

// May says whether the run may give up one more turn for a newer run.
func May(h core.Head) bool { return h.YieldsInRow < Most }

// To says whether the run makes way for one of the newest runs of its tenant, which are
// listed newest first: for a run of the same agent that was started later and that no worker has
// taken yet.
func To(h core.Head, newest []core.Record, now int64) bool {
	if !May(h) {
		return false
	}
	for _, r := range newest[:min(len(newest), Looked)] {
		switch {
		case r.Born < h.Born || r.Born == h.Born && r.Run <= h.Run:
			return false // this run and older ones follow
		case r.Agent == h.Agent && r.Status == core.RunCreated && now-r.Born >= newerWaits:
			return true
		}
	}
	return false
}
