package program

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// source is the file that the definition of an agent was read from.
type source struct{ path, digest string }

func sourceOf(f agentfile.File) source {
	var all []string
	for _, path := range slices.Sorted(maps.Keys(f.From)) {
		all = append(all, path+"\n"+f.From[path])
	}
	return source{f.Path, core.Digest([]byte(strings.Join(all, "\n")))}
}

// sourcesOf returns the sources of the agents in files, by name. If two files define the same name,
// the first counts.
func sourcesOf(files []agentfile.File) map[string]source {
	sources := map[string]source{}
	for _, f := range files {
		if _, twice := sources[f.Name]; f.Err == nil && !twice {
			sources[f.Name] = sourceOf(f)
		}
	}
	return sources
}

// stateOf identifies a state of files.
func stateOf(files []agentfile.File, about func(agentfile.File) bool) string {
	var all []string
	for _, f := range files {
		if about(f) {
			all = append(all, f.Path+"\n"+sourceOf(f).digest)
		}
	}
	return strings.Join(all, "\n")
}

// remember records what a Serve or a Deploy read, so that a Reload can detect changes.
func (a *Agents) remember(files []agentfile.File, out map[string]Unavailable) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sources, a.reported = sourcesOf(files), map[string]string{}
	clear(a.unfinished)
	for name := range out {
		a.reported[name] = stateOf(files, func(f agentfile.File) bool { return f.Name == name })
	}
}

// reload is the plan of a Reload.
type reload struct {
	agents *Agents
	files  []agentfile.File

	// The state before it.
	used       map[string]agent.Definition // new runs start with these
	held       map[string]agent.Definition // deployed, but unavailable
	was        map[string]Unavailable
	known      map[string]source
	said       map[string]string
	unfinished map[string]bool
	lacked     problemsOf

	// The content of the files.
	good   map[string]agent.Definition
	wrong  map[string][]agentfile.Unreadable
	strays []agentfile.Unreadable // of no agent that is known to be in use

	// The state after it.
	next     []agent.Definition
	out      map[string]Unavailable
	sources  map[string]source
	reported map[string]string

	incomplete problemsOf

	put     []agent.Definition
	gone    []string
	changes []Change
}

// compare plans a Reload. It changes nothing.
func (a *Agents) compare(files []agentfile.File) *reload {
	r := a.before()
	r.files = owned(files, r.known)
	r.sources = sourcesOf(r.files)
	loaded, unreadable := agentfile.Sort(r.files)
	for _, d := range loaded {
		r.good[d.Name] = d
	}
	for _, u := range unreadable {
		r.wrong[u.Name] = append(r.wrong[u.Name], u)
		if _, used := r.used[u.Name]; !used {
			r.strays = append(r.strays, u)
		}
	}
	for _, name := range r.names() {
		r.look(name)
	}
	r.lookAtCalls()
	return r
}

// before returns a plan with the current state.
func (a *Agents) before() *reload {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := &reload{agents: a, used: map[string]agent.Definition{}, held: map[string]agent.Definition{},
		was: maps.Clone(a.unavailable), known: a.sources, said: a.reported, unfinished: maps.Clone(a.unfinished), lacked: a.incomplete,
		good: map[string]agent.Definition{}, wrong: map[string][]agentfile.Unreadable{},
		out: map[string]Unavailable{}, reported: map[string]string{}}
	for _, d := range a.deployed {
		if _, unavailable := a.unavailable[d.Name]; unavailable {
			r.held[d.Name] = d
		} else {
			r.used[d.Name] = d
		}
	}
	return r
}

// owned assigns a file with an error to the agent that it defined before: its present name may be
// part of the error.
func owned(files []agentfile.File, known map[string]source) []agentfile.File {
	files = slices.Clone(files)
	for name, s := range known {
		for i, f := range files {
			if f.Err != nil && f.Path == s.path {
				files[i].Name = name
			}
		}
	}
	return files
}

// names returns the names of all current and previous agents.
func (r *reload) names() []string {
	all := maps.Clone(r.unfinished)
	for name := range r.good {
		all[name] = true
	}
	for name := range r.wrong {
		all[name] = true
	}
	for name := range r.used {
		all[name] = true
	}
	for name := range r.was {
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// look plans what happens to one agent.
func (r *reload) look(name string) {
	d, defined := r.good[name]
	used, inUse := r.used[name]
	problems, why := r.problems(name)
	switch {
	case len(problems) > 0 && inUse:
		r.keep(used, problems, stateOf(r.files, func(f agentfile.File) bool { return f.Name == name }))
	case len(problems) > 0:
		r.leaveOut(name, problems, why)
	case defined && inUse:
		r.replace(used, d)
	case defined:
		r.serve(d)
	case inUse && len(r.strays) > 0:
		r.keep(used, r.maybeIn(name), "astray\n"+stateOf(r.files, func(f agentfile.File) bool { return f.Err != nil }))
	case len(r.strays) > 0 && r.orphan(name):
		r.out[name] = r.was[name]
	default:
		r.remove(name)
	}
}

// orphan reports whether an agent is unavailable because no file defined it when the server
// started, see [Agents.orphaned].
func (r *reload) orphan(name string) bool {
	_, unavailable := r.was[name]
	_, held := r.held[name]
	return unavailable && !held && r.said[name] == ""
}

// problems returns what prevents the use of an agent's files, and the reason for callers. The
// version in use is not checked again.
func (r *reload) problems(name string) (problems []agentfile.Problem, why Unavailable) {
	for _, u := range r.wrong[name] {
		problems = append(problems, agentfile.Problems(u.File, u.Err)...)
		why = Unavailable{name, unreadableReason(u), u.Err}
	}
	d, defined := r.good[name]
	used, inUse := r.used[name]
	if len(problems) > 0 || !defined || inUse && used.Digest() == d.Digest() {
		return problems, why
	}
	err := r.agents.check([]agent.Definition{d})
	if err == nil {
		return nil, why
	}
	at := slices.IndexFunc(r.files, func(f agentfile.File) bool { return f.Err == nil && f.Name == name })
	return lacking(r.files[at], err), Unavailable{name, reason(err), err}
}

// lacking returns the problems of a readable file whose agent this program cannot serve.
func lacking(f agentfile.File, err error) (problems []agentfile.Problem) {
	for _, e := range single(err) {
		line := 1
		if lacks, ok := errors.AsType[*engine.LacksError](e); ok {
			line = f.Line(lacks.Name)
		}
		problems = append(problems, agentfile.NewProblem(f.Path, line, strings.TrimPrefix(e.Error(), "agent "+f.Name+": ")))
	}
	return problems
}

// maybeIn reports that an unreadable file may define an agent.
func (r *reload) maybeIn(name string) (problems []agentfile.Problem) {
	for _, u := range r.strays {
		first := agentfile.Problems(u.File, u.Err)[0]
		problems = append(problems, agentfile.NewProblem(u.File, first.Line,
			fmt.Sprintf("no other file defines %s any more, and this one cannot be read; fix it or remove it", name)))
	}
	return problems
}

// keep leaves the version in use unchanged.
func (r *reload) keep(used agent.Definition, problems []agentfile.Problem, state string) {
	r.next = append(r.next, used)
	r.sources[used.Name] = r.known[used.Name]
	if r.unfinished[used.Name] {
		r.put = append(r.put, used)
	}
	r.refuse(used.Name, used.Digest(), problems, state)
}

// leaveOut makes an agent unavailable that was not in use. A readable definition is deployed
// anyway, as by [Agents.Serve].
func (r *reload) leaveOut(name string, problems []agentfile.Problem, why Unavailable) {
	r.out[name] = why
	if d, defined := r.good[name]; defined {
		r.next, r.put = append(r.next, d), append(r.put, d)
	} else if held, deployed := r.held[name]; deployed {
		r.next = append(r.next, held)
	}
	r.refuse(name, "", problems, stateOf(r.files, func(f agentfile.File) bool { return f.Name == name }))
}

// refuse reports the errors in the files of an agent, once for each state of them.
func (r *reload) refuse(name, version string, problems []agentfile.Problem, state string) {
	r.reported[name] = state
	if r.said[name] != state {
		r.changes = append(r.changes, Change{name, Refused, version, problems})
	}
}

// replace makes d the version in use; it may already be that version.
func (r *reload) replace(used, d agent.Definition) {
	what := Unchanged
	switch {
	case used.Digest() != d.Digest():
		what = Reloaded
	case r.said[d.Name] != "":
		what = Corrected
	}
	r.next = append(r.next, d)
	if what == Reloaded || r.unfinished[d.Name] {
		r.put = append(r.put, d)
	}
	if what != Unchanged || r.known[d.Name] != r.sources[d.Name] {
		r.changes = append(r.changes, Change{Name: d.Name, What: what, Version: d.Digest()})
	}
}

// remove removes an agent. An agent that only a failed Reload has added was never reported.
func (r *reload) remove(name string) {
	r.gone = append(r.gone, name)
	_, inUse := r.used[name]
	_, unavailable := r.was[name]
	if inUse || unavailable {
		r.changes = append(r.changes, Change{Name: name, What: Removed})
	}
}

// serve makes an unavailable agent available.
func (r *reload) serve(d agent.Definition) {
	what := Added
	if _, unavailable := r.was[d.Name]; unavailable {
		what = Reloaded
	}
	r.next, r.put = append(r.next, d), append(r.put, d)
	r.changes = append(r.changes, Change{Name: d.Name, What: what, Version: d.Digest()})
}
