package local

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/proof/oidcdouble"
)

// accounts is a server whose approvers may sign in at an identity provider, and come in other ways.
type accounts struct {
	*testing.T
	running
	provider *oidcdouble.Provider
	paid     func() int64
}

func newAccounts(t *testing.T) *accounts {
	r, paid := countingRig(t)
	provider, err := oidcdouble.New("https://desk.example.com/v1/signed-in")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.Close)
	separate := func(s string) string {
		return strings.Replace(s, "ask: [pay]", "ask: [{tool: pay, not_by: starter}]", 1)
	}
	people := "groups: {team: [{person: anna, is: ['token:anna@acme.example', 'claim:email=anna@acme.example']}, " +
		"{person: ben, is: ['token:ben', 'claim:email=ben@acme.example', 'claim:sub=u-3']}, {person: ci, is: ['token:ci']}]}\n"
	rekeyed := strings.Replace(attackAgent("rekeyed", "groups: {fin: ['role:decide', 'role:admin'], board: [{person: cy, is: ['token:anna@acme.example']}, {person: boss, is: ['token:boss']}]}\n"+
		"approvals: {default: {stages: [{group: fin, need: 2}, {group: board}]}, small: {group: fin, need: 2}}\n", ""),
		"ask: [pay]", "ask: [{tool: pay, when: {argument: amount, above: 100}}, {tool: pay, approval: small, when: {argument: amount, below: 101}}]", 1)
	rekeyed = strings.Replace(rekeyed, "amount: 5}", "amount: 500}", 1)
	for name, text := range map[string]string{
		"rekeyed":          rekeyed,
		"people":           attackAgent("people", people+"approvals: {default: {group: team, need: 2}}\n", ""),
		"other_people":     separate(attackAgent("other_people", people+"approvals: {default: {group: team}}\n", "")),
		"claims":           attackAgent("claims", "groups: {fin: ['claim:groups=finance']}\napprovals: {default: {group: fin, need: 2}}\n", ""),
		"roles":            attackAgent("roles", "groups: {fin: ['role:decide']}\napprovals: {default: {group: fin, need: 2}}\n", ""),
		"role_approvers":   attackAgent("role_approvers", "approvers: ['role:decide']\n", ""),
		"aliases":          separate(attackAgent("aliases", "groups: {team: [{person: cy, is: ['token:ci', 'link:ci@example.com', 'hook:person/ci']}, 'token:ben']}\napprovals: {default: {group: team}}\n", "")),
		"token_or_account": attackAgent("token_or_account", "groups: {team: ['token:anna@acme.example', 'claim:email=anna@acme.example']}\napprovals: {default: {group: team, need: 2}}\n", ""),
		"link_or_account":  attackAgent("link_or_account", "groups: {team: ['claim:email=anna@acme.example', 'link:anna@acme.example']}\napprovals: {default: {group: team, need: 2}}\n", ""),
	} {
		if err := os.WriteFile(filepath.Join(r.agents, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := r.options()
	signInAt(t, &o, provider)
	o.TokensFile = filepath.Join(t.TempDir(), "tokens")
	all := line("boss", access.Tenant, "boss-token", access.Admin) + line("ben", access.Tenant, "ben-token", access.Start, access.Decide, access.Links) +
		line("ci", access.Tenant, "ci-token", access.Start, access.Decide, access.Read) + line("anna@acme.example", access.Tenant, "anna-token", access.Decide) + line("mailer", access.Tenant, "mailer-token", access.Links)
	if err := os.WriteFile(o.TokensFile, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	return &accounts{t, r.startWith(o), provider, paid.Load}
}

func (h *accounts) as(who string) running {
	return running{h.Server, client.New("http://"+h.Addr(), client.WithToken(who+"-token"), client.WithRetries(0)), nil}
}

func (h *accounts) scene(agent string) (run, sus string) { return h.sceneOf("ci", agent) }

func (h *accounts) sceneOf(starter, agent string) (run, sus string) {
	ru, err := h.as(starter).StartRun(h.Context(), wire.StartRequest{Agent: agent, Input: []byte(`"pay"`)}, "")
	if err != nil {
		h.Fatal(err)
	}
	w := h.as("boss").await(h.T, ru.ID, "waiting")
	return ru.ID, w.Pending[0].Suspension.ID
}

func (h *accounts) link(maker, run, sus, to, require string) string {
	l, err := h.as(maker).MakeLink(h.Context(), run, wire.LinkRequest{Target: sus, For: to, Require: require})
	if err != nil {
		h.Fatal(err)
	}
	return l.Link
}

// vote signs in, unless there are no claims, and approves by the link. It returns the status.
func (h *accounts) vote(link string, claims map[string]any) int {
	open := newBrowser(h.T, h.Addr()).open
	if claims != nil {
		h.provider.SignInAs(claims)
		at := open("GET", link+"/sign-in", "").Header.Get("Location")
		open("GET", open("GET", at, "").Header.Get("Location"), "")
	}
	return open("POST", link, `{"action":"resume"}`).StatusCode
}

func TestAnAccountIsNoSecondPerson(t *testing.T) {
	finance := []string{"finance"}
	verified := map[string]any{"sub": "u-1", "email": "anna@acme.example", "email_verified": true, "groups": finance}
	unverified := map[string]any{"sub": "u-1", "email": "anna@acme.example", "email_verified": false, "groups": finance}
	for name, c := range map[string]struct {
		agent string
		vote  func(h *accounts, run, sus string)
	}{
		"one account under two names": {"claims", func(h *accounts, run, sus string) {
			l := h.link("mailer", run, sus, "finance", "sign_in")
			h.refused(h.vote(l, verified))
			h.refused(h.vote(l, unverified))
		}},
		"a link and an account of one address": {"link_or_account", func(h *accounts, run, sus string) {
			h.vote(h.link("mailer", run, sus, "anna@acme.example", ""), nil)
			h.refused(h.vote(h.link("mailer", run, sus, "anna@acme.example", "sign_in"), verified))
		}},
		"a token and an account of one address": {"token_or_account", func(h *accounts, run, sus string) {
			_, _ = h.as("anna").DecideSuspension(h.Context(), client.Decision{Target: sus, Action: "resume"})
			h.refused(h.vote(h.link("mailer", run, sus, "x", "sign_in"), verified))
		}},
		"a token and an account of one person": {"people", func(h *accounts, run, sus string) {
			h.accepted(h.decide("anna", sus))
			h.conflict(h.vote(h.link("mailer", run, sus, "x", "sign_in"), verified))
		}},
		"an account and a token of one person": {"people", func(h *accounts, run, sus string) {
			h.accepted(h.vote(h.link("mailer", run, sus, "x", "sign_in"), verified))
			h.conflict(h.decide("anna", sus))
		}},
		"two accounts of one person": {"people", func(h *accounts, run, sus string) {
			h.accepted(h.vote(h.link("mailer", run, sus, "x", "sign_in"), verified))
			h.conflict(h.vote(h.link("mailer", run, sus, "y", "sign_in"), map[string]any{"sub": "u-9", "email": "anna@acme.example", "email_verified": true}))
		}},
		"an account with the claims of two people": {"people", func(h *accounts, run, sus string) {
			h.refused(h.vote(h.link("mailer", run, sus, "x", "sign_in"), map[string]any{"sub": "u-3", "email": "anna@acme.example", "email_verified": true}))
		}},
		"an account of no one whom the policy asks": {"people", func(h *accounts, run, sus string) {
			h.refused(h.vote(h.link("mailer", run, sus, "x", "sign_in"), unverified))
		}},
		"the requester by an account": {"other_people", func(h *accounts, _, _ string) {
			run, sus := h.sceneOf("ben", "other_people")
			h.refused(h.vote(h.link("mailer", run, sus, "x", "sign_in"), map[string]any{"sub": "u-2", "email": "ben@acme.example", "email_verified": true}))
		}},
		"an account where the requester may be anyone": {"other_people", func(h *accounts, _, _ string) {
			run, sus := h.sceneOf("boss", "other_people")
			h.refused(h.vote(h.link("mailer", run, sus, "x", "sign_in"), verified))
		}},
		"an editor whose edit moves the call under another policy": {"rekeyed", func(h *accounts, run, sus string) {
			if _, err := h.as("anna").DecideSuspension(h.Context(), client.Decision{Target: sus, Action: "resume", Arguments: []byte(`{"amount":100}`)}); err != nil {
				h.Fatal(err)
			}
			again := h.asksAgain(run, sus)
			h.accepted(h.decide("anna", again)) // her first vote on the new arguments
		}},
		"any account as one of a role": {"role_approvers", func(h *accounts, run, sus string) {
			h.refused(h.vote(h.link("mailer", run, sus, "x", "sign_in"), map[string]any{"sub": "s-1"}))
		}},
		"any two accounts as two of a role": {"roles", func(h *accounts, run, sus string) {
			l := h.link("mailer", run, sus, "x", "sign_in")
			h.refused(h.vote(l, map[string]any{"sub": "s-1"}))
			h.refused(h.vote(l, map[string]any{"sub": "s-2"}))
		}},
		"the requester by another of the person's ways": {"aliases", func(h *accounts, run, sus string) {
			_, err := h.as("ben").MakeLink(h.Context(), run, wire.LinkRequest{Target: sus, For: "ci@example.com"})
			if err == nil || !strings.Contains(err.Error(), "separation_of_duties") {
				h.Errorf("a link for the requester: %v", err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newAccounts(t)
			run, sus := h.scene(c.agent)
			c.vote(h, run, sus)
			h.as("boss").await(t, run, "waiting")
			if h.paid() != 0 {
				t.Errorf("%d was paid", h.paid())
			}
		})
	}
}

// TestAnAccountIsThePersonWhomThePolicyNames approves where others are needed, because the policy
// says in which ways each of them comes.
func TestAnAccountIsThePersonWhomThePolicyNames(t *testing.T) {
	anna := map[string]any{"sub": "u-1", "email": "anna@acme.example", "email_verified": true}
	ben := map[string]any{"sub": "u-2", "email": "ben@acme.example", "email_verified": true}
	for name, c := range map[string]struct {
		agent string
		vote  func(h *accounts, run, sus string)
	}{
		"two accounts": {"people", func(h *accounts, run, sus string) {
			l := h.link("mailer", run, sus, "team", "sign_in")
			h.accepted(h.vote(l, anna))
			h.accepted(h.vote(l, ben))
		}},
		"a token and an account": {"people", func(h *accounts, run, sus string) {
			h.accepted(h.decide("ben", sus))
			h.accepted(h.vote(h.link("mailer", run, sus, "team", "sign_in"), anna))
		}},
		"another one than the requester": {"other_people", func(h *accounts, run, sus string) {
			h.accepted(h.vote(h.link("mailer", run, sus, "team", "sign_in"), anna))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newAccounts(t)
			run, sus := h.scene(c.agent)
			c.vote(h, run, sus)
			h.as("boss").await(t, run, "done")
			if h.paid() != 1 {
				t.Errorf("%d was paid", h.paid())
			}
		})
	}
}

// asksAgain is the suspension that takes the place of another one.
func (h *accounts) asksAgain(run, sus string) string {
	h.Helper()
	for event, err := range h.as("boss").Events(h.Context(), run, client.EventOptions{Follow: true}) {
		if err != nil {
			h.Fatal(err)
		}
		var s core.SuspendedCall
		if event.Type == "call.suspended" && event.Decode(&s) == nil && s.Suspension.ID != sus {
			return s.Suspension.ID
		}
	}
	h.Fatal("it is not asked again")
	return ""
}

// decide approves with a token. It returns the status.
func (h *accounts) decide(who, sus string) int {
	_, err := h.as(who).DecideSuspension(h.Context(), client.Decision{Target: sus, Action: "resume"})
	if e, refused := errors.AsType[*client.Error](err); refused {
		return e.Status
	} else if err != nil {
		h.Fatal(err)
	}
	return http.StatusAccepted
}

func (h *accounts) accepted(status int) {
	h.Helper()
	if status != http.StatusAccepted {
		h.Errorf("answered with %d, want 202", status)
	}
}

func (h *accounts) conflict(status int) {
	h.Helper()
	if status != http.StatusConflict && status != http.StatusOK {
		h.Errorf("answered with %d, want 409, or 200 for the same vote again", status)
	}
}

func (h *accounts) refused(status int) {
	h.Helper()
	if status != http.StatusForbidden {
		h.Errorf("answered %d; want 403", status)
	}
}
