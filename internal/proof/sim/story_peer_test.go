package sim_test

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// storyPeer is an agent elsewhere that a tool of a story calls. It takes the time of the tool, and
// knows a task by its key.
type storyPeer struct {
	c    *storyCast
	tool string
}

// storyErrand is a task of an agent elsewhere.
type storyErrand struct {
	tool    string
	ends    time.Time
	stopped bool
}

// peers are the agents elsewhere of a story, by the tools that call them.
func (c *storyCast) peers() map[string]engine.Peer {
	all := map[string]engine.Peer{}
	for name, t := range c.p.setting.tools {
		if t.remote {
			all[name] = storyPeer{c, name}
		}
	}
	return all
}

// Send implements [engine.Peer]: a task that arrives is a body of its tool that runs.
func (s storyPeer) Send(ctx context.Context, req engine.PeerRequest) (peer.Report, error) {
	defer s.c.p.change()
	s.c.p.w.Yield(ctx)
	e, t := s.c.errands[req.Key], s.c.p.setting.tools[s.tool]
	switch {
	case e != nil && req.Again:
	case req.Again && req.Once:
		return peer.Report{State: peer.Unclear, Detail: "it knows of no such task"}, nil
	case e == nil:
		e = &storyErrand{tool: s.tool, ends: s.c.p.w.Now().Add(t.takes)}
		s.c.errands[req.Key] = e
		fallthrough
	default:
		s.c.bodies = append(s.c.bodies, storyBody{tool: s.tool, arguments: req.Input})
		if t.losing > 0 {
			t.losing--
			return peer.Report{}, errors.New("the answer is lost")
		}
	}
	return s.report(req, e), nil
}

// Look implements [engine.Peer].
func (s storyPeer) Look(ctx context.Context, req engine.PeerRequest) (peer.Report, error) {
	s.c.p.w.Yield(ctx)
	e := s.c.errands[req.Key]
	if e == nil {
		s.c.p.wrong("%s looks at a task that was never sent", req.Run)
		return peer.Report{State: peer.Failed, Code: peer.CodeNotFound}, nil
	}
	return s.report(req, e), nil
}

// Stop implements [engine.Peer].
func (s storyPeer) Stop(ctx context.Context, req engine.PeerRequest) error {
	defer s.c.p.change()
	s.c.p.w.Yield(ctx)
	if t := s.c.p.setting.tools[s.tool]; t.deafTo > 0 {
		t.deafTo--
		return errors.New("it does not answer")
	}
	if e := s.c.errands[req.Key]; e != nil {
		e.stopped = true
	}
	return nil
}

func (s storyPeer) report(req engine.PeerRequest, e *storyErrand) peer.Report {
	r := peer.Report{Task: peer.Task{ID: "task of " + req.Run, Context: req.Context}}
	switch t := s.c.p.setting.tools[s.tool]; {
	case e.stopped:
		r.State, r.Code = peer.Failed, peer.CodeCancelled
	case s.c.p.w.Now().Before(e.ends):
	case t.fails != "":
		r.State, r.Code, r.Detail = peer.Failed, peer.CodeFailed, t.fails
	default:
		r.State, r.Text = peer.Done, "done"
	}
	return r
}

// checkPeers: no task goes on elsewhere when everything here is done.
func (p *performance) checkPeers() {
	for key, e := range p.cast.errands {
		if !e.stopped && p.w.Now().Before(e.ends) {
			p.wrong("CH-4: %s is done, and its task goes on elsewhere", key)
		}
	}
}

// stoppedElsewhere is why no task of a tool was stopped.
func (p *performance) stoppedElsewhere(tool string) string {
	for _, e := range p.cast.errands {
		if e.tool == tool && e.stopped {
			return ""
		}
	}
	return "none was stopped"
}
