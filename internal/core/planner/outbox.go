package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/pause"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// foldOutbox takes out of the outbox what was sent.
func (d *draft) foldOutbox() {
	for _, sent := range d.v.Sent {
		d.takeOut(sent)
	}
}

func (d *draft) takeOut(sent plans.Sent) {
	if sent.Failed != "" {
		d.event(core.EventMemoryFailed, map[string]any{"detail": sent.Failed}, 0)
	}
	if d.h.Out[sent.Key].Kind == core.OutStop {
		d.endStop(events.RemoteStopped)
	}
	delete(d.h.Out, sent.Key)
	d.must = true
}

// owe notes that subscribers are owed an event of this commit. The entry names the first event that
// is owed; the later ones follow from the journal.
func (d *draft) owe(e core.Event) {
	if _, subscribed := d.v.Notices.Of(e); !subscribed {
		return
	}
	if _, owed := d.h.Out[core.OutboxNotices]; !owed {
		d.h.Out[core.OutboxNotices] = core.Out{Kind: core.OutNotices, Event: e.Seq, Seq: d.seq()}
	}
}

// owesNow returns the entries of the outbox that are to be sent before anything else is done: a
// body or a model call may take minutes. What cannot be sent now stays in the outbox, and keeps the
// run from waiting and from being done, but from nothing else.
func (d *draft) owesNow() []string {
	if d.v.NotSent || d.v.LeaseEnding {
		return nil
	}
	_, cancelled := d.h.Inbox[core.KeyCancel]
	return core.Owed(d.v.Head.Out, d.sent(), func(o core.Out) bool { return o.Urgent() && !(cancelled && o.Kind == core.OutLaunch) })
}

// sent are the keys of the outbox that need no sending any more.
func (d *draft) sent() map[string]bool {
	sent := map[string]bool{}
	for _, s := range d.v.Sent {
		sent[s.Key] = true
	}
	return sent
}

// empty works the outbox off: first the commit that names it, then the sending, and if that fails a
// pause.
func (d *draft) empty() (plans.Plan, error) {
	switch {
	case d.v.NotSent:
		d.h.NotBefore = d.v.Now + pause.Jittered(pause.Backoff(4), d.h.Run, int(d.h.Epoch))
		d.stopAgain()
		return d.handOver(events.ActivationStepDone)
	case d.dirty():
		return d.commit(), nil
	}
	return plans.SendOutbox{Keys: core.Owed(d.h.Out, nil, func(core.Out) bool { return true })}, nil
}

const outMemory = "memory" // the key of its entry in the outbox

// giveUpMemory takes the agent's memory out of the way if it seems to kill the process that gives
// it the run: nothing keeps a run from being done. Claims that were lost before the hooks were
// given up do not count against it.
func (d *draft) giveUpMemory() {
	if _, waits := d.h.Out[outMemory]; waits && d.h.Tries >= d.v.Limits.BodyTries && !d.dirty() {
		d.takeOut(plans.Sent{Key: outMemory, Failed: "given_up"})
	}
}
