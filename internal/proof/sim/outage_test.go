package sim_test

import (
	"encoding/json"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// isDown says whether the models do not answer now. Once they are down they stay so, also when the
// faults are over.
func (s *stage) isDown() bool {
	now := s.w.Now()
	if now.Before(s.downUntil) {
		return true
	}
	if s.faults.Rate == 0 || !s.w.Chance(s.plan.outages) {
		return false
	}
	longest := []time.Duration{30 * time.Second, 5 * time.Minute, time.Hour, 5 * time.Hour}[int(s.w.Upto(3))]
	if s.plan.calm { // its caller looks every few seconds
		longest = min(longest, 5*time.Minute)
	}
	s.downUntil = now.Add(longest/2 + s.w.Upto(longest/2))
	s.faults.Counts["outage"]++
	s.w.Note("the models are down until %s", s.downUntil.Format(time.TimeOnly))
	return true
}

// nextAttempt is how long the run waits for its model.
func (s *stage) nextAttempt(h core.Head) time.Duration {
	if h.Outage == nil {
		return 0
	}
	return time.UnixMilli(h.NotBefore).Sub(s.w.Now())
}

// outageRow are failures of a run's model in a row, as the journal tells them.
type outageRow struct {
	since int64
	tries int
}

// longestPause is how long a run may leave its model alone.
const longestPause = 15 * 60_000

// outageBound is how long a run may wait for its model.
func (s *stage) outageBound() int64 {
	if own := s.plan.terms.Outage; own > 0 {
		return own
	}
	return s.plan.limits.Outage
}

// downRow: a run waits for its model from the first failure in a row on for as long as it may, no
// longer and no less, and tells each try. An answer and a wait for a person end the row.
func (w *watched) downRow(e core.Event) {
	var told struct {
		Reason, Code, Status string
		Try                  int
		TryAt                int64 `json:"try_at"`
	}
	_ = json.Unmarshal(e.Data, &told)
	row, bound := w.down[e.RunID], w.s.outageBound()
	switch {
	case e.Type == core.EventStepReset && told.Reason == "model_unavailable":
		if row.tries++; row.tries == 1 {
			row.since = e.At
		}
		w.down[e.RunID] = row
		if told.Try != row.tries || told.TryAt <= e.At || told.TryAt > e.At+longestPause || told.TryAt > row.since+bound {
			w.s.wrong("failure %d of %s, %d ms after the first, is told as %s at %d", row.tries, e.RunID, e.At-row.since, e.Data, e.At)
		}
	case e.Type == core.EventStepReset && told.Reason == "yielded", e.Type == core.EventStepStarted, e.Type == core.EventTurnEnded && told.Status == "suspended":
		delete(w.down, e.RunID)
	case e.Type == core.EventTurnEnded && told.Code == "model_unavailable" && (row.tries == 0 || e.At-row.since < bound):
		w.s.wrong("%s ended %d ms after the first of %d failures in a row, and may wait for %d", e.RunID, e.At-row.since, row.tries, bound)
	}
}

// hasWork says whether an answer was taken up that has not taken effect.
func hasWork(h core.Head) bool {
	for _, c := range h.Calls {
		if c.Status == core.CallResuming || c.Kind == core.KindInterrupt && c.Status == core.CallSuspended {
			return true
		}
	}
	return false
}

// asleepInOutage: while the model is down, a run is not awake, and waits for nobody else.
func (w *watched) asleepInOutage(old, h core.Head) {
	was := old.Outage != nil && old.Run == h.Run
	switch {
	case h.Outage == nil && !was:
	case h.Outage != nil && (h.AwakeSince != 0 || h.Status != core.RunRunning || was && h.Awake != old.Awake):
		w.s.wrong("%s waits for its model, and is awake or waits for others: %s\n after %s", h.Run, core.Encode(h), core.Encode(old))
	// given back as it was: its agent is unavailable
	case h.Outage != nil && h.Lease == 0 && h.Seq == old.Seq && w.s.unserved.UnixMilli() >= h.At-1000:
	// what could not be sent is tried again before the run waits
	case h.Outage != nil && h.Lease == 0 && len(h.Out) > 0:
	case h.Outage != nil && h.Lease == 0 && h.NotBefore > h.At && len(h.Inbox) == 0 && (hasWork(h) || h.Deadline > h.At && h.Deadline < h.NotBefore):
		w.s.wrong("%s has something to do, or a deadline, before it asks its model again: %s", h.Run, core.Encode(h))
	case h.Outage == nil && h.Status == core.RunRunning && h.End == nil && h.AwakeSince != h.At:
		w.s.wrong("%s goes on at %d, and is awake since %d", h.Run, h.At, h.AwakeSince)
	}
	if was && len(h.Inbox) > len(old.Inbox) {
		for key, signal := range h.Inbox {
			if _, known := old.Inbox[key]; !known && (signal.Kind == core.SignalMessage || signal.Kind == core.SignalCancel) {
				w.s.faults.Counts[string(signal.Kind)+" in an outage"]++
			}
		}
	}
}
