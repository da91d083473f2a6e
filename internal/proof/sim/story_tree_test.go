package sim_test

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// storyTree is what a story's witness knows of the runs below its own: in which order cancels and
// answers were accepted.
type storyTree struct {
	now     int
	cancels map[string]int    // by run
	answers map[string]int    // by suspension
	ruled   map[string]string // by run and call: the suspension whose approval let it run
}

func newStoryTree() storyTree {
	return storyTree{cancels: map[string]int{}, answers: map[string]int{}, ruled: map[string]string{}}
}

func (t *storyTree) look(h core.Head) {
	t.now++
	for key, s := range h.Inbox {
		switch _, known := t.answers[key]; {
		case s.Kind == core.SignalDecision && !known:
			t.answers[key] = t.now
		case s.Kind == core.SignalCancel && t.cancels[h.Run] == 0:
			t.cancels[h.Run] = t.now
		}
	}
}

// overtaken (CH-2) says whether a run above was cancelled before the answer on which a body runs
// was accepted.
func (w *witness) overtaken(thread, what string) bool {
	sus, ruled := w.tree.ruled[what]
	for p := w.last[thread].Parent; p != nil && ruled; p = w.last[p.Thread].Parent {
		if at := w.tree.cancels[p.Run]; at != 0 && at < w.tree.answers[sus] {
			return true
		}
	}
	return false
}

// children are the heads of the runs below the story's own.
func (p *performance) children() (all []core.Head) {
	for _, thread := range sortedThreads(p.witness.last) {
		if h := p.witness.last[thread]; h.Parent != nil {
			all = append(all, h)
		}
	}
	return all
}

// childOf is the run that works for the last call of an agent.
func (p *performance) childOf(tool string) core.Head {
	child := p.witness.waiting[tool].Child
	if child == nil {
		return core.Head{}
	}
	return p.witness.last[child.Thread]
}

// below is what the runs below have journaled.
func (p *performance) below() (all []core.Segment) {
	for _, h := range p.children() {
		segments, _ := p.db.Segments(context.Background(), h.Tenant, h.Thread, 1, h.Seq)
		all = append(all, segments...)
	}
	return all
}

func (p *performance) waitsBelow(tool string) bool {
	for _, h := range p.children() {
		for _, c := range h.Calls {
			if c.WaitsOn(p.witness.waiting[tool].Suspension.ID) && h.Status == core.RunWaiting {
				return true
			}
		}
	}
	return false
}

func (p *performance) allDone() bool {
	for _, h := range p.children() {
		if h.Open() {
			return false
		}
	}
	return !p.head().Open()
}

func (p *performance) allPaused() bool {
	for _, h := range append(p.children(), p.head()) {
		if h.Open() && (h.Interrupt() == "" || h.Status != core.RunWaiting) {
			return false
		}
	}
	return true
}

// checkTree holds the runs below against what every story must come to (CH-1 to CH-4).
func (p *performance) checkTree() {
	p.checkPeers()
	for _, h := range p.children() {
		segments, _ := p.db.Segments(context.Background(), h.Tenant, h.Thread, 1, h.Seq)
		p.checkJournal(h, segments)
		p.checkCalls(h, core.Messages(segments))
		if h.Open() && !p.head().Open() {
			p.wrong("CH-4: the run is done, and %s below it is %s", h.Run, h.Status)
		}
		if parent := p.witness.last[h.Parent.Thread]; !h.Open() && parent.WaitsFor(*h.Parent) {
			p.wrong("CH-3: %s is done, and %s waits for it", h.Run, parent.Run)
		}
	}
}
