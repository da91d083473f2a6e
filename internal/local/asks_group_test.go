package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// asking is the part of a policy file that asks use.
const asking = `groups:
  release: ["token:anna", "token:ben"]
approvals:
  two: {group: release, need: 2}
`

// askers is a server with that policy file; it returns a client for each token.
func askers(t *testing.T) func(token string) running {
	t.Helper()
	r := newRig(t, nil)
	o := r.options()
	dir := t.TempDir()
	o.Policy, o.TokensFile = filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "tokens")
	tokens := line("ci", access.Tenant, "ci", access.Start, access.Decide)
	for _, name := range []string{"anna", "ben", "carl"} {
		tokens += line(name, access.Tenant, name, access.Decide)
	}
	for file, text := range map[string]string{o.Policy: asking, o.TokensFile: tokens} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := r.startWith(o)
	return func(token string) running {
		return running{s.Server, client.New("http://"+s.Addr(), client.WithToken(token), client.WithRetries(0)), nil}
	}
}

// openAsk asks as ci, and waits for the question.
func openAsk(t *testing.T, ci running, req client.AskRequest) client.Ask {
	t.Helper()
	a, err := ci.Ask(t.Context(), req, "")
	for err == nil && a.Suspension == "" {
		a, err = ci.PollAsk(t.Context(), a.ID, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAGroupOfTheOperatorDecidesAboutAnAsk(t *testing.T) {
	as := askers(t)
	req := deploy
	req.Group = "release"
	a := openAsk(t, as("ci"), req)
	yes := client.Decision{Target: a.Suspension, Action: "resume"}
	for _, token := range []string{"ci", "carl"} {
		if _, err := as(token).Decide(t.Context(), a.ID, yes); codeOf(err) != "not_an_approver" {
			t.Errorf("%s: %v", token, err)
		}
	}
	if got := as("ben").decideAsk(t, a, client.Decision{Action: "resume"}); got.Status != client.AskApproved || got.DecidedBy != "token:ben" {
		t.Errorf("%+v", got)
	}
}

func TestAnAskIsDecidedByAQuorum(t *testing.T) {
	as := askers(t)
	req := deploy
	req.Policy = "two"
	a := openAsk(t, as("ci"), req)
	yes := client.Decision{Target: a.Suspension, Action: "resume"}
	for range 2 { // one person counts once
		yes.DecisionID += "d"
		_, _ = as("anna").Decide(t.Context(), a.ID, yes)
	}
	if now, err := as("ci").PollAsk(t.Context(), a.ID, 0); err != nil || now.Status != client.AskWaiting {
		t.Fatalf("after one person: %+v, %v", now, err)
	}
	if got := as("ben").decideAsk(t, a, client.Decision{Action: "resume"}); got.Status != client.AskApproved {
		t.Errorf("%+v", got)
	}
}

func TestAnAskNamesOneListOfPeopleThatExists(t *testing.T) {
	as := askers(t)
	for name, req := range map[string]client.AskRequest{
		"no such group":        {Group: "finance"},
		"no such policy":       {Policy: "release"},
		"a group and a policy": {Group: "release", Policy: "two"},
		"a group and a list":   {Group: "release", Approvers: []string{"token:anna"}},
	} {
		req.Title = "Deploy?"
		if _, err := as("ci").Ask(t.Context(), req, ""); codeOf(err) != "invalid_request" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARepeatOfAnAskForAGroupIsTheSameAsk(t *testing.T) {
	as := askers(t)
	first, err1 := as("ci").Ask(t.Context(), client.AskRequest{Title: "Deploy?", Group: "release"}, "k")
	again, err2 := as("ci").Ask(t.Context(), client.AskRequest{Title: "Deploy?", Group: "release"}, "k")
	_, err3 := as("ci").Ask(t.Context(), client.AskRequest{Title: "Deploy?", Policy: "two"}, "k")
	if err1 != nil || err2 != nil || first.ID != again.ID || codeOf(err3) != "idempotency_key_reuse" && codeOf(err3) != "idempotency_mismatch" {
		t.Errorf("%v, %v, %v; %s and %s", err1, err2, err3, first.ID, again.ID)
	}
}
