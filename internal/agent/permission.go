package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Permissions are rules, and what counts where none matches. The zero value asks about everything.
type Permissions struct {
	Default core.Effect `json:"default"`
	Block   []Rule      `json:"block,omitempty"` // end the run
	Deny    []Rule      `json:"deny,omitempty"`
	Ask     []Rule      `json:"ask,omitempty"`
	Allow   []Rule      `json:"allow,omitempty"`
}

// Rule matches calls by the tool's name and, with When, by their arguments. Tool is a name, or a pattern in which * stands for
// any text.
type Rule struct {
	Tool    string          `json:"tool"`
	Reason  string          `json:"reason,omitempty"`   // of a refusal, told to the model; of an ask, shown to the person
	Mode    core.ResumeMode `json:"mode,omitempty"`     // of an ask: how the decision becomes a result
	NoGrant bool            `json:"no_grant,omitempty"` // of an ask: each call is asked about, whatever was approved before
	When    Conditions      `json:"when,omitempty"`
}

func (r Rule) names(tool string) bool { return matchGlob(r.Tool, tool) }

// narrower says whether r matches only a part of what other matches. Of two rules that merely overlap neither is narrower.
func (r Rule) narrower(other Rule) bool {
	if !matchGlob(other.Tool, r.Tool) || !r.When.includes(other.When) {
		return false
	}
	fewerNames := !matchGlob(r.Tool, other.Tool)
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
func (m matcher) matches(tool string, args arguments) truth {
	if !m.names(tool) {
		return no
	}
	answer := yes
	for _, holds := range m.when {
		answer = min(answer, holds(args))
	}
	return answer
}

// matching are the rules that hold for a call at least as surely as is asked for.
func matching(rules []matcher, tool string, args arguments, atLeast truth) []Rule {
	var out []Rule
	for _, m := range rules {
		if m.matches(tool, args) >= atLeast {
			out = append(out, m.Rule)
		}
	}
	return out
}

// opinion is what one set of permissions says of a call: a verdict and, of an ask, the rules that ask; none if the default does.
type opinion struct {
	core.Verdict
	asks []Rule
}

// opinion is what the rules say of a call. A block that matches wins, then a deny. Otherwise a call is allowed if a rule that allows
// it is narrower than every rule that asks, so that a narrow ask beats a broad allow and where neither is narrower a person
// is asked. Without any rule the default counts. A condition that cannot be told holds for block, deny and ask and not for allow.
func (l lists) opinion(tool string, args arguments) opinion {
	if v, refused := l.refusal(tool, args); refused {
		return opinion{Verdict: v}
	}
	asks := matching(l.ask, tool, args, untold)
	for _, allow := range matching(l.allow, tool, args, yes) {
		if narrowerThanAll(allow, asks) {
			return opinion{Verdict: core.Verdict{Effect: core.Allow}}
		}
	}
	switch {
	case len(asks) > 0:
		return asking(asks)
	case l.fallback == core.Deny:
		return opinion{Verdict: refusal(core.Deny, tool, "")}
	}
	return opinion{Verdict: core.Verdict{Effect: l.fallback}}
}

// narrowing is what the rules say of a call if they can only take away: nothing where none of them matches, and nothing by allow.
func (l lists) narrowing(tool string, args arguments) opinion {
	if v, refused := l.refusal(tool, args); refused {
		return opinion{Verdict: v}
	}
	if asks := matching(l.ask, tool, args, untold); len(asks) > 0 {
		return asking(asks)
	}
	return opinion{Verdict: core.Verdict{Effect: core.Allow}}
}

func (l lists) refusal(tool string, args arguments) (core.Verdict, bool) {
	if rules := matching(l.block, tool, args, untold); len(rules) > 0 {
		return refusal(core.Block, tool, rules[0].Reason), true
	}
	if rules := matching(l.deny, tool, args, untold); len(rules) > 0 {
		return refusal(core.Deny, tool, rules[0].Reason), true
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

// grantKey names what an approval for the rest of a run allows: later calls of the tool about which the same rules would ask, and no
// others. Were it the first rule alone, a call that a second one asks about as well would run without that being shown.
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

// refusesAlways says by what no call of the tool can ever run, whatever its arguments; false if some can.
func (p Permissions) refusesAlways(tool string) (core.Effect, bool) {
	whole := func(r Rule) bool { return len(r.When) == 0 && r.names(tool) }
	switch {
	case slices.ContainsFunc(p.Block, whole):
		return core.Block, true
	case slices.ContainsFunc(p.Deny, whole):
		return core.Deny, true
	}
	return core.Deny, p.Default == core.Deny && tool != core.FinishTool && !anyNames(tool, p.Ask, p.Allow)
}

func anyNames(tool string, lists ...[]Rule) bool {
	for _, r := range slices.Concat(lists...) {
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
		if len(r.When) == 0 && r.names(tool) && narrowerThanAll(r, asks) {
			return Rule{}, false
		}
	}
	return asks[0], true
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
