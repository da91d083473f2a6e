package peer

// Owed says whether the agent may work on the task: it has to be stopped if no one waits for it.
func (w Work) Owed() bool { return w.Sent != 0 && !w.Over }

// Heard is what is known after an answer of the agent.
func (w Work) Heard(r Report) Work {
	w.Silent, w.Looks = 0, w.Looks+1
	if r.Task.ID != "" {
		w.Task = r.Task
	}
	w.Over = r.State == Done || r.State == Failed && !r.Open
	return w
}

// Unheard is what is known after a request that brought no answer.
func (w Work) Unheard(now int64) Work {
	w.Looks++
	if w.Silent == 0 {
		w.Silent = now
	}
	return w
}

// Lost says whether an agent that does not answer is given up: it has been silent for longest, or
// the call that waits is about to stop waiting. So the parent learns the cause before its own
// deadline. Times are in ms.
func (w Work) Lost(now, longest int64) bool {
	return w.Silent != 0 && (now-w.Silent >= longest || w.Until != 0 && now >= w.Until-lastLook)
}

// Next is when to look again, a pause after now. A silent agent is looked at once more before the
// call that waits stops waiting.
func (w Work) Next(now, pause int64) int64 {
	if w.Silent != 0 && w.Until != 0 {
		return min(now+pause, max(now, w.Until-lastLook))
	}
	return now + pause
}

// Hasten is when to look after a notification from the agent: at once, or a short gap after last,
// the time of the last commit, so that many notifications do not cause as many looks. It is never
// later than next.
func Hasten(w *Work, next, last, now int64) int64 {
	if w == nil {
		return next // no agent elsewhere works for the run
	}
	return min(next, max(now, last+w.gap()))
}

// Hastened says whether news need not be noted, because the look that is due next shows them.
func (w Work) Hastened(next, now int64) bool { return next > now && next <= now+w.gap() }

// gap is the least time between two looks that notifications cause: a quarter of the pause, at most
// 5 s.
func (w Work) gap() int64 { return min(mostHaste, int64(firstPause)<<min(w.Looks, 20)/4) }

// lastLook is how long before the end of the wait the last look is, in ms.
const lastLook = 10_000

// How long a run waits before it looks at its task again, in ms.
const (
	firstPause  = 1000
	mostHaste   = 5_000
	mostPause   = 5 * 60_000
	mostPushing = 60 * 60_000 // the agent says when there is news; a notification may be lost
)

// Pause is how many ms to wait before the next look: twice as long each time.
func (w Work) Pause() int64 {
	most := int64(mostPause)
	if w.Pushes && w.Silent == 0 {
		most = mostPushing
	}
	return min(most, int64(firstPause)<<min(w.Looks, 20))
}

// MostStops is how many times a run tries to stop a task, with pauses of up to 15 minutes: for
// about a day.
const MostStops = 100

// Settled says whether an agent that knows no such task will not begin it any more, after so many
// attempts to stop it: over four minutes at least. Until then the message may be on its way.
//
//	Send ── the connection breaks ── Stop: no such task ── it begins ── Stop: cancelled
func Settled(stops int) bool { return stops >= 8 }
