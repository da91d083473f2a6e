package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/program"
)

// deploy first writes all new versions, then makes them current. If it fails in between, every
// agent is still complete.
func deploy(ctx context.Context, to program.Definitions, agents []agentfile.Surveyed, f deployFlags) (deployment, error) {
	done := deployment{Table: f.table, Tenant: f.tenant, DryRun: f.dry, Agents: []deployedAgent{}}
	before, err := to.Deployed(ctx, f.tenant)
	if err != nil {
		return done, err
	}
	if f.keep {
		if err := undeployable(deployedCalls(agents, before, f.tenant)); err != nil {
			return done, err
		}
	}
	done.Agents = changesOf(before, agents, f.keep)
	if f.dry {
		return done, nil
	}
	bodies := map[string]agentfile.Surveyed{}
	for _, d := range agents {
		bodies[d.Name] = d
	}
	for _, change := range done.Agents {
		if change.Change == agentNew || change.Change == agentChanged {
			stored := engine.Definition{Tenant: f.tenant, Name: change.Name, Digest: change.To, Body: bodies[change.Name].Encode()}
			if err := to.PutDefinition(ctx, stored); err != nil {
				return done, err
			}
		}
	}
	return done, activate(ctx, to, done)
}

// activate makes the new versions current.
func activate(ctx context.Context, to program.Definitions, done deployment) error {
	for i, change := range done.Agents {
		var err error
		switch change.Change {
		case agentNew, agentChanged:
			err = to.Deploy(ctx, done.Tenant, change.Name, change.To)
		case agentRemoved:
			err = to.Undeploy(ctx, done.Tenant, change.Name)
		}
		if err != nil {
			return &partly{fmt.Sprintf("%d of %d agents were deployed, %s failed; run the same command again", i, len(done.Agents), change.Name), err}
		}
	}
	return nil
}

// partly is an error after which some agents are deployed and others are not.
type partly struct {
	how   string
	cause error
}

func (p *partly) Error() string { return p.how + ": " + p.cause.Error() }

func (p *partly) Unwrap() error { return p.cause }

// halfway adds the progress of a deployment to the explanation of its error.
func halfway(err, words error) error {
	how, isPartly := errors.AsType[*partly](err)
	why, worded := errors.AsType[*awscli.Problem](words)
	if !isPartly || !worded {
		return words
	}
	both := *why
	both.What = how.how + ": " + why.What
	return &both
}

// changesOf says what a deployment does to each agent, by name.
func changesOf(before []engine.Definition, agents []agentfile.Surveyed, keep bool) []deployedAgent {
	was := map[string]string{}
	for _, d := range before {
		was[d.Name] = d.Digest
	}
	changes := []deployedAgent{}
	for _, d := range agents {
		from, to, change := was[d.Name], d.Digest(), agentChanged
		switch from {
		case "":
			change = agentNew
		case to:
			change = agentSame
		}
		delete(was, d.Name)
		changes = append(changes, deployedAgent{d.Name, change, from, to})
	}
	for name, from := range was {
		if keep {
			changes = append(changes, deployedAgent{name, agentSame, from, from})
		} else {
			changes = append(changes, deployedAgent{Name: name, Change: agentRemoved, From: from})
		}
	}
	slices.SortFunc(changes, func(x, y deployedAgent) int { return cmp.Compare(x.Name, y.Name) })
	return changes
}
