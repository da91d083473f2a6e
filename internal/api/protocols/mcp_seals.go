package protocols

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/mcpserver"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// seals implements [mcpserver.Seals].
type seals struct {
	Server
	caller frontend.Caller
}

// How long a user may take to answer in the client. The question itself may be open longer, for the
// other ways to answer it. What a model proposes is soon out of date.
const (
	stateLife    = 24 * time.Hour
	proposalLife = time.Hour
)

// unsigned begins a state where there are no keys.
const unsigned = "run:"

func (s seals) Run(ctx context.Context, run string) (string, error) {
	if s.Keys == nil {
		return unsigned + run, nil
	}
	keys, err := s.Keys(ctx, keyAges[0])
	if err != nil {
		return "", err
	}
	return keys.SignState(access.State{Tenant: s.caller.Tenant, By: s.caller.By, Run: run, Expires: s.Clock.Now().Add(stateLife)}), nil
}

func (s seals) OpenRun(ctx context.Context, text string) (run string, err error) {
	if s.Keys == nil {
		run, ok := strings.CutPrefix(text, unsigned)
		if !ok {
			return "", badState()
		}
		return run, nil
	}
	state, err := opened(ctx, s, text, access.LinkKeys.OpenState)
	switch {
	case errors.Is(err, access.ErrExpiredLink):
		return "", refusal.New(problems.CodeLinkExpired, "the requestState has expired; the run is where it was, so use the tools get_run and decide")
	case errors.Is(err, access.ErrBadLink), err == nil && (state.Tenant != s.caller.Tenant || state.By != s.caller.By):
		return "", badState()
	}
	return state.Run, err
}

// Proposal refuses where there are no keys: what isn't signed could be a claim of the client.
func (s seals) Proposal(ctx context.Context, p mcpserver.Proposal) (string, error) {
	if s.Keys == nil {
		return "", refusal.New(refusal.CodeInvalid, "this server has no keys to have the user confirm a decision; the question is open for the other ways to answer it")
	}
	keys, err := s.Keys(ctx, keyAges[0])
	if err != nil {
		return "", err
	}
	return keys.SignProposal(access.Proposal{Tenant: s.caller.Tenant, By: s.caller.By, Suspension: p.Suspension, Shown: p.Shown, Digest: p.Digest,
		Expires: s.Clock.Now().Add(proposalLife)}), nil
}

func (s seals) OpenProposal(ctx context.Context, text string) (p mcpserver.Proposal, err error) {
	if s.Keys == nil {
		return p, badState()
	}
	signed, err := opened(ctx, s, text, access.LinkKeys.OpenProposal)
	switch {
	case errors.Is(err, access.ErrExpiredLink):
		return p, refusal.New(problems.CodeLinkExpired, "the requestState has expired, and nothing was stored; call decide again without it, so that the user is asked")
	case errors.Is(err, access.ErrBadLink), err == nil && (signed.Tenant != s.caller.Tenant || signed.By != s.caller.By):
		return p, badState()
	}
	return mcpserver.Proposal{Suspension: signed.Suspension, Shown: signed.Shown, Digest: signed.Digest}, err
}

func badState() error {
	return refusal.New(refusal.CodeInvalid, "the requestState is not one that this server gave this caller; send it as it came, or call the tool again without it")
}

// keyAges are how old the keys may be: another server may sign with a newer one already.
var keyAges = []time.Duration{time.Minute, 5 * time.Second}

// opened reads a signed text, with newer keys if the older ones don't fit.
func opened[T any](ctx context.Context, s seals, text string, open func(access.LinkKeys, string, time.Time) (T, error)) (found T, err error) {
	for _, age := range keyAges {
		keys, err := s.Keys(ctx, age)
		if err != nil {
			return found, err
		}
		if found, err = open(keys, text, s.Clock.Now()); !errors.Is(err, access.ErrBadLink) {
			return found, err
		}
	}
	return found, access.ErrBadLink
}
