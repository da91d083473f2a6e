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

// deploy writes what is not there yet: first all versions, then what new runs start with, so that
// one that fails leaves whole agents behind.
func deploy(ctx context.Context, to program.Definitions, agents []agentfile.Surveyed, f deployFlags) (deployment, error) {
	done := deployment{Table: f.table, Tenant: f.tenant, DryRun: f.dry, Agents: []deployedAgent{}}
	before, err := to.Deployed(ctx, f.tenant)
	if err != nil {
		return done, err
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
	return done, move(ctx, to, done)
}

// move makes the changes count.
func move(ctx context.Context, to program.Definitions, done deployment) error {
	for i, change := range done.Agents {
		var err error
		switch change.Change {
		case agentNew, agentChanged:
			err = to.Deploy(ctx, done.Tenant, change.Name, change.To)
		case agentRemoved:
			err = to.Undeploy(ctx, done.Tenant, change.Name)
		}
		if err != nil {
			return &partly{fmt.Sprintf("%d of %d agents were looked after, %s was not; run the same command again", i, len(done.Agents), change.Name), err}
		}
	}
	return nil
}

// partly is an error behind which some agents are deployed and others are not.
type partly struct {
	how   string
	cause error
}

func (p *partly) Error() string { return p.how + ": " + p.cause.Error() }

func (p *partly) Unwrap() error { return p.cause }

// halfway keeps how far a deployment came beside the words for what stopped it.
func halfway(err, words error) error {
	how, isPartly := errors.AsType[*partly](err)
	why, worded := errors.AsType[*awscli.Problem](words)
	if !isPartly || !worded {
		return words
	}
	told := *why
	told.What = how.how + ": " + why.What
	return &told
}

// changesOf says what becomes of each agent, by name.
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
