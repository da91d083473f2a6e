package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// abroad makes some leaves of a tree agents that run elsewhere. They are drawn apart from the rest
// of the plan.
func (t *treePlan) abroad(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 93))
	for _, name := range sortedThreads(t.nodes) {
		if n := t.nodes[name]; n.depth > 0 && len(n.kids) == 0 && !n.asks && n.end != "is missing" {
			n.remote = rng.IntN(4) == 0
		}
	}
}

// outpost is an agent that runs elsewhere, with its tasks by their keys. Its answers are lost as
// those of a store are, and it never forgets a task.
type outpost struct {
	g     *grove
	n     *node
	tasks map[string]*errand
}

// errand is a task of an agent elsewhere.
type errand struct {
	req     engine.PeerRequest
	from    time.Time // when the message arrives
	ends    time.Time
	arrived int // how often
	stopped bool
}

var errNoPeer = errors.New("no answer from the agent elsewhere")

// peers are the agents elsewhere that an agent calls.
func (g *grove) peers(n *node) map[string]engine.Peer {
	all := map[string]engine.Peer{}
	for _, kid := range n.kids {
		if kid.remote {
			all[kid.name] = g.outposts(kid)
		}
	}
	return all
}

func (g *grove) outposts(n *node) *outpost {
	if g.elsewhere[n.name] == nil {
		g.elsewhere[n.name] = &outpost{g: g, n: n, tasks: map[string]*errand{}}
	}
	return g.elsewhere[n.name]
}

// wire is the way to the agent or back, on which requests and answers are lost, and workers too.
func (o *outpost) wire(ctx context.Context, what string) error {
	o.g.w.Yield(ctx)
	if o.g.w.Happens("lost", o.g.faults.Rate/4) {
		o.g.w.Lose(what)
	}
	if o.g.w.Happens("fault", 2*o.g.faults.Rate) {
		o.g.faults.Counts["remote "+what+" lost"]++
		return errNoPeer
	}
	return nil
}

// Send implements [engine.Peer].
func (o *outpost) Send(ctx context.Context, req engine.PeerRequest) (peer.Report, error) {
	o.begins(req)
	if err := o.wire(ctx, "request"); err != nil {
		o.late(req)
		return peer.Report{}, err
	}
	e := o.task(req.Key)
	switch {
	case e != nil && req.Again:
		o.g.faults.Counts["remote found again"]++
	case req.Again && req.Once:
		o.g.faults.Counts["remote unclear"]++
		return peer.Report{State: peer.Unclear}, nil
	default:
		if e == nil {
			e = o.begin(req, o.g.w.Now())
		}
		if e.arrived++; e.arrived > 1 && req.Once {
			o.g.wrong("the task of %s was sent twice, and may have had its effect twice", req.Run)
		}
	}
	if err := o.wire(ctx, "answer"); err != nil {
		return peer.Report{}, err
	}
	return o.report(e), nil
}

// late lets a message whose connection broke arrive later, perhaps: after the agent was asked for
// the task, or to stop it.
func (o *outpost) late(req engine.PeerRequest) {
	if o.tasks[req.Key] == nil && o.g.w.Happens("late", 0.5) {
		o.begin(req, o.g.w.Now().Add(o.g.w.Upto(2*time.Minute))).arrived++
		o.g.faults.Counts["remote message late"]++
	}
}

// begin makes the task of a message that arrives at that time.
func (o *outpost) begin(req engine.PeerRequest, from time.Time) *errand {
	e := &errand{req: req, from: from, ends: from.Add(o.g.w.Upto(100 * time.Second))}
	if before := o.tasks[req.Key]; before != nil {
		e.arrived = before.arrived // it is sent twice, and its key tells that it is one
	}
	o.tasks[req.Key] = e
	return e
}

// task is the one with this key that has arrived.
func (o *outpost) task(key string) *errand {
	if e := o.tasks[key]; e != nil && !o.g.w.Now().Before(e.from) {
		return e
	}
	return nil
}

// begins holds a task against the rules, when it is sent.
func (o *outpost) begins(req engine.PeerRequest) {
	if h := o.g.kin.last[req.Thread]; h.Run != req.Run || h.Peer == nil || h.Peer.Sent == 0 {
		o.g.wrong("the task of %s is sent, and no commit says that it may have been", req.Run)
	}
	o.g.faults.Counts["remote tasks"]++
}

// Look implements [engine.Peer].
func (o *outpost) Look(ctx context.Context, req engine.PeerRequest) (peer.Report, error) {
	if err := o.wire(ctx, "request"); err != nil {
		return peer.Report{}, err
	}
	e := o.tasks[req.Key]
	if e == nil || req.Task.ID != "task of "+req.Run {
		o.g.wrong("%s looks at the task %+v, which was never sent", req.Run, req.Task)
		return peer.Report{State: peer.Failed, Code: peer.CodeNotFound}, nil
	}
	o.g.faults.Counts["remote looks"]++
	if err := o.wire(ctx, "answer"); err != nil {
		return peer.Report{}, err
	}
	return o.report(e), nil
}

// Stop implements [engine.Peer].
func (o *outpost) Stop(ctx context.Context, req engine.PeerRequest) error {
	if err := o.wire(ctx, "request"); err != nil {
		return err
	}
	e := o.task(req.Key)
	if e == nil && !peer.Settled(req.Stops) {
		return errNoPeer
	}
	if e != nil {
		e.stopped = true
		o.g.faults.Counts["remote stopped"]++
	}
	return o.wire(ctx, "answer")
}

func (o *outpost) report(e *errand) peer.Report {
	r := peer.Report{Task: peer.Task{ID: "task of " + e.req.Run, Context: e.req.Context, Pushes: hash(e.req.Run, "pushes")%2 == 0}}
	switch {
	case e.stopped:
		r.State, r.Code = peer.Failed, peer.CodeCancelled
	case o.g.w.Now().Before(e.ends):
	case o.n.end == "fails":
		r.State, r.Code, r.Detail = peer.Failed, peer.CodeFailed, "out of order"
	case o.n.end == "stops":
		r.State, r.Code, r.Open = peer.Failed, peer.CodeAsks, true
	default:
		r.State, r.Text = peer.Done, resultOf(e.req.Run)
	}
	return r
}

// over says whether the agent does not work on a task any more.
func (o *outpost) over(e *errand) bool {
	return e.stopped || o.n.end != "stops" && !o.g.w.Now().Before(e.ends)
}

// news says that there is news of a task, true or not.
func (g *grove) news(ctx context.Context) {
	for _, h := range g.kin.open() {
		if h.Peer == nil {
			continue
		}
		now := g.w.Now().UnixMilli()
		_, err := g.store.Signal(ctx, engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: core.KeyNews,
			Signal: core.Signal{Kind: core.SignalNews, At: now}, Due: now + 5000, Wake: &engine.Delay{}})
		g.w.Note("news of %s: %v", h.Run, err)
		if err == nil {
			g.faults.Counts["remote news"]++
		}
		return
	}
}

// toldPeer holds the end of a run against what its agent elsewhere does then.
func (k *kin) toldPeer(h core.Head) {
	if h.Peer == nil {
		return
	}
	for _, name := range sortedThreads(k.g.elsewhere) {
		o := k.g.elsewhere[name]
		if e := o.tasks[h.Run]; e != nil && !o.over(e) {
			k.g.wrong("CH-4: %s is done, and its task goes on elsewhere: %+v", h.Run, *h.Peer)
		}
	}
}

// checkPeers holds what is left elsewhere against the rules: nothing goes on that no one waits for.
func (k *kin) checkPeers() {
	for _, name := range sortedThreads(k.g.elsewhere) {
		o := k.g.elsewhere[name]
		for _, key := range sortedThreads(o.tasks) {
			e := o.tasks[key]
			if h := k.last[e.req.Thread]; !o.over(e) || h.Peer == nil || !h.Peer.Over {
				k.g.wrong("CH-4: %s is done, and its task goes on elsewhere, or may: %s", e.req.Run, core.Encode(fmt.Sprintf("%+v", h.Peer)))
			}
		}
	}
}
