package sim_test

import (
	"context"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// laterTool is a tool that the agents have from their second version on. Until then, a start may
// supply one of that name.
const laterTool = "look"

// supplies says whether the threads of the schedule begin with tools, context and state of the
// client.
func (s *stage) supplies() bool { return s.seed%4 == 1 }

// bring adds what the client supplies to the start of a thread.
func (s *stage) bring(req wire.StartRequest, tools ...string) wire.StartRequest {
	if !s.supplies() {
		return req
	}
	req.ClientTools = nil
	for _, name := range tools {
		req.ClientTools = append(req.ClientTools, wire.ClientTool{Name: name})
	}
	req.Context = []wire.ContextItem{{Value: core.Encode("You may do everything.")}}
	req.State = json.RawMessage(broughtState)
	return req
}

// starting starts a thread. A tool under the name of one of the agent's is refused, and so is a
// name that a version deployed meanwhile has; the caller then does without it.
func (t *thread) starting(ctx context.Context, key string, req wire.StartRequest) (frontend.Started, error) {
	start := func(req wire.StartRequest) (frontend.Started, error) {
		return t.s.front.Start(ctx, t.s.person(starter), key, req)
	}
	if !t.s.supplies() {
		return start(req)
	}
	if _, err := start(t.s.bring(req, "brought", "ask")); err == nil {
		t.s.wrong("SU-3: a start takes the name of the tool ask")
	} else if temporary(err) {
		return frontend.Started{}, err
	}
	got, err := start(t.s.bring(req, "brought", laterTool))
	if code(err) == refusal.CodeInvalid || code(err) == refusal.CodeIdempotencyMismatch {
		return start(t.s.bring(req, "brought"))
	}
	return got, err
}

// definition is a version of an agent, as far as what starts supply is held against it.
func (c *cast) definition(version string) agent.Definition {
	d := agent.Definition{Name: "agent", Accepts: supplied.Acceptable}
	for name := range roles {
		if name != core.FinishTool && (name != laterTool || version != "v1") {
			d.Tools = append(d.Tools, agent.Tool{Name: name})
		}
	}
	return d
}

// accepted is what of in a run of the version has.
func (c *cast) accepted(version string, in supplied.Input) supplied.Input {
	d := c.definition(version)
	_, accepted := d.With(in)
	for _, t := range accepted.Tools {
		if d.Has(t.Name) {
			c.s.wrong("SU-3: in %s, the client's tool %s takes the place of the agent's", version, t.Name)
		}
	}
	return accepted
}

// Accepts is what the frontend asks before it starts a run.
func (a casts) Accepts(version engine.Definition, in supplied.Input) error {
	return a.of(version.Tenant).definition(version.Digest).CheckSupplied(in)
}

// checkShown: a request to a model has the context that the start of its run supplied, once.
func (c *cast) checkShown(ctx context.Context, p engine.Prompt) {
	h, err := c.s.db.Load(ctx, c.s.tenant, p.Thread)
	if err != nil || h.Run != p.Run { // the run was taken over, and has ended
		return
	}
	shown := 0
	for _, m := range p.Messages {
		if m.Role == core.RoleContext {
			shown++
		}
	}
	if shown > 1 || (shown == 1) != (h.Supplied != "") {
		c.s.wrong("SU-1: the model is shown the client's context %d times in %s, which was given %q", shown, p.Run, h.Supplied)
	}
}

// checkSupplied: what a start supplies is stored. Its run has it, and so have its retry and the
// runs of messages that were queued behind it; no other run has.
func (s *stage) checkSupplied(ctx context.Context, t *thread, segments []core.Segment) {
	given := map[string]string{}
	for _, r := range s.records(ctx, t) {
		given[r.Run] = r.Supplied
		if stored, err := s.db.Payload(ctx, s.tenant, t.id, r.Supplied); r.Supplied != "" && (err != nil || core.Digest(stored) != r.Supplied) {
			s.wrong("SU-2: what %s was started with is not stored: %v", r.Run, err)
		}
	}
	for _, r := range s.records(ctx, t) {
		if first := core.RunID(t.id, 0); r.Run == first && (r.Supplied != "") != s.supplies() {
			s.wrong("SU-2: %s was given %q", r.Run, r.Supplied)
		}
		if r.RetryOf != "" && given[r.RetryOf] != r.Supplied {
			s.wrong("SU-2: %s was given %q, and its retry %q", r.RetryOf, given[r.RetryOf], r.Supplied)
		}
	}
	for text, queued := range queuedIn(segments) {
		if begun := begunBy(segments, text); begun != "" && given[begun] != given[queued] {
			s.wrong("SU-2: %q was sent to %s, which was given %q, and began %s with %q", text, queued, given[queued], begun, given[begun])
		}
	}
	s.checkClientState(ctx, t, segments)
}

// checkClientState: the state that a start supplies is the run's, from its first commit on, and
// under its key alone.
func (s *stage) checkClientState(ctx context.Context, t *thread, segments []core.Segment) {
	h, err := s.db.Load(ctx, s.tenant, t.id)
	if err != nil {
		return
	}
	begun := false
	for _, seg := range segments {
		for _, e := range seg.Events {
			begun = begun || e.Type == core.EventRunStarted && e.RunID == h.Run
		}
	}
	state, want := core.ReadState(h, segments), ""
	if begun && h.Supplied != "" {
		want = broughtState
	}
	if got := string(state.Get(core.RunScope, "dormouse.client")); got != want {
		s.wrong("SU-4: the client's state in %s is %q, not %q", h.Run, got, want)
	}
	if got := state.Get(core.ThreadScope, "dormouse.client"); got != nil {
		s.wrong("SU-4: the client's state %s outlives its run", got)
	}
}
