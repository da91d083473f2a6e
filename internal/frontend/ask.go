package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Asked is a checked request for an ask; package asks reads what callers send.
type Asked struct {
	Title     string
	Arguments json.RawMessage // an object; nil for none
	Terms     ask.Terms
	// who decides, by a name that the operator defines; at most one of them. Left out where
	// empty, so that the digests of requests without them stay.
	Group    string `json:",omitempty"`
	Policy   string `json:",omitempty"`
	Metadata json.RawMessage
	Notify   []wire.NotifyTarget
}

// StartAsk starts a run of the built-in agent, once for each key, as [Frontend.Start] does. No
// other request starts one.
func (f *Frontend) StartAsk(ctx context.Context, c Caller, key string, a Asked) (Started, error) {
	b, err := f.begin(c, "start", key, "", ask.Input(a.Title, a.Arguments))
	if err != nil {
		return Started{}, err
	}
	terms := a.Terms // what the names mean now: a repeat of the request names the same
	if terms.Policy, err = f.asking.Of(a.Group, a.Policy); err != nil {
		return Started{}, refusal.New(refusal.CodeInvalid, "%v", err)
	}
	b.agent, b.ask, b.narrow = ask.Agent, &a, terms.Encode()
	if len(b.narrow) > f.limits.Narrow {
		return Started{}, refusal.New(refusal.CodeInvalid, "approvers or the policy are larger than %d bytes", f.limits.Narrow)
	}
	if b.metadata, err = f.readMetadata(a.Metadata); err != nil {
		return Started{}, err
	}
	if b.notify, b.targets, err = readNotify(a.Notify, ""); err != nil {
		return Started{}, aboutCallback(err)
	}
	if b.digest, err = digest(a); err != nil {
		return Started{}, err
	}
	return f.startThread(ctx, c, b)
}

// GroupsOf are the names of the operator's groups that the caller is a member of, sorted.
func (f *Frontend) GroupsOf(c Caller) []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(f.asking.Groups)) {
		if _, member := f.asking.Groups[name].Person(c.By, c.is); member {
			names = append(names, name)
		}
	}
	return names
}

// aboutCallback names the member of the request for an ask that becomes a target.
func aboutCallback(err error) error {
	if refused, ok := errors.AsType[*refusal.Error](err); ok {
		refused.Detail = strings.Replace(refused.Detail, "notify[0]", "callback", 1)
	}
	return err
}

// mayAsk refuses what no ask is: a run of the built-in agent that was not started as one, and
// arguments that the operator's rules forbid.
func (f *Frontend) mayAsk(ctx context.Context, tenant string, def engine.Definition, b beginning) error {
	switch {
	case b.agent != ask.Agent:
		return nil
	case b.ask == nil:
		return noAsk()
	case f.check == nil:
		return nil
	}
	call := core.ToolCall{ID: ask.Call, Name: ask.Tool, Arguments: b.ask.Arguments}
	if core.IsNull(call.Arguments) {
		call.Arguments = json.RawMessage(`{}`)
	}
	_, err := f.check(ctx, engine.Pin{Tenant: tenant, Name: def.Name, Version: def.Digest, Narrow: b.narrow}, call)
	if err == nil || errors.Is(err, engine.ErrUnavailable) {
		return err
	}
	return refusal.New(refusal.CodeInvalidArguments, "%v", err)
}

func noAsk() *refusal.Error {
	return refusal.New(refusal.CodeInvalid, "the agent %s is built in and takes neither starts, messages nor retries; ask with POST /v1/asks", ask.Agent)
}
