package engine

import (
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Outcome says how a step ended.
type Outcome string

const (
	// there was nothing to claim: the wake-up was stale, or another worker has the run
	Dropped  Outcome = "dropped"
	Released Outcome = "released" // the step was done and the claim given up
	// another owner took over; nothing of what was not committed counts
	Fenced Outcome = "fenced"
)

// Report is what a step did. Of one that was dropped, only the outcome and the thread are known.
type Report struct {
	Outcome Outcome
	Thread  string
	Run     string
	Step    int
	Epoch   int64
	Attempt int            // claims since the last commit before, this one included
	Status  core.RunStatus // after the release
	End     *core.Reason   // why the run ended, if it did
	Commits int
	Asked   bool // the model was called
	Bodies  int  // tool bodies run

	InputTokens, OutputTokens int64 // that the model said it used

	// the delivery was acknowledged with the release, which may have claimed the next step
	Settled bool
	Next    *Taken

	TookOver bool          // the previous owner crashed
	Waited   time.Duration // how long the run had slept when it was claimed; 0 if it had not
	Decided  time.Duration // how long the oldest new decision had waited; 0 if there was none
}

// account completes the report of an activation that claimed the run as head.
func (a *activation) account(head core.Head) {
	now, r := a.view.Head, &a.report
	r.Thread, r.Run, r.Epoch, r.Attempt = head.Thread, head.Run, head.Epoch, head.Tries
	r.Step, r.Status, r.TookOver = now.Step, now.Status, head.Orphaned()
	r.InputTokens, r.OutputTokens = now.InputTokens-head.InputTokens, now.OutputTokens-head.OutputTokens
	if now.Status == core.RunDone {
		r.End = now.End
	}
	if slept := head.AwakeSince == 0 && len(head.Calls) > 0; slept {
		r.Waited = max(0, a.began.Sub(time.UnixMilli(head.At)))
	}
	for _, s := range head.Inbox { // of those before head.At, an earlier activation was told
		if s.Kind == core.SignalDecision && s.At >= head.At {
			r.Decided = max(r.Decided, a.began.Sub(time.UnixMilli(max(s.At, s.Hold))))
		}
	}
}
