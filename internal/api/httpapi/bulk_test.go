package httpapi_test

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// refund is a question of the kind that is answered with others.
func refund(amount int) frontendtest.Call {
	return frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Arguments: fmt.Appendf(nil, `{"amount":%d}`, amount)}
}

// bulkOf is a bulk over what waits, as it is shown in the inbox.
func (s *server) bulkOf(action string, as func(*http.Request)) client.Bulk {
	s.t.Helper()
	page, _ := s.inboxOf("", as)
	b := client.BulkOf(action, page.Items...)
	b.BulkID = "bulk-1"
	return b
}

func (s *server) decidesBulk(b client.Bulk, as func(*http.Request)) []wire.DecisionAnswer {
	s.t.Helper()
	got := s.send("POST", "/v1/decisions", string(core.Encode(b)), as)
	if got.StatusCode != 200 {
		s.t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	return decoded[wire.DecisionAnswers](s.t, got.text).Answers
}

func codesOf(answers []wire.DecisionAnswer) string {
	var codes []string
	for _, a := range answers {
		codes = append(codes, a.Code)
	}
	return strings.Join(codes, " ")
}

// Each decision of a bulk is stored on its own: one whose question changed or was answered
// elsewhere is refused, and the same bulk sent again meets its own decisions.
func TestABulkOverHTTP(t *testing.T) {
	s := newServer(t, settings{token: "secret", grants: []access.Grant{grant("anna", "default", "a", access.Decide), grant("eve", "other", "e", access.Decide)}})
	for amount := range 5 {
		s.worker.Suspend(s.start().ID, refund(amount))
	}
	b := s.bulkOf("resume", bearer("a"))
	foreign := s.decidesBulk(b, bearer("e"))
	if got := codesOf(foreign); got != "call_not_found call_not_found call_not_found call_not_found call_not_found" {
		t.Fatalf("another tenant gets %s", got)
	}
	elsewhere := b.Questions[1].Suspension
	if got := s.send("POST", "/v1/suspensions/"+elsewhere, `{"action":"cancel"}`, bearer("secret")); got.StatusCode != 202 {
		t.Fatal(got.text)
	}
	b.Questions[2].Shown = b.Questions[3].Shown
	b.Questions[4].Suspension = core.SuspensionID("thr_nobody", 1, "nobody")
	for _, want := range []string{"accepted already_decided changed accepted call_not_found", "already_decided already_decided changed already_decided call_not_found"} {
		answers := s.decidesBulk(b, bearer("a"))
		if got := codesOf(answers); got != want {
			t.Fatalf("the answers are %s, want %s", got, want)
		}
		if w := answers[1].Winner; w == nil || w.Action != "cancel" || *answers[1].Same {
			t.Errorf("of the one that was answered elsewhere: %+v", answers[1])
		}
		for i, a := range answers {
			if a.Target != b.Questions[i].Suspension || a.DecisionID != "bulk-1-"+a.Target {
				t.Errorf("answer %d is to %s with the id %s", i, a.Target, a.DecisionID)
			}
		}
	}
	if page, _ := s.inboxOf("", bearer("a")); len(page.Items) != 2 {
		t.Errorf("%d wait, want the one that changed and the one that wasn't named", len(page.Items))
	}
	// an overlapping bulk of another person
	overlap := b
	overlap.BulkID, overlap.Questions = "bulk-2", overlap.Questions[:1]
	if got := s.decidesBulk(overlap, bearer("secret")); codesOf(got) != "already_decided" || *got[0].Same || got[0].Winner.By != "token:anna" {
		t.Errorf("an overlapping bulk: %+v", got)
	}
}

// What isn't alike, and what is to be answered by itself, keeps the whole bulk from being stored.
func TestABulkThatMixesStoresNothing(t *testing.T) {
	group := &vote.Policy{Stages: []vote.Stage{{Need: 2, Group: vote.Group{Members: []vote.Member{{Is: []string{"role:decide"}}}}}}}
	other := refund(1)
	other.Tool = "transfer"
	ruled := refund(1)
	ruled.NotBy = core.NotByStarter
	named := refund(1)
	named.Approvers = []string{"token:anna"}
	for name, tt := range map[string]struct {
		call  frontendtest.Call
		agent string
		code  string
	}{
		"another tool":       {call: other, code: "not_alike"},
		"another rule":       {call: ruled, code: "not_alike"},
		"other approvers":    {call: named, code: "not_alike"},
		"another agent":      {call: refund(1), agent: "clerk", code: "not_alike"},
		"a warning":          {call: frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Arguments: []byte(`{"amount":1,"to":"\u0430pple"}`)}, code: "answer_singly"},
		"a long value":       {call: frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Arguments: []byte(`{"note":"` + strings.Repeat("all good ", 500) + `"}`)}, code: "answer_singly"},
		"votes":              {call: frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Policy: group}, code: "answer_singly"},
		"a client call":      {call: frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindClient}, code: "answer_singly"},
		"an answer as value": {call: frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Mode: core.UseDecisionAsToolResult}, code: "answer_singly"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, settings{token: "secret", catalog: frontendtest.NewCatalog("desk", "clerk")})
			s.worker.Suspend(s.start().ID, refund(1))
			run, err := s.client.StartRun(t.Context(), wire.StartRequest{Agent: cmp.Or(tt.agent, "desk"), Input: []byte(`"x"`)}, "")
			if err != nil {
				t.Fatal(err)
			}
			s.worker.Suspend(run.ID, tt.call)
			for _, action := range []string{"resume", "cancel"} {
				got := s.send("POST", "/v1/decisions", string(core.Encode(s.bulkOf(action, bearer("secret")))), bearer("secret"))
				if p := got.problem(t); got.StatusCode != 409 || p.Code != tt.code {
					t.Errorf("%s: %d %s: %s", action, got.StatusCode, p.Code, p.Detail)
				}
			}
			page, _ := s.inboxOf("", bearer("secret"))
			if len(page.Items) != 2 {
				t.Fatalf("%d wait: something was stored", len(page.Items))
			}
			if a, b := page.Items[0].Alike, page.Items[1].Alike; a == "" || a == b || (b == "") != (tt.code == "answer_singly") {
				t.Errorf("the inbox says %q and %q", a, b)
			}
		})
	}
}

func TestWhatABulkMayNotBe(t *testing.T) {
	s := newServer(t, settings{token: "secret", grants: []access.Grant{grant("ben", "default", "r", access.Read, access.Start, access.Links)}})
	s.worker.Suspend(s.start().ID, refund(1))
	s.worker.Suspend(s.start().ID, refund(2))
	good := s.bulkOf("resume", bearer("secret"))
	for name, change := range map[string]func(*client.Bulk){
		"no question":    func(b *client.Bulk) { b.Questions = nil },
		"one twice":      func(b *client.Bulk) { b.Questions[1] = b.Questions[0] },
		"one unseen":     func(b *client.Bulk) { b.Questions[1].Shown = "" },
		"one unnamed":    func(b *client.Bulk) { b.Questions[1].Suspension = "" },
		"a long id":      func(b *client.Bulk) { b.BulkID = strings.Repeat("x", 101) },
		"a long hold":    func(b *client.Bulk) { b.Hold = 61 },
		"an odd program": func(b *client.Bulk) { b.ShownBy = "desk 2" },
		"too many": func(b *client.Bulk) {
			for i := range client.MostBulk {
				b.Questions = append(b.Questions, client.BulkQuestion{Suspension: fmt.Sprint("sus_", i), Shown: "v1:0"})
			}
		},
	} {
		b := good
		b.Questions = append([]client.BulkQuestion(nil), good.Questions...)
		change(&b)
		if got := s.send("POST", "/v1/decisions", string(core.Encode(b)), bearer("secret")); got.StatusCode != 400 || got.code() != "invalid_request" {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
	}
	for _, action := range []string{"", "maybe"} {
		b := good
		b.Action = action
		if got := s.send("POST", "/v1/decisions", string(core.Encode(b)), bearer("secret")); got.StatusCode != 400 || got.code() != "bad_action" {
			t.Errorf("%q: %d %s", action, got.StatusCode, got.text)
		}
	}
	if got := s.send("POST", "/v1/decisions", string(core.Encode(good)), bearer("r")); got.StatusCode != 403 {
		t.Errorf("without the role: %d %s", got.StatusCode, got.text)
	}
	if page, _ := s.inboxOf("", bearer("secret")); len(page.Items) != 2 {
		t.Errorf("%d wait: something was stored", len(page.Items))
	}
}

// Each decision of a bulk that is held can be withdrawn; sent again, it stays withdrawn.
func TestAHeldBulkIsWithdrawnOneByOne(t *testing.T) {
	s := newServer(t, settings{})
	s.worker.Suspend(s.start().ID, refund(1))
	s.worker.Suspend(s.start().ID, refund(2))
	b := s.bulkOf("resume", func(*http.Request) {})
	b.Hold = 30
	plain := func(*http.Request) {}
	for i, a := range s.decidesBulk(b, plain) {
		if a.AppliesAt == nil {
			t.Fatalf("decision %d is not held: %+v", i, a)
		}
	}
	first := b.Questions[0].Suspension
	if _, err := s.client.Withdraw(t.Context(), first, "bulk-1-"+first); err != nil {
		t.Fatal(err)
	}
	s.worker.Drain(s.runOf(first))
	if got := codesOf(s.decidesBulk(b, plain)); got != "decision_withdrawn already_decided" {
		t.Errorf("sent again: %s", got)
	}
	b.BulkID, b.Questions = "bulk-2", b.Questions[:1]
	if got := codesOf(s.decidesBulk(b, plain)); got != "accepted" {
		t.Errorf("under a new id: %s", got)
	}
}

// runOf is the run of a suspension.
func (s *server) runOf(sus string) string {
	s.t.Helper()
	state, err := s.client.Suspension(s.t.Context(), sus)
	if err != nil {
		s.t.Fatal(err)
	}
	if state.Approval != nil {
		return state.Approval.RunID
	}
	return state.Outcome.RunID
}

// TestAnAnswerToManyIsNotManyTimesAsLarge: a decision may have a reason of a megabyte, and each of
// a hundred later ones is refused with it.
func TestAnAnswerToManyIsNotManyTimesAsLarge(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	path, long := "/v1/runs/"+run.ID+"/decisions", strings.Repeat("because ", 10_000)
	s.posts(posted{path, `{"target":"c1","action":"cancel","reason":"` + long + `"}`, "", 202, ""})
	one := `{"target":"c1","action":"resume"}`
	got := s.send("POST", path, `{"decisions":[`+one+strings.Repeat(","+one, 99)+`]}`)
	answers := decoded[wire.DecisionAnswers](t, got.text).Answers
	if len(answers) != 100 || answers[99].Winner == nil || !strings.HasPrefix(long, answers[99].Winner.Reason) || answers[99].Winner.Reason == "" {
		t.Errorf("got %d %.300s", got.StatusCode, got.text)
	}
	if len(got.text) > 200<<10 {
		t.Errorf("%d bytes in answer to 100 decisions", len(got.text))
	}
	if got := s.send("POST", path, one); decoded[wire.DecisionAnswer](t, got.text).Winner.Reason != long {
		t.Error("the answer to one doesn't have the whole reason")
	}
}
