package httpapi_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// voted is a call about which two of boss, shop, anna and the recipient of a link decide.
func voted(id string) frontendtest.Call {
	var members []vote.Member
	for _, entry := range []string{"token:boss", "token:shop", "token:anna", "link:kim@example.com"} {
		members = append(members, vote.Member{Is: []string{entry}})
	}
	return frontendtest.Call{ID: id, Tool: "refund", Kind: core.KindApproval,
		Policy: &vote.Policy{Name: "two", Stages: []vote.Stage{{Group: vote.Group{Name: "finance", Members: members}, Need: 2}}}}
}

func TestTwoPeopleDecideOverHTTP(t *testing.T) {
	s := dutiful(t)
	run := s.startWith("secret")
	sus := s.worker.Suspend(run, voted("c1"))["c1"]
	path := "/v1/suspensions/" + sus
	first := s.send("POST", path, `{"action":"resume"}`, bearer("b"))
	if answer := decoded[wire.DecisionAnswer](t, first.text); first.StatusCode != 202 || answer.Votes == nil || answer.Votes.Yes != 1 || answer.Votes.Need != 2 {
		t.Fatalf("%d %s", first.StatusCode, first.text)
	}
	if waits := decoded[wire.Approval](t, s.send("GET", path, "", bearer("s")).text); len(waits.Votes.Voters) != 1 || waits.Votes.Voters[0].By != "token:boss" {
		t.Errorf("%+v", waits.Votes)
	}
	if got := s.send("POST", path, `{"action":"resume"}`, bearer("s")); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	late := s.send("POST", path, `{"action":"cancel"}`, bearer("a"))
	if problem := late.problem(t); late.StatusCode != 409 || problem.Code != "already_decided" || len(problem.Winner.Votes.Voters) != 2 {
		t.Errorf("%d %s", late.StatusCode, late.text)
	}
}

func TestAnEditByOneOfSeveralOverHTTP(t *testing.T) {
	s := dutiful(t)
	run := s.startWith("secret")
	sus := s.worker.Suspend(run, voted("c1"))["c1"]
	link := s.makeLink(run, sus, "kim@example.com").Link
	if got := s.send("POST", "/v1/suspensions/"+sus, `{"action":"resume","arguments":{"order":"A-9"}}`, bearer("b")); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	for _, got := range []answer{
		s.send("POST", "/v1/suspensions/"+sus, `{"action":"resume"}`, bearer("s")),
		s.send("POST", "/v1/runs/"+run+"/decisions", `{"target":"c1","action":"resume"}`, bearer("s")),
		s.send("POST", link, `{"action":"resume"}`),
	} {
		if got.StatusCode != 409 || got.code() != "arguments_changed" {
			t.Errorf("%d %s", got.StatusCode, got.text)
		}
	}
}

func TestAVoteIsNoPartOfABatchOverHTTP(t *testing.T) {
	s := dutiful(t)
	run := s.startWith("secret")
	s.worker.Suspend(run, voted("c1"))
	got := s.send("POST", "/v1/runs/"+run+"/decisions", `{"decisions":[{"target":"c1","action":"resume"}],"all_or_none":true}`, bearer("b"))
	if got.StatusCode != 409 || got.code() != "batch_refused" || !strings.Contains(got.text, "votes_are_counted") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

// A link that only the maker's name would let in is not made for a call that several decide about.
func TestNoLinkForWhomNoGroupNames(t *testing.T) {
	s := dutiful(t)
	run := s.startWith("secret")
	sus := s.worker.Suspend(run, voted("c1"))["c1"]
	got := s.send("POST", "/v1/runs/"+run+"/links", `{"target":"`+sus+`","for":"eve@example.com"}`, bearer(s.token))
	if got.StatusCode != 403 || got.code() != "not_an_approver" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestThePageOfALinkShowsHowManyHaveApprovedAndNotWho(t *testing.T) {
	for name, tt := range map[string]struct {
		stages, need int
		said, want   string
	}{
		"no one yet":           {1, 2, "", "0 of 2 have approved."},
		"one of two":           {1, 2, "resume", "1 of 2 have approved."},
		"a denial":             {1, 2, "cancel", "0 of 2 have approved. Denials: 1 of 3."},
		"in the first of two":  {2, 3, "resume", "1 of 3 have approved; stage 1 of 2."},
		"one is enough of two": {2, 1, "", "0 of 1 has approved; stage 1 of 2."},
	} {
		s := dutiful(t)
		run := s.startWith("secret")
		call := voted("c1")
		first := call.Policy.Stages[0]
		first.Need, first.Majority = tt.need, true
		call.Policy.Stages = []vote.Stage{first, {Group: vote.Group{Name: "board", Members: first.Group.Members}, Need: 1}}[:tt.stages]
		sus := s.worker.Suspend(run, call)["c1"]
		link := s.makeLink(run, sus, "kim@example.com").Link
		if tt.said != "" {
			if got := s.send("POST", "/v1/suspensions/"+sus, `{"action":"`+tt.said+`","reason":"as agreed"}`, bearer("b")); got.StatusCode != 202 {
				t.Fatalf("%s: %d %s", name, got.StatusCode, got.text)
			}
		}
		page := s.send("GET", link, "", asPage)
		if !strings.Contains(page.text, `<p class="tally">`+tt.want+`</p>`) {
			t.Errorf("%s: %s", name, page.text)
		}
		for _, secret := range []string{"boss", "as agreed", "finance"} {
			if strings.Contains(page.text, secret) {
				t.Errorf("%s: the page has %q", name, secret)
			}
		}
	}
}
