package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine/warm"
)

// prepare loads what the run is pinned to and the round it is in.
func (a *activation) prepare(ctx context.Context) error {
	h := a.view.Head
	// the run ends as a crash loop, and what may be to blame is not touched again
	if h.Tries > a.e.o.Limits.Claims {
		a.agent.Rules, a.view.Rules = noRules{}, noRules{}
		return a.loadRound(ctx)
	}
	given, err := a.supplied(ctx)
	if err != nil {
		return err
	}
	agent, err := retrying(ctx, a.e, func() (Agent, error) {
		return a.e.o.Agents.Load(ctx, Pin{h.Tenant, h.Agent, h.Version, h.Narrow, given})
	})
	switch {
	case errors.Is(err, ErrNotFound):
		a.e.o.Logger.Error("the run's version of the agent can't run", "run", h.Run, "agent", h.Agent, "version", h.Version, "error", err)
		a.view.Broken = &core.Reason{Kind: core.Failed, Code: "agent_version_missing", Detail: missingDetail(h, err)}
	case isUnavailable(err):
		a.park(err)
	case err != nil:
		return fmt.Errorf("loading agent %q: %w", h.Agent, err)
	}
	if err != nil { // a run that ends without its agent began with this all the same
		agent = Agent{Rules: noRules{}, Supplied: given.Inert()}
	}
	if h.Peer != nil { // nothing of the definition is for it but where the agent is
		agent = Agent{Rules: noRules{}, Peers: agent.Peers}
	}
	a.agent, a.view.Rules, a.view.Supplied = agent, a.e.ruled(agent), agent.Supplied
	a.view.Hooked = hooked(agent, a.remembers())
	return a.loadRound(ctx)
}

// supplied reads what the start of the run supplied. It was stored before the run. Without it the
// run does not go on: a call of one of its tools would be taken for one of a tool that is gone.
func (a *activation) supplied(ctx context.Context) (supplied.Input, error) {
	h := a.view.Head
	if h.Supplied == "" {
		return supplied.Input{}, nil
	}
	stored, err := retrying(ctx, a.e, func() ([]byte, error) { return a.e.o.Store.Payload(ctx, h.Tenant, h.Thread, h.Supplied) })
	if err != nil {
		return supplied.Input{}, fmt.Errorf("reading what the start of the run supplied: %w", err)
	}
	return supplied.Read(stored, h.Supplied)
}

// parked is how long a run waits for its agent before it looks again.
const parked = 30 * time.Second

func isUnavailable(err error) bool {
	_, ok := errors.AsType[*AgentUnavailableError](err)
	return ok
}

// park releases the run unchanged: it drains, runs and decides nothing. Only a cancel takes effect,
// because that needs no agent.
func (a *activation) park(err error) {
	h := a.view.Head
	a.e.o.Logger.Warn("a run waits for its agent", "run", h.Run, "thread", h.Thread, "error", err)
	a.view.ParkFor = parked.Milliseconds()
}

// missingDetail says what is missing: the agent's version, or something that the version requires.
func missingDetail(h core.Head, err error) string {
	if lacks, ok := errors.AsType[*LacksError](err); ok {
		return lacks.Text
	}
	return fmt.Sprintf("version %s of agent %q is no longer stored", h.Version, h.Agent)
}

// loadRound reads what the journal knows of the round and of the state: the segments since the
// older of the two, and the last snapshot if it is before them.
func (a *activation) loadRound(ctx context.Context) error {
	h := a.view.Head
	from, inRound := h.RoundFrom()
	if h.FirstDelta != 0 && (!inRound || h.FirstDelta < from) {
		from, inRound = h.FirstDelta, true
	}
	var segments []core.Segment
	var err error
	if inRound {
		if segments, err = a.journal(ctx, from); err != nil {
			return err
		}
		a.view.Round = core.ReadRound(h, segments)
	}
	if h.Snapshot != 0 && (!inRound || h.Snapshot < from) {
		old, err := a.segment(ctx, h.Snapshot)
		if err != nil {
			return err
		}
		segments = append([]core.Segment{old}, segments...)
	}
	a.view.State = core.ReadState(h, segments)
	return nil
}

// refresh takes the time, and fetches who is notified and what the inbox refers to.
func (a *activation) refresh(ctx context.Context) error {
	a.view.Now = a.e.o.Clock.Now().UnixMilli()
	a.view.TimeUp = a.timeUp()
	a.view.Cancelled = a.view.Cancelled || a.outsideCancel(ctx, a.view.Head)
	a.view.Put++
	if err := a.subscribe(ctx); err != nil {
		return fmt.Errorf("reading who is notified: %w", err)
	}
	if err := a.lookUp(ctx); err != nil {
		return err
	}
	for _, s := range a.view.Head.Inbox {
		if _, have := a.view.Payloads[s.Ref]; s.Ref == "" || have {
			continue
		}
		body, err := retryingFor(ctx, a.e, a.patience(), func() ([]byte, error) {
			return a.e.o.Store.Payload(ctx, a.view.Head.Tenant, a.view.Head.Thread, s.Ref)
		})
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if core.Digest(body) != s.Ref {
			body = nil // not what was signed for: refused when it is read
		}
		if a.view.Payloads == nil {
			a.view.Payloads = map[string]json.RawMessage{}
		}
		a.view.Payloads[s.Ref] = body
	}
	return nil
}

// journal is the segments from..head.seq, held to the chain of stamps that the head ends.
func (a *activation) journal(ctx context.Context, from int64) ([]core.Segment, error) {
	return a.thread.Since(a.view.Head, from, a.reading(ctx))
}

// transcript is what was said so far.
func (a *activation) transcript(ctx context.Context) (*core.Transcript, error) {
	return a.thread.Transcript(a.view.Head, a.reading(ctx))
}

// reading reads what the chain of stamps proves to be all of it: at the lower price of an earlier
// state of the store if that has every segment, consistently if not.
//
//	another process   ── commits 7 ── releases
//	this one             claims: the head names 7
//	                     earlier: 5, 6               does not end in 7: not used
//	                     consistently: 5, 6, 7
func (a *activation) reading(ctx context.Context) warm.Read {
	h := a.view.Head
	return func(from int64) ([]core.Segment, error) {
		return traced(ctx, a.e, "journal", func(ctx context.Context) ([]core.Segment, error) {
			if earlier := a.e.o.Earlier; earlier != nil {
				segments, err := earlier.EarlierSegments(ctx, h.Tenant, h.Thread, from, h.Seq)
				if err == nil && core.CheckChain(h, from, segments) == nil {
					return segments, nil
				}
			}
			return retrying(ctx, a.e, func() ([]core.Segment, error) { return a.e.o.Store.Segments(ctx, h.Tenant, h.Thread, from, h.Seq) })
		})
	}
}

// segment reads one segment that the head has named.
func (a *activation) segment(ctx context.Context, seq int64) (core.Segment, error) {
	h := a.view.Head
	found, err := retrying(ctx, a.e, func() ([]core.Segment, error) { return a.e.o.Store.Segments(ctx, h.Tenant, h.Thread, seq, seq) })
	if err == nil && (len(found) != 1 || found[0].Seq != seq) {
		err = fmt.Errorf("engine: segment %d of %s is not there", seq, h.Thread)
	}
	if err != nil {
		return core.Segment{}, err
	}
	return found[0], nil
}

// noRules is for a run whose definition is gone: it only ends.
type noRules struct{}
