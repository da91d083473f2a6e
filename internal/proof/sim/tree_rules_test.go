package sim_test

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// committed holds a commit of an owner against the rules of trees. Its claim is that of the old
// head.
func (k *kin) committed(old, h core.Head, segments []core.Segment) {
	if h.Parent != nil && old.Seq == old.Seq0 && h.Seq > old.Seq {
		k.firstWork(old, h, segments)
	}
	k.takesAll(old, h)
	k.paused(old, h, segments)
	k.share(h, segments)
	if h.Status == core.RunWaiting && h.Lease == 0 {
		k.released(h)
	}
	if h.Status == core.RunDone && old.Status != core.RunDone {
		k.told(h)
	}
}

// firstWork (CH-1): a child that its parent does not wait for commits nothing but its cancelled
// end. The parent may stop waiting while the child looks.
func (k *kin) firstWork(old, h core.Head, segments []core.Segment) {
	w, claimed := k.waits[h.Parent.Sus], k.claims[claimOf(old.Run, old.Epoch)]
	if w == nil || w.stopped >= claimed {
		return
	}
	k.g.faults.Counts["children disowned"]++
	if h.End == nil || h.End.Kind != core.Cancelled || h.Peer != nil && h.Peer.Sent != 0 || begins(segments, core.EventStepStarted, core.EventCallStarted, core.EventChildStarted) || len(h.Out) > 0 {
		k.g.wrong("CH-1: %s no longer waited for %s when that was claimed, and it committed %s", w.Run, h.Run, core.Encode(segments))
	}
}

// begins says whether one of these events was journaled.
func begins(segments []core.Segment, what ...core.EventType) bool {
	return slices.ContainsFunc(segments, func(seg core.Segment) bool {
		return slices.ContainsFunc(seg.Events, func(e core.Event) bool { return slices.Contains(what, e.Type) })
	})
}

// takesAll: the results that are there when a run is claimed are taken in one turn.
func (k *kin) takesAll(old, h core.Head) {
	took, left := 0, 0
	for _, key := range k.found[claimOf(old.Run, old.Epoch)] {
		_, was := old.Inbox[key]
		if _, is := h.Inbox[key]; is {
			left++
		} else if was {
			took++
		}
	}
	if took > 0 && left > 0 {
		k.g.wrong("%s took %d results, and left %d that were there", h.Run, took, left)
	}
	if took > 1 {
		k.g.faults.Counts["results taken together"]++
	}
}

// paused: nothing begins while a run is paused. Bodies are looked at when they begin.
func (k *kin) paused(old, h core.Head, segments []core.Segment) {
	if was := old.Interrupt(); was != "" && was == h.Interrupt() && begins(segments, core.EventStepStarted, core.EventChildStarted) {
		k.g.wrong("I-2: %s is paused, and goes on: %s", h.Run, core.Encode(segments))
	}
}

// share: what open children may cost is never more than what is left.
func (k *kin) share(h core.Head, segments []core.Segment) {
	if !begins(segments, core.EventChildStarted) {
		return
	}
	given, open, abroad := int64(0), 0, 0
	for sus, w := range k.waits {
		if w.Run == h.Run && h.WaitsFor(w.Parent) && h.Calls[w.Call].Sus == sus {
			given, open = given+w.child.Allowance, open+1
			if w.child.Remote {
				abroad++
			}
		}
	}
	if open == abroad {
		return // the commit ends the run, or what its children cost is not known
	}
	if open == 20 {
		k.g.faults.Counts["twenty children"]++
	}
	own := int64(k.g.nodes[h.Agent].terms.RunCost.Most) * int64(1+h.CostRaises)
	for _, limit := range []int64{own, h.Allowance} {
		if limit == 0 {
			continue
		}
		k.g.faults.Counts["limited children"]++
		if spent := h.Record().Tree().Cost; spent+given > limit || given == 0 {
			k.g.wrong("%s has spent %d, may spend %d, and gave %d to its %d children", h.Run, spent, limit, given, open)
		}
	}
}

// released: a run that waits for children has launched them, and a run that is paused has told
// them.
func (k *kin) released(h core.Head) {
	for _, w := range k.waits {
		if !h.WaitsFor(w.Parent) {
			continue
		}
		if !k.began[w.child.Thread] {
			k.g.wrong("CH-4: %s waits for %s, which was never started", h.Run, w.child.Run)
		}
		child, paused := k.last[w.child.Thread], h.Interrupt()
		if paused != "" && child.Open() && child.End == nil && !k.got[w.child.Thread+" "+core.InterruptKey(paused)] {
			k.g.wrong("%s is paused, and %s below it was not told", h.Run, child.Run)
		}
	}
}

// told (CH-3): a child that is done has told its parent, or that no longer waits. It has no open
// child that was not cancelled.
func (k *kin) told(h core.Head) {
	if h.Parent != nil {
		parent := k.last[h.Parent.Thread]
		if _, there := parent.Inbox[h.Parent.Sus]; parent.WaitsFor(*h.Parent) && !there {
			k.g.wrong("CH-3: %s is done, and %s still waits for it", h.Run, parent.Run)
		}
	}
	if _, cancelled := k.cancels[h.Run]; h.End.Kind == core.Cancelled && !cancelled && k.gone(h) == notYet {
		k.g.wrong("CH-3: %s ended as cancelled, no one has cancelled it, and every run above waits for it", h.Run)
	}
	k.usage(h)
	k.toldPeer(h)
	for _, w := range k.waits {
		child := k.last[w.child.Thread]
		// one that has done nothing yet looks for its parent first
		if w.Run == h.Run && child.Open() && child.End == nil && child.Seq > child.Seq0 && !k.got[child.Thread+" "+core.KeyCancel] {
			k.g.wrong("CH-4: %s is done, and %s below it is open and was not cancelled", h.Run, child.Run)
		}
	}
}

// bodyBegins holds a body against the rules, when it begins.
func (k *kin) bodyBegins(req engine.ToolRequest) {
	h := k.last[req.Thread]
	if sus, ruled := k.ruled[req.Run+"/"+req.Call.ID]; ruled {
		if given, gone := k.asked[sus].answered, k.gone(h); gone < given {
			k.g.wrong("CH-2: the body of %s of %s runs on an answer that was given after a run above was no longer wanted", req.Call.ID, req.Run)
		}
	} else if req.Call.Name == askTool {
		k.g.wrong("I-4: %s of %s runs, and no one approved it", req.Call.ID, req.Run)
	}
	// whose intent is committed runs: its outcome would be unknown
	if h.Run == req.Run && h.Epoch == req.Epoch && h.Interrupt() != "" && !h.Calls[req.Call.ID].IntendedBy(req.Epoch) {
		k.g.wrong("I-2: the body of %s begins in %s, which is paused", req.Call.ID, req.Run)
	}
}

// usage of a run is the sum of what its model answered, of what its children told (at its end), and
// of what it allowed those whose end it did not wait for.
func (k *kin) usage(h core.Head) {
	below := k.below[h.Run]
	for _, w := range k.waits { // what a child may have spent whose end was never heard
		if w.Run == h.Run && w.took == 0 {
			below.Forfeited += w.child.Allowance
		}
	}
	if below != h.Below {
		k.g.wrong("%s says that those below it have used %+v, and it was told %+v", h.Run, h.Below, below)
	}
	if n := k.used[h.Run]; h.InputTokens != 10*n || h.OutputTokens != n || h.Priced && h.Cost != turnCost*n {
		k.g.wrong("%s had %d answers of its model, and counts %d and %d tokens, and a cost of %d", h.Run, n, h.InputTokens, h.OutputTokens, h.Cost)
	}
}

// check holds what is left at the end against the rules.
func (k *kin) check() {
	for _, h := range k.open() {
		k.g.wrong("CH-4: %s is open at the end: %s", h.Run, core.Encode(h))
	}
	k.checkPeers()
	for sus, a := range k.asked {
		for _, id := range a.accepted {
			if n := len(slices.DeleteFunc(slices.Clone(a.journaled), func(other string) bool { return other != id })); n != 1 {
				k.g.wrong("I-2: the decision %q on %s of %s was accepted, and is %d times in the journal", id, sus, a.run, n)
			}
		}
		if len(a.accepted) > 1 {
			k.g.wrong("I-3: %d decisions were accepted on %s: %q", len(a.accepted), sus, a.accepted)
		}
	}
}
