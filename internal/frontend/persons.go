package frontend

import (
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Where several people are needed, or another one than the requester, one person must not count as
// two. A caller's name tells who it is in a policy that lists names. It does not where claims do:
// one account has an address, an id and groups, in tokens that need not show all of them, and its
// name in the journal is none of these. There
//
//	who decides        is exactly one person of a policy that lists persons alone
//	who asked for it   is listed by name, as one of them
//	who made the link  is, too

// personIn is the one name of a caller in all groups of a policy: that of the person, if a group
// says in which ways the person comes, else the caller's own. Groups of escalations count from the
// beginning, so that no escalation gives a person a second name, and a second vote.
func personIn(p *vote.Policy, by string, fits func(entry string) bool) string {
	for _, group := range p.Groups() {
		if known, member := group.Person(by, fits); member && known != by {
			return known
		}
	}
	return by
}

// oneOf is the person behind a caller's name, as far as a policy says in which ways people come.
func oneOf(p *vote.Policy, by string) string {
	if p == nil {
		return vote.Name(by)
	}
	return vote.Name(personIn(p, by, func(entry string) bool { return entry == by }))
}

// signedIn says whether the caller has signed in at an identity provider, by a link or in the
// console. The account's name is apart from those of tokens, links and hooks, and changes with its
// address: it does not tell whether the person has been here in another way.
func (c Caller) signedIn() bool {
	if c.Link != nil {
		return c.Link.Require == engine.RequireSignIn
	}
	return isAccount(c.By)
}

func isAccount(by string) bool { return strings.HasPrefix(by, vote.PersonName("")) }

// byClaims says whether claims tell who the caller is to a policy.
func (c Caller) byClaims(p *vote.Policy) bool { return c.signedIn() || p.ByClaims() }

// known is the name of the one person of a policy who the caller is; "" if the policy does not
// tell. It tells only if all whom it asks are persons: any other member may be the same person.
func (c Caller) known(p *vote.Policy) string {
	if p == nil {
		return ""
	}
	var person string
	for _, g := range p.Groups() {
		for _, m := range g.Members {
			switch {
			case m.Person == "":
				return ""
			case m.Person == person || !slices.ContainsFunc(m.Is, c.is):
			case person != "":
				return "" // two people's ways
			default:
				person = m.Person
			}
		}
	}
	if person == "" {
		return ""
	}
	return vote.PersonName(person)
}

// named says whether a policy says whose a caller's name is.
func named(p *vote.Policy, by string) bool {
	return p != nil && slices.ContainsFunc(p.Groups(), func(g vote.Group) bool {
		return slices.ContainsFunc(g.Members, func(m vote.Member) bool { return m.Person != "" && slices.Contains(m.Is, by) })
	})
}

// isKnown refuses a caller of whom claims would have to tell which person it is, and do not, where
// another person is needed than those who have come before.
func (c Caller) isKnown(call core.SuspendedCall) error {
	p := call.Policy
	switch {
	case !c.byClaims(p):
		return nil
	case c.known(p) == "" && c.signedIn():
		return refusal.New(refusal.CodeNotAnApprover, "%s needs several people, or another one than its requester, and this sign-in does not show which tokens and links are the same person's; "+
			"answer with a token, or have the agent's author list each approver as a person, with a claim of the account", call.Named())
	case c.known(p) == "":
		return refusal.New(refusal.CodeNotAnApprover, "only the persons whom the policy lists decide about %s, and %s is none of them, or more than one; ask one of them", call.Named(), c.name())
	}
	if l := c.delegated(); l != nil && l.Endpoint == "" && !named(p, makerOf(*l)) {
		return refusal.New(refusal.CodeNotAnApprover, "this link can't decide about %s: the policy knows people by claims, and does not list %s, who created it; "+
			"ask for a link from a listed person, or for one with --require sign_in", call.Named(), Caller{By: makerOf(*l)}.name())
	}
	return nil
}

// askersKnown refuses to tell an approver from those who asked for the work, if claims would have
// to.
func (c Caller) askersKnown(call core.SuspendedCall, askers []string) error {
	for _, asker := range askers {
		if (c.byClaims(call.Policy) || isAccount(asker)) && !named(call.Policy, asker) {
			return refusal.New(refusal.CodeSeparationOfDuties, "%s must be approved by a caller other than its requester, and the policy, which knows people by claims, does not say who %s is, who %s; "+
				"have the agent's author list it as a person's", call.Named(), asker, askedForIt)
		}
	}
	return nil
}
