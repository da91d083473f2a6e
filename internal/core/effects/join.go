// Package effects combines what the hooks of one phase want.
package effects

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Join combines the effects of a phase's hooks in their order. The first hook that ends the run,
// refuses or waits counts; a tool is offered only if every hook offers it; and if two hooks wrote
// one exclusive key, all effects are discarded.
func Join(wishes []core.Effects) core.Effects {
	var all core.Effects
	writers := make([][]core.StateOp, len(wishes))
	for i, e := range wishes {
		if err := core.CheckOps(e.State); err != nil {
			e.State, all.Notes = nil, append(all.Notes, err.Error())
		}
		writers[i] = e.State
		all.Context = append(all.Context, e.Context...)
		all.Override = overlay(all.Override, e.Override)
		all.Include = bothInclude(all.Include, e.Include)
		all.Exclude = append(all.Exclude, e.Exclude...)
		all.Drop = append(all.Drop, e.Drop...)
		all.Notes = append(all.Notes, e.Notes...)
		all.Refuse = cmp.Or(all.Refuse, e.Refuse)
		all.Append = joinLines(all.Append, e.Append)
		if all.End == nil {
			all.End = endWish(e.End)
		}
		if all.Wait == nil {
			all.Wait = e.Wait
		}
	}
	ops, err := core.Merge(writers...)
	if torn, ok := errors.AsType[core.Conflict](err); ok {
		return core.Effects{Notes: all.Notes, Conflict: string(torn)}
	}
	all.State = ops
	return all
}

// endWish is a reason that a run can end with; a hook that gives none still asks for the end.
func endWish(r *core.Reason) *core.Reason {
	if r == nil || r.Kind != core.Suspended && r.Kind.String() != "" && int(r.Kind) < len(core.ReasonNames) {
		return r
	}
	return &core.Reason{Kind: core.BehaviorRequested, Code: r.Code, Detail: r.Detail}
}

func overlay(under, over *core.Override) *core.Override {
	if under == nil || over == nil {
		return cmp.Or(over, under)
	}
	return &core.Override{Instructions: cmp.Or(over.Instructions, under.Instructions), Parameters: mergedParameters(under.Parameters, over.Parameters)}
}

func mergedParameters(under, over map[string]any) map[string]any {
	merged := core.CloneMap(under)
	maps.Copy(merged, over)
	return merged
}

// bothInclude returns the tools in both lists. An empty list means all tools, so the result for no
// common tool is a list with an empty name.
func bothInclude(a, b []string) []string {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	common := slices.DeleteFunc(slices.Clone(a), func(tool string) bool { return !slices.Contains(b, tool) })
	if len(common) == 0 {
		return []string{""}
	}
	return common
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
