package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Change describes the effect on one agent of reading the agent files again.
type Change struct {
	Name    string
	What    What
	Version string // the version that new runs start with; "" if none can start
	// for [Refused]: why its files are not used; for [Incomplete]: why calls fail
	Problems []agentfile.Problem
}

// What says what happened to an agent.
type What string

// The values of [What].
const (
	Added     What = "added"     // it did not exist before
	Reloaded  What = "reloaded"  // new runs start with another version, or can start again
	Unchanged What = "unchanged" // its files mean the same
	Corrected What = "corrected" // after an error, its files match the version in use again
	Removed   What = "removed"   // no file defines it any more; its started runs continue
	Refused   What = "refused"   // its files have an error; a version in use stays in use
	// new runs start, but a tool calls an agent that does not exist
	Incomplete What = "incomplete"
)

// Reload makes the agents of files the ones that new runs start with, after a [Agents.Serve] or a
// [Agents.Deploy], and returns the changes by name. Runs that have started keep their version; the
// denials of a new version apply to them, too.
//
// Each agent is checked as at a start. If its file has an error, the version in use stays in use;
// an agent without one is unavailable, as after [Agents.Serve]. Agents that did not change are not
// deployed again, because another server on the same store may have deployed another version since.
//
// tenants are all tenants that should have agents; those that have them from a Serve or a Join are
// reloaded in any case. An error means that not everything is stored, and nothing is reported; the
// next Reload continues.
func (a *Agents) Reload(ctx context.Context, files []agentfile.File, tenants ...string) ([]Change, error) {
	a.deploying.Lock()
	defer a.deploying.Unlock()
	// those that were left out because the disk was full
	err := each(tenants, func(tenant string) error { return a.joinOnce(ctx, tenant) })
	r := a.compare(files)
	err = errors.Join(err, each(a.begin(r), func(tenant string) error { return a.update(ctx, tenant, r) }))
	if err != nil {
		return nil, err
	}
	a.end(r)
	return r.changes, nil
}

// each calls do for every tenant: one whose agents can't be stored doesn't keep the others on an
// older version.
func each(tenants []string, do func(tenant string) error) (err error) {
	for _, tenant := range tenants {
		if failed := do(tenant); failed != nil {
			err = errors.Join(err, fmt.Errorf("tenant %q: %w", tenant, failed))
		}
	}
	return err
}

// begin marks what is no longer served, before anything is deployed, and returns the tenants that
// have the agents.
func (a *Agents) begin(r *reload) (tenants []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.Copy(a.unavailable, r.out)
	for _, d := range r.put {
		a.unfinished[d.Name] = true
	}
	for _, name := range r.gone {
		a.unfinished[name] = true
	}
	return slices.Sorted(maps.Keys(a.tenants))
}

// update deploys the changes to one tenant.
func (a *Agents) update(ctx context.Context, tenant string, r *reload) error {
	before, err := a.stored.Deployed(ctx, tenant)
	if err != nil {
		return err
	}
	there := digests(before)
	gone := slices.Clone(r.gone)
	for _, d := range r.put {
		if !d.MayBeUsedBy(tenant, cmp.Or(a.Home, tenant)) {
			gone = append(gone, d.Name)
			continue
		}
		if err := a.put(ctx, tenant, d, there); err != nil {
			return err
		}
	}
	for _, name := range gone {
		if there[name] == "" {
			continue
		}
		if err := a.stored.Undeploy(ctx, tenant, name); err != nil {
			return err
		}
	}
	return nil
}

// digests returns the deployed versions, by name.
func digests(deployed []engine.Definition) map[string]string {
	there := map[string]string{}
	for _, d := range deployed {
		there[d.Name] = d.Digest
	}
	return there
}

// put deploys a definition, unless it is already deployed.
func (a *Agents) put(ctx context.Context, tenant string, d agent.Definition, there map[string]string) error {
	stored := engine.Definition{Tenant: tenant, Name: d.Name, Digest: d.Digest(), Body: d.Encode()}
	if there[d.Name] == stored.Digest {
		return nil
	}
	if err := a.stored.PutDefinition(ctx, stored); err != nil {
		return err
	}
	return a.stored.Deploy(ctx, tenant, d.Name, stored.Digest)
}

// end records the deployed agents as the current ones.
func (a *Agents) end(r *reload) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deployed, a.unreadable, a.unavailable, a.incomplete = r.next, files(r.strays), r.out, r.incomplete
	a.sources, a.reported, a.unstored = r.sources, r.reported, false
	clear(a.unfinished)
}
