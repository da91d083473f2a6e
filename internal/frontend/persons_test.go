package frontend_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

func who(name string, ways ...string) vote.Member { return vote.Member{Person: name, Is: ways} }

func persons(need int, members ...vote.Member) *vote.Policy {
	return &vote.Policy{Name: "p", Stages: []vote.Stage{{Group: vote.Group{Name: "team", Members: members}, Need: need}}}
}

// claimed is the holder of a provider's token. Ann has the subject u-1, ben u-3.
func claimed(t *testing.T, subject, email string) frontend.Caller {
	t.Helper()
	claims := map[string]string{"sub": subject, "iss": "https://idp", "t": "default", "r": "decide link start", "groups": "fin"}
	if email != "" {
		claims["email"], claims["email_verified"] = email, "true"
	}
	p, err := access.Admission{TenantClaim: "t", RolesClaim: "r"}.JWT(claims)
	if err != nil {
		t.Fatal(err)
	}
	return frontend.Caller{Tenant: p.Tenant, By: p.By(), Via: "api", Roles: p.Roles, Claims: p.Claims}
}

func (x *fixture) account(run, sus, link string, claims map[string]string) frontend.Caller {
	x.t.Helper()
	p, err := access.Person("default", claims)
	if err != nil {
		x.t.Fatal(err)
	}
	return frontend.Account(engine.Link{Tenant: "default", Run: run, ID: link, Suspension: sus, Call: "c1", For: "x", Maker: "mailer", Require: engine.RequireSignIn}, p)
}

func linkOf(run, sus, address, maker string) frontend.Caller {
	return frontend.LinkCaller(engine.Link{Tenant: "default", Run: run, ID: "lnk_" + address, Suspension: sus, Call: "c1", For: address, Maker: maker})
}

// The requester is known by claims or as an account, and comes again in another way.
func TestTheRequesterDoesNotApproveInAnyWay(t *testing.T) {
	ann := []string{"token:ann", "claim:sub=u-1", "claim:email=ann@x", "link:ann@x"}
	policy := persons(1, who("ann", ann...), who("ben", "token:ben"), who("shop", "token:shop"))
	address := map[string]string{"sub": "u-1", "iss": "https://idp", "email": "ann@x", "email_verified": "true"}
	ways := map[string]func(x *fixture, run, sus string) frontend.Caller{
		"a token of the provider": func(x *fixture, _, _ string) frontend.Caller { return claimed(x.t, "u-1", "") },
		"a token":                 func(*fixture, string, string) frontend.Caller { return named("ann") },
		"a link":                  func(_ *fixture, run, sus string) frontend.Caller { return linkOf(run, sus, "ann@x", "shop") },
		"an account":              func(x *fixture, run, sus string) frontend.Caller { return x.account(run, sus, "lnk_"+sus, address) },
	}
	for asks, asker := range ways {
		for approves, approver := range ways {
			t.Run(asks+" asks, "+approves+" approves", func(t *testing.T) {
				x := newFixture(t, nil)
				x.worker.Who = true
				run := x.startAs(named("shop"))
				sus := x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "ask", Kind: core.KindInput},
					frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter, Policy: policy, Approvers: policy.Stages[0].Group.Entries()})
				answer := wire.Decision{Target: sus["c1"], Action: "resume", Result: []byte(`"to Eve"`)}
				if _, err := x.answersAs(asker(x, run.ID, sus["c1"]), run.ID, answer); err != nil {
					t.Fatal(err)
				}
				x.worker.Drain(run.ID)
				_, err := x.answersAs(approver(x, run.ID, sus["c2"]), run.ID, wire.Decision{Target: sus["c2"], Action: "resume"})
				if err == nil || !strings.Contains(err.Error(), "separation_of_duties") && !strings.Contains(err.Error(), "not_an_approver") {
					t.Errorf("the requester approved: %v", err)
				}
			})
		}
	}
}

func (x *fixture) answersAs(c frontend.Caller, run string, d wire.Decision) (wire.DecisionAnswer, error) {
	if c.Link != nil {
		return x.DecideByLink(x.t.Context(), c, d)
	}
	return x.Decide(x.t.Context(), c, run, d)
}

// One subject of a provider has several tokens, which show different claims, and makes links.
func TestOneSubjectHasOneVote(t *testing.T) {
	for name, c := range map[string]struct {
		policy *vote.Policy
		ways   func(t *testing.T, run, sus string) [2]frontend.Caller
	}{
		"a link to another that it made, and its token": {persons(2, who("ann", "claim:sub=u-1", "link:ann@x"), who("ben", "claim:sub=u-3")), func(t *testing.T, run, sus string) [2]frontend.Caller {
			ben := claimed(t, "u-3", "")
			return [2]frontend.Caller{linkOf(run, sus, "ann@x", strings.TrimPrefix(ben.By, "token:")), ben}
		}},
		"two tokens, as two persons": {persons(2, who("ann", "claim:email=ann@x"), who("ben", "claim:sub=u-1")), func(t *testing.T, _, _ string) [2]frontend.Caller {
			return [2]frontend.Caller{claimed(t, "u-1", "ann@x"), claimed(t, "u-1", "")}
		}},
		"two tokens, as a person and as one of many": {persons(2, who("ann", "claim:email=ann@x"), vote.Member{Is: []string{"claim:groups=fin"}}), func(t *testing.T, _, _ string) [2]frontend.Caller {
			return [2]frontend.Caller{claimed(t, "u-1", "ann@x"), claimed(t, "u-1", "")}
		}},
		"a token by its name and one by its claims": {persons(2, who("ann", "token:u-1", "claim:email=ann@x"), who("ben", "token:ben")), func(t *testing.T, _, _ string) [2]frontend.Caller {
			return [2]frontend.Caller{claimed(t, "u-1", "ann@x"), claimed(t, "u-1", "")}
		}},
	} {
		for _, first := range []int{0, 1} {
			t.Run(name, func(t *testing.T) {
				b := newFixture(t, nil).vote(frontendtest.Call{Policy: c.policy})
				ways := c.ways(t, b.run.ID, b.sus)
				for _, way := range []frontend.Caller{ways[first], ways[1-first]} {
					answer, err := b.answersAs(way, b.run.ID, wire.Decision{Target: b.sus, Action: "resume"})
					if err == nil && answer.Votes != nil && answer.Votes.Yes > 1 {
						t.Errorf("%d votes of one subject", answer.Votes.Yes)
					}
				}
			})
		}
	}
}
