package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// peerTime bounds one request to an agent elsewhere, which may be several on the network.
const peerTime = time.Minute

// askPeer gives the agent elsewhere its task, or looks at it. A cancel does not stop a request that
// is under way: what it has begun could then not be stopped.
func (a *activation) askPeer(ctx context.Context, again bool) error {
	work := a.view.Head.Peer
	a.view.Reported = &plans.Reported{Again: again}
	p, ok := a.agent.Peers[work.Tool]
	if !ok {
		a.view.Reported.Report = peer.Report{State: peer.Failed, Code: peer.CodeNotFound, Detail: fmt.Sprintf("the tool %q no longer names an agent", work.Tool)}
		return nil
	}
	req := a.peerRequest(again)
	do, what := p.Look, "look at remote agent"
	if work.ID == "" {
		input, err := a.peerInput(ctx)
		if err != nil {
			return err
		}
		req.Input, do, what = input, p.Send, "send to remote agent"
	}
	// The last look at the clock, as before a body: the next owner may have sent the task, or
	// have given it up.
	if a.timeLeft() <= 0 {
		return errLeaseOver
	}
	report, err := traced(ctx, a.e, what, func(ctx context.Context) (peer.Report, error) {
		return within(ctx, a, min(peerTime, a.timeLeft()), func(ctx context.Context) (peer.Report, error) { return do(ctx, req) })
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		a.e.o.Logger.Warn("the remote agent did not answer", "run", a.view.Head.Run, "tool", work.Tool, "error", err)
		a.view.Reported.Silence = silence(err)
	default:
		a.view.Reported.Report = report
	}
	return nil
}

// silence is what callers may be shown of an agent that did not answer.
func silence(err error) string {
	if errors.Is(err, errTooLong) {
		return "it did not answer within one activation"
	}
	return core.Clip(err.Error(), 300)
}

func (a *activation) peerRequest(again bool) PeerRequest {
	h := a.view.Head
	req := PeerRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Key: h.Run, Context: h.Thread, Again: again, Once: h.Peer.Once, Task: h.Peer.Task, Stops: h.Peer.Stops}
	if a.e.o.News != nil && h.Peer.Token != "" {
		req.Push = a.e.o.News(h.Tenant, h.Run, h.Peer.Token)
	}
	return req
}

// peerInput is the message that the run was started with.
func (a *activation) peerInput(ctx context.Context) (string, error) {
	segments, err := a.journal(ctx, a.view.Head.Seq0+1)
	if err != nil {
		return "", err
	}
	for _, m := range core.Messages(segments) {
		if m.Role == core.RoleUser {
			return m.Text(), nil
		}
	}
	return "", nil
}

// stopPeer stops the task of the agent elsewhere. An error means that this is not confirmed.
func (a *activation) stopPeer(ctx context.Context) error {
	work := a.view.Head.Peer
	p, ok := a.agent.Peers[work.Tool]
	if !ok {
		return fmt.Errorf("engine: the tool %q names no agent", work.Tool)
	}
	_, err := within(ctx, a, min(peerTime, a.timeLeft()), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.Stop(ctx, a.peerRequest(true))
	})
	return err
}
