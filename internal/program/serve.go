package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Unavailable is an agent that cannot be served now. Reason is a sentence that may be shown to
// callers: it contains names of secrets, but no values and no paths of this machine. Err is for the
// operator.
type Unavailable struct {
	Name   string
	Reason string
	Err    error
}

// Serve deploys the agents of the directory like [Agents.Deploy], except for those that cannot be
// served: an error in one file, or a secret that is not set, does not affect the other agents.
// Starts of an unavailable agent are refused and its runs wait, because [Agents.Load] returns an
// [*engine.AgentUnavailableError] until a later Serve or Deploy finds no error.
//
// A readable definition is deployed anyway, because its denials apply. What was deployed before
// stays if an unreadable file may be its definition.
func (a *Agents) Serve(ctx context.Context, tenants ...string) (served []agent.Definition, err error) {
	a.deploying.Lock()
	defer a.deploying.Unlock()
	files, err := agentfile.ReadFiles(a.Dir)
	if err != nil {
		return nil, err
	}
	loaded, unreadable := agentfile.Sort(files)
	out := map[string]Unavailable{}
	for _, u := range unreadable {
		out[u.Name] = Unavailable{u.Name, unreadableReason(u), u.Err}
	}
	for _, d := range loaded {
		if err := a.check([]agent.Definition{d}); err != nil && out[d.Name].Name == "" {
			out[d.Name] = Unavailable{d.Name, reason(err), err}
		}
	}
	a.serving(loaded, unreadable, out)
	a.remember(files, out)
	defer a.served()
	err = each(tenants, func(tenant string) error {
		err := a.join(ctx, tenant, loaded)
		if errors.Is(err, engine.ErrNoRoom) {
			err = a.withhold(ctx, tenant, loaded)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	a.served()
	a.lookAtCalls(loaded, files)
	for _, d := range loaded {
		if a.available(d.Name) == nil {
			served = append(served, d)
		}
	}
	return served, nil
}

// serving begins a Serve. Until it ends, unavailable agents stay unavailable, because new runs
// would start with the previous version.
func (a *Agents) serving(loaded []agent.Definition, unreadable []agentfile.Unreadable, out map[string]Unavailable) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deployed, a.unreadable, a.found, a.unstored = loaded, files(unreadable), out, false
	for name, u := range out {
		a.unavailable[name] = u
	}
}

// served ends a Serve.
func (a *Agents) served() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.found != nil {
		a.unavailable, a.found = a.found, nil
	}
}

// mark records an agent that turns out to be unavailable during the deployment, unless that is
// already known. The caller holds the lock.
func (a *Agents) mark(name, why string, err error) {
	all := a.unavailable
	if a.found != nil {
		all = a.found
	}
	if _, known := all[name]; !known {
		all[name] = Unavailable{name, why, err}
		a.unavailable[name] = all[name]
	}
}

// withhold marks the agents whose new versions could not be stored for a tenant because the disk is
// full. The others are served.
func (a *Agents) withhold(ctx context.Context, tenant string, loaded []agent.Definition) error {
	before, err := a.stored.Deployed(ctx, tenant)
	if err != nil {
		return err
	}
	there := digests(before)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unstored = true
	for _, d := range loaded {
		if there[d.Name] != d.Digest() {
			why := "its definition cannot be stored, because the disk of the server is full; the server retries it"
			a.mark(d.Name, why, errors.New(why))
		}
	}
	return nil
}

// Unstored reports whether a full disk kept the last Serve from storing something. Serve must then
// be called again.
func (a *Agents) Unstored() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unstored
}

// Unavailable returns the agents that cannot be served now, by name.
func (a *Agents) Unavailable() []Unavailable {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []Unavailable
	for _, u := range a.unavailable {
		all = append(all, u)
	}
	slices.SortFunc(all, func(x, y Unavailable) int { return cmp.Compare(x.Name, y.Name) })
	return all
}

// Reasons returns why agents are unavailable, by name.
func (a *Agents) Reasons() map[string]string {
	reasons := map[string]string{}
	for _, u := range a.Unavailable() {
		reasons[u.Name] = u.Reason
	}
	return reasons
}

// available returns nil for an agent that can be served.
func (a *Agents) available(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if u, cannot := a.unavailable[name]; cannot {
		return &engine.AgentUnavailableError{Name: name, Reason: u.Reason}
	}
	return nil
}

// orphaned keeps an agent that was deployed before and that no file defines, if an unreadable file
// may contain its definition: both removing it and serving it could be wrong.
func (a *Agents) orphaned(name string) (kept bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.unreadable) == 0 {
		return false
	}
	why := fmt.Sprintf("no file defines it, but it was deployed before, and %s cannot be read", strings.Join(a.unreadable, ", "))
	a.mark(name, why, errors.New(why))
	return true
}

func files(unreadable []agentfile.Unreadable) (names []string) {
	for _, u := range unreadable {
		names = append(names, filepath.Base(u.File))
	}
	return names
}

// unreadableReason quotes nothing from the file, whose text is not for callers.
func unreadableReason(u agentfile.Unreadable) string {
	problems := agentfile.Problems(u.File, u.Err)
	return fmt.Sprintf("its file %s has %d problem(s), the first in line %d; run \"agents check\" for details",
		filepath.Base(u.File), len(problems), problems[0].Line)
}

// reason is an error of [Agents.check] in words for callers. Any other error may quote confidential
// text, so it is only logged.
func reason(err error) string {
	var why []string
	for _, e := range single(err) {
		lacks, lacking := errors.AsType[*engine.LacksError](e)
		file, unread := errors.AsType[*fs.PathError](e)
		switch {
		case lacking:
			why = append(why, lacks.Text)
		case unread:
			why = append(why, fmt.Sprintf("the file %s cannot be read", filepath.Base(file.Path)))
		default:
			why = append(why, "it cannot be set up; see the server's log")
		}
	}
	return strings.Join(slices.Compact(why), "; ")
}

// single splits joined errors.
func single(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range several.Unwrap() {
		all = append(all, single(e)...)
	}
	return all
}
