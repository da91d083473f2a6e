package stackdoctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// liveAlias is the alias through which callers reach the functions that have one.
const liveAlias = "live"

// Versions reads the published versions of functions.
type Versions interface {
	// Function reads a version, an alias or, with an empty qualifier, what was deployed last.
	Function(ctx context.Context, name, qualifier string) (Function, error)
	Alias(ctx context.Context, name, alias string) (Alias, error)
}

// Function is one version of a function.
type Function struct {
	Code        string // a digest
	State       string // Active if it can run
	Update      string // Failed if the last change failed
	Reason      string // of State or Update
	Environment map[string]string
}

// Alias says which versions callers reach.
type Alias struct {
	Version string
	Others  map[string]float64 // the share of calls of other versions, during a rollout
}

// readFunction is a function of the stack.
type readFunction struct {
	id, name string
	newest   Function // what was deployed last
	live     Function // what callers reach
	alias    *Alias   // nil if callers reach newest
	err      error
}

func readFunctions(ctx context.Context, from Versions, s Stack) (all []readFunction) {
	aliased := map[string]bool{}
	for _, a := range s.all(typeAlias) {
		if name, alias := functionOf(a.Name); alias == liveAlias {
			aliased[name] = true
		}
	}
	for _, res := range s.all(typeFunction) {
		f := readFunction{id: res.ID, name: res.Name}
		if f.newest, f.err = from.Function(ctx, res.Name, ""); f.err == nil {
			f.live = f.newest
			if aliased[res.Name] {
				f.err = f.readAlias(ctx, from)
			}
		}
		all = append(all, f)
	}
	return all
}

func (f *readFunction) readAlias(ctx context.Context, from Versions) error {
	alias, err := from.Alias(ctx, f.name, liveAlias)
	if err != nil {
		return err
	}
	f.alias = &alias
	f.live, err = from.Function(ctx, f.name, liveAlias)
	return err
}

// functionOf splits the ARN of a version or an alias into the function's name and the qualifier.
func functionOf(arn string) (name, qualifier string) {
	parts := strings.Split(arn, ":")
	if len(parts) < 2 {
		return arn, ""
	}
	return parts[len(parts)-2], parts[len(parts)-1]
}

// published is the newest version of each function that the stack has published, by the function's
// name.
func (s Stack) published() map[string]int {
	newest := map[string]int{}
	for _, v := range s.all(typeVersion) {
		name, version := functionOf(v.Name)
		if n, err := strconv.Atoi(version); err == nil {
			newest[name] = max(newest[name], n)
		}
	}
	return newest
}

func checkVersions(functions []readFunction, s Stack) []Finding {
	r := results{check: "versions"}
	if !s.settled() {
		r.warn("run the command again when the deployment is over", "not compared during a deployment")
		return r.found
	}
	published, fine := s.published(), 0
	for _, f := range functions {
		before := len(r.found)
		switch {
		case errors.Is(f.err, ErrMissing):
			r.fail("deploy again", "%s, or its alias live, was deleted", f.id)
		case f.err != nil:
			r.unread("versions of functions", f.err)
		default:
			r.version(f, published[f.name])
		}
		if f.err == nil && len(r.found) == before {
			fine++
		}
	}
	if fine > 0 {
		r.ok("%s what was deployed last%s", counted(fine, "function")+runs(fine), versionWords(s))
	}
	return r.found
}

func runs(n int) string {
	if n == 1 {
		return " runs"
	}
	return " run"
}

func versionWords(s Stack) string {
	if v := s.Parameters["Version"]; v != "" {
		return " (Version " + v + ")"
	}
	return ""
}

func (r *results) version(f readFunction, published int) {
	const again = "deploy again with another Version, as make deploy does"
	if f.live.State == "Failed" || f.live.Update == "Failed" {
		r.fail("correct the cause and deploy again", "%s can't run: %s", f.id, f.live.Reason)
	}
	if f.alias == nil {
		return
	}
	if len(f.alias.Others) > 0 {
		r.warn("wait until the rollout is over; if none is in progress, deploy again", "%s: of the calls, %s; the others go to version %s", f.id, shares(f.alias.Others), f.alias.Version)
		return
	}
	switch differ := differences(f.live, f.newest); {
	case published > 0 && f.alias.Version != strconv.Itoa(published):
		r.fail("look for a rollout that was rolled back, correct its cause and deploy again", "%s: callers reach version %s, and the stack published version %d", f.id, f.alias.Version, published)
	case len(differ) > 0:
		r.fail(again, "%s: callers don't reach what was deployed last; these differ: %s", f.id, strings.Join(differ, ", "))
	}
}

func shares(of map[string]float64) string {
	var parts []string
	for _, v := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%.0f %% go to version %s", of[v]*100, v))
	}
	return strings.Join(parts, ", ")
}

// differences names what differs between two versions. It shows no values, which may be secret.
func differences(a, b Function) (names []string) {
	if a.Code != b.Code {
		names = append(names, "the code")
	}
	all := maps.Clone(a.Environment)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b.Environment)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		x, inA := a.Environment[name]
		y, inB := b.Environment[name]
		if x != y || inA != inB {
			names = append(names, name)
		}
	}
	return names
}
