package agent

import (
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Rule matches calls by the tool's name and, with When, by one argument. Tool is a name, or a pattern in which * stands for
// any text.
type Rule struct {
	Tool   string          `json:"tool"`
	Reason string          `json:"reason,omitempty"` // of a denial, told to the model; of an ask, shown to the person
	Mode   core.ResumeMode `json:"mode,omitempty"`   // of an ask: how the decision becomes a result
	When   *Condition      `json:"when,omitempty"`
}

func (r Rule) names(tool string) bool { return matchGlob(r.Tool, tool) }

// matches says whether the rule holds for a call; unsure is the answer for an argument its condition cannot be put to.
func (r Rule) matches(tool string, args arguments, unsure bool) bool {
	if !r.names(tool) {
		return false
	}
	if r.When == nil {
		return true
	}
	holds, known := r.When.holds(args)
	return holds && known || !known && unsure
}

// narrower says whether r matches only a part of what other matches. Of two rules that merely overlap neither is narrower.
func (r Rule) narrower(other Rule) bool {
	if !matchGlob(other.Tool, r.Tool) || other.When != nil && !r.When.equal(other.When) {
		return false
	}
	fewerNames := !matchGlob(r.Tool, other.Tool)
	fewerCalls := r.When != nil && other.When == nil
	return fewerNames || fewerCalls
}

// verdict is what the rules say of a call. A deny that matches wins. Otherwise a call is allowed if a rule that allows it is
// narrower than every rule that asks, so that a narrow ask beats a broad allow and where neither is narrower a person is
// asked. Without any rule the default counts. A condition that cannot be told holds for deny and ask and not for allow.
func (p Permissions) verdict(tool string, args arguments) core.Verdict {
	if rule, ok := first(p.Deny, tool, args, true); ok {
		return denial(tool, rule.Reason)
	}
	asks := all(p.Ask, tool, args, true)
	for _, allow := range all(p.Allow, tool, args, false) {
		if narrowerThanAll(allow, asks) {
			return core.Verdict{Effect: core.Allow}
		}
	}
	switch {
	case len(asks) > 0:
		ask := narrowest(asks)
		return core.Verdict{Effect: core.Ask, Reason: ask.Reason, Mode: ask.Mode}
	case p.Default == core.Deny:
		return denial(tool, "")
	}
	return core.Verdict{Effect: p.Default}
}

func denial(tool, reason string) core.Verdict {
	if reason == "" {
		reason = fmt.Sprintf("The permissions of this agent do not allow %s.", tool)
	}
	return core.Verdict{Effect: core.Deny, Reason: reason}
}

func first(rules []Rule, tool string, args arguments, unsure bool) (Rule, bool) {
	for _, r := range rules {
		if r.matches(tool, args, unsure) {
			return r, true
		}
	}
	return Rule{}, false
}

func all(rules []Rule, tool string, args arguments, unsure bool) []Rule {
	var out []Rule
	for _, r := range rules {
		if r.matches(tool, args, unsure) {
			out = append(out, r)
		}
	}
	return out
}

func narrowerThanAll(r Rule, others []Rule) bool {
	for _, o := range others {
		if !r.narrower(o) {
			return false
		}
	}
	return true
}

// narrowest is the first rule that no other is narrower than: its reason is the most to the point.
func narrowest(rules []Rule) Rule {
	best := rules[0]
	for _, r := range rules[1:] {
		if r.narrower(best) {
			best = r
		}
	}
	return best
}

// deniesAlways says whether no call of the tool can ever run, whatever its arguments.
func (p Permissions) deniesAlways(tool string) bool {
	for _, r := range p.Deny {
		if r.When == nil && r.names(tool) {
			return true
		}
	}
	return p.Default == core.Deny && !anyNames(p.Ask, tool) && !anyNames(p.Allow, tool)
}

func anyNames(rules []Rule, tool string) bool {
	for _, r := range rules {
		if r.names(tool) {
			return true
		}
	}
	return false
}

// asksFor returns a rule that puts the tool behind an approval; false if there is none, or a narrower allow lifts them all. The
// default is no rule.
func (p Permissions) asksFor(tool string) (Rule, bool) {
	var asks []Rule
	for _, r := range p.Ask {
		if r.names(tool) {
			asks = append(asks, r)
		}
	}
	if len(asks) == 0 {
		return Rule{}, false
	}
	for _, r := range p.Allow {
		if r.When == nil && r.names(tool) && narrowerThanAll(r, asks) {
			return Rule{}, false
		}
	}
	return asks[0], true
}

// Permission is what the rules say of a tool in one word for a person: allow, ask, deny, or conditional if it
// depends on the arguments.
func (d Definition) Permission(tool string) string {
	for _, rules := range [][]Rule{d.Permissions.Deny, d.Permissions.Ask, d.Permissions.Allow} {
		for _, r := range rules {
			if r.When != nil && r.names(tool) && !d.Permissions.deniesAlways(tool) {
				return "conditional"
			}
		}
	}
	return d.gate(tool, nil).Effect.String()
}

// gate is the verdict of this definition alone. Whoever runs a client tool decides for itself whether to, so the default does
// not ask for one.
func (d Definition) gate(tool string, args arguments) core.Verdict {
	v := d.Permissions.verdict(tool, args)
	if v.Effect == core.Ask && d.isClient(tool) {
		if _, gated := d.Permissions.asksFor(tool); !gated {
			return core.Verdict{Effect: core.Allow}
		}
	}
	return v
}

func (d Definition) isClient(tool string) bool {
	for _, t := range d.Tools {
		if t.Name == tool {
			return t.Client
		}
	}
	return false
}

// matchGlob says whether pattern, in which * stands for any text, matches name. Given a pattern as name it says whether
// that one fits wholly into this one.
func matchGlob(pattern, name string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, head) {
		return false
	}
	name = name[len(head):]
	pieces := strings.Split(rest, "*")
	last := len(pieces) - 1
	for _, piece := range pieces[:last] {
		i := strings.Index(name, piece)
		if i < 0 {
			return false
		}
		name = name[i+len(piece):]
	}
	return strings.HasSuffix(name, pieces[last])
}
