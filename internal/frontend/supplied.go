package frontend

import (
	"context"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runinput"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// given is what a request supplies for the run that it starts, as it is stored and by its digest.
type given struct {
	supplied.Input
	digest string          // empty: nothing
	stored json.RawMessage // nil if it is stored already
}

func readGiven(req wire.Supplied) (g given, err error) {
	if g.Input, err = runinput.Supplied(req); err == nil && !g.Empty() {
		g.stored, err = g.Encode()
	}
	if err != nil {
		return given{}, refusal.New(refusal.CodeInvalid, "%v", err)
	}
	if g.stored != nil {
		g.digest = core.Digest(g.stored)
	}
	return g, nil
}

// giveAgain is what the start of an earlier run supplied: a retry of that run has it too.
func (f *Frontend) giveAgain(ctx context.Context, tenant string, r core.Record) (given, error) {
	pin, err := f.pinOf(ctx, tenant, r)
	return given{Input: pin.Supplied, digest: r.Supplied}, err
}

// mayBring refuses what the version that the run would start with does not accept. Without
// [Options.Accepts], nothing is.
func (f *Frontend) mayBring(def engine.Definition, g given) error {
	if g.Empty() {
		return nil
	}
	if f.accepts == nil {
		return refusal.New(refusal.CodeInvalid, "this server accepts no client_tools, context or state")
	}
	if err := f.accepts(def, g.Input); err != nil {
		return refusal.New(refusal.CodeInvalid, "%v", err)
	}
	return nil
}

// putGiven stores what a start supplies before the head of its run refers to it.
func (f *Frontend) putGiven(ctx context.Context, tenant, thread string, g given) error {
	if g.stored == nil {
		return nil
	}
	return f.putPayload(ctx, tenant, thread, g.digest, g.stored)
}

// pinOf is what a run is pinned to, with what its start supplied.
func (f *Frontend) pinOf(ctx context.Context, tenant string, r core.Record) (engine.Pin, error) {
	pin := engine.Pin{Tenant: tenant, Name: r.Agent, Version: r.Version, Narrow: r.Narrow}
	if r.Supplied == "" {
		return pin, nil
	}
	stored, err := storecall.Try(ctx, f.Clock, func() ([]byte, error) { return f.Store.Payload(ctx, tenant, r.Thread, r.Supplied) })
	if err == nil {
		pin.Supplied, err = supplied.Read(stored, r.Supplied)
	}
	return pin, err
}
