package program

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Change is what became of one agent when the agent files were read again.
type Change struct {
	Name     string
	What     What
	Version  string              // that new runs start with from now on; "" if none can start
	Problems []agentfile.Problem // of a [Refused] one: why its files are not used
}

// What became of an agent.
type What string

// The values of [What].
const (
	Added     What = "added"     // it was not there before
	Reloaded  What = "reloaded"  // new runs start with another version, or can start again
	Unchanged What = "unchanged" // its files say the same in other words
	Corrected What = "corrected" // its files say what is in use again, after a mistake
	Removed   What = "removed"   // no file defines it any more; runs that were started go on
	Refused   What = "refused"   // its files have a mistake; a version in use stays in use
)

// Reload makes the agents of files what new runs start with, after a [Agents.Serve] or a
// [Agents.Deploy], and returns what changed, by name. Runs that were started keep their version;
// what a new version denies counts for them, too.
//
// Each agent is checked as at a start. Where a file has a mistake, the version in use stays in use;
// an agent that has none is unavailable, as after [Agents.Serve]. Agents that did not change are
// not deployed again: another server on the same store may have deployed another version since.
//
// tenants are all that should have agents; those that a Serve or a Join gave them have theirs
// reloaded in any case. An error means that not everything is stored, and nothing is reported; the
// next Reload goes on.
func (a *Agents) Reload(ctx context.Context, files []agentfile.File, tenants ...string) ([]Change, error) {
	a.deploying.Lock()
	defer a.deploying.Unlock()
	for _, tenant := range tenants { // those that a full disk kept out
		if err := a.joinOnce(ctx, tenant); err != nil {
			return nil, err
		}
	}
	r := a.compare(files)
	for _, tenant := range a.begin(r) {
		if err := a.update(ctx, tenant, r); err != nil {
			return nil, err
		}
	}
	a.end(r)
	return r.changes, nil
}

// begin marks what is not served from now on, before anything is deployed, and returns the tenants
// that have the agents.
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

// update deploys to one tenant what changed.
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

// digests are the deployed versions, by name.
func digests(deployed []engine.Definition) map[string]string {
	there := map[string]string{}
	for _, d := range deployed {
		there[d.Name] = d.Digest
	}
	return there
}

// put deploys a definition, unless it is there.
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

// end makes what was deployed what there is.
func (a *Agents) end(r *reload) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deployed, a.unreadable, a.unavailable = r.next, files(r.strays), r.out
	a.sources, a.reported, a.unstored = r.sources, r.reported, false
	clear(a.unfinished)
}
