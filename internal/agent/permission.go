package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// Permissions are rules, and what counts where none matches. The zero value asks about everything.
type Permissions struct {
	Default core.Effect `json:"default"`
	Block   []Rule      `json:"block,omitempty"` // end the run
	Deny    []Rule      `json:"deny,omitempty"`
	Ask     []Rule      `json:"ask,omitempty"`
	Allow   []Rule      `json:"allow,omitempty"`
}

// Rule matches calls by tool name, by Target (where the call goes) and, with When, by their
// arguments. Tool is a name or a pattern in which * matches any text.
type Rule struct {
	Tool string `json:"tool"`
	// as readAim reads it; with it, Tool may be *
	Target string `json:"target,omitempty"`
	// of a denial, shown to the model; of an ask, shown to the approver
	Reason string `json:"reason,omitempty"`
	// of an ask: how the decision becomes a result
	Mode core.ResumeMode `json:"mode,omitempty"`
	// of an ask: every call needs its own approval; grants don't apply
	NoGrant bool `json:"no_grant,omitempty"`
	// of an ask: core.NotByStarter, or empty: any approver
	NotBy string `json:"not_by,omitempty"`
	// of an ask: who decides; nil: the agent's default
	Approval *vote.Policy `json:"approval,omitempty"`
	When     Conditions   `json:"when,omitempty"`
}

// narrower says whether r matches only a part of what other matches. Of two rules that merely
// overlap neither is narrower.
func (r Rule) narrower(other Rule) bool {
	own, err := ReadAim(r.Target)
	others, err2 := ReadAim(other.Target)
	if err != nil || err2 != nil || !matchGlob(other.Tool, r.Tool) || !r.When.includes(other.When) || !own.within(others) {
		return false
	}
	fewerNames := !matchGlob(r.Tool, other.Tool) || !others.within(own)
	fewerCalls := !other.When.includes(r.When)
	return fewerNames || fewerCalls
}

// lists are permissions made ready to be asked: their patterns are compiled.
type lists struct {
	block, deny, ask, allow []matcher
	fallback                core.Effect
}

// matcher is a rule made ready.
type matcher struct {
	Rule
	when []func(arguments) truth
}

func (p Permissions) ready() lists {
	return lists{matchers(p.Block), matchers(p.Deny), matchers(p.Ask), matchers(p.Allow), p.Default}
}

func matchers(rules []Rule) []matcher {
	var out []matcher
	for _, r := range rules {
		m := matcher{Rule: r}
		for _, c := range r.When {
			m.when = append(m.when, c.ready())
		}
		out = append(out, m)
	}
	return out
}

// matches says whether the rule holds for a call.
func (m matcher) matches(s subject, args arguments) truth {
	answer := m.aimed(s, args)
	if answer == no {
		return no
	}
	for _, holds := range m.when {
		answer = min(answer, holds(args))
	}
	return answer
}

// targeted are the rules that name a target.
func (l lists) targeted() lists {
	named := func(rules []matcher) (out []matcher) {
		for _, m := range rules {
			if m.Target != "" {
				out = append(out, m)
			}
		}
		return out
	}
	return lists{named(l.block), named(l.deny), named(l.ask), named(l.allow), l.fallback}
}

// matching are the rules that hold for a call at least as surely as is asked for.
func matching(rules []matcher, s subject, args arguments, atLeast truth) []Rule {
	var out []Rule
	for _, m := range rules {
		if m.matches(s, args) >= atLeast {
			out = append(out, m.Rule)
		}
	}
	return out
}

// opinion is what one set of permissions says of a call: a verdict and, of an ask, the rules that
// ask; none if the default does.
type opinion struct {
	core.Verdict
	asks []Rule
}

// opinion is what the rules say about a call. A block that matches wins, then a deny. Otherwise the
// call is allowed if an allow rule is narrower than every ask rule that matches: a narrow ask beats
// a broad allow, and if neither is narrower, a person is asked. If no rule matches, the default
// applies. An untold condition counts as met for block, deny and ask, but not for allow.
func (l lists) opinion(s subject, args arguments) opinion {
	if v, refused := l.refusal(s, args); refused {
		return opinion{Verdict: v}
	}
	asks := matching(l.ask, s, args, untold)
	for _, allow := range matching(l.allow, s, args, Yes) {
		if narrowerThanAll(allow, asks) {
			return opinion{Verdict: core.Verdict{Effect: core.Allow}}
		}
	}
	switch {
	case len(asks) > 0:
		return asking(asks)
	case l.fallback == core.Deny:
		return opinion{Verdict: refusal(core.Deny, s.tool, "")}
	}
	return opinion{Verdict: core.Verdict{Effect: l.fallback}}
}

// narrowing is what the rules say of a call if they can only take away: nothing where none of them
// matches, and nothing by allow.
func (l lists) narrowing(s subject, args arguments) opinion {
	if v, refused := l.refusal(s, args); refused {
		return opinion{Verdict: v}
	}
	if asks := matching(l.ask, s, args, untold); len(asks) > 0 {
		return asking(asks)
	}
	return opinion{Verdict: core.Verdict{Effect: core.Allow}}
}

func (l lists) refusal(s subject, args arguments) (core.Verdict, bool) {
	if rules := matching(l.block, s, args, untold); len(rules) > 0 {
		return refusal(core.Block, s.tool, rules[0].Reason), true
	}
	if rules := matching(l.deny, s, args, untold); len(rules) > 0 {
		return refusal(core.Deny, s.tool, rules[0].Reason), true
	}
	return core.Verdict{}, false
}

func refusal(e core.Effect, tool, reason string) core.Verdict {
	return core.Verdict{Effect: e, Reason: cmp.Or(reason, fmt.Sprintf("The permissions in force do not allow %s.", tool))}
}

func asking(asks []Rule) opinion {
	ask := narrowest(asks)
	return opinion{core.Verdict{Effect: core.Ask, Reason: ask.Reason, Mode: ask.Mode}, asks}
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

// grantKey names what an approval for the rest of a run allows: later calls of the tool about which
// the same rules would ask, and no others. Were it the first rule alone, a call that a second one
// asks about as well would run without that being shown.
func grantKey(tool string, opinions []opinion) string {
	var by []json.RawMessage
	for _, o := range opinions {
		if o.Effect != core.Ask {
			continue
		}
		if len(o.asks) == 0 {
			by = append(by, core.Encode("default"))
		}
		for _, r := range o.asks {
			if r.NoGrant {
				return ""
			}
			by = append(by, core.Encode(r))
		}
	}
	return tool + ":" + core.Digest(core.Encode(by))[:16]
}

// RefusesAlways returns the effect that stops every call of the tool, regardless of its arguments.
// It returns false if some calls can run.
func (p Permissions) RefusesAlways(s subject) (core.Effect, bool) {
	whole := func(r Rule) bool { return len(r.When) == 0 && r.aimed(s, nil) == Yes }
	switch {
	case slices.ContainsFunc(p.Block, whole):
		return core.Block, true
	case slices.ContainsFunc(p.Deny, whole):
		return core.Deny, true
	}
	return core.Deny, p.Default == core.Deny && s.tool != core.FinishTool && !anyAimed(s, p.Ask, p.Allow)
}

func anyAimed(s subject, lists ...[]Rule) bool {
	for _, r := range slices.Concat(lists...) {
		if r.aimed(s, nil) != no {
			return true
		}
	}
	return false
}

// AsksFor returns a rule that puts the tool behind an approval; false if there is none, or a
// narrower allow lifts them all. The default is no rule.
func (p Permissions) AsksFor(s subject) (Rule, bool) {
	var asks []Rule
	for _, r := range p.Ask {
		if r.aimed(s, nil) != no {
			asks = append(asks, r)
		}
	}
	if len(asks) == 0 {
		return Rule{}, false
	}
	for _, r := range p.Allow {
		if len(r.When) == 0 && r.aimed(s, nil) == Yes && narrowerThanAll(r, asks) {
			return Rule{}, false
		}
	}
	return asks[0], true
}

// matchGlob reports whether pattern, in which * matches any text, matches name. If name is itself a
// pattern, it reports whether pattern covers everything that name matches.
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
