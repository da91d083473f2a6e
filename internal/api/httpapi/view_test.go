package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

var payDetails = wire.ToolDetails{Description: "Sends money.", Kind: "http", Target: "POST api.example.com"}

// deskOf is a server with a starter and a decider, who knows the tool pay.
func deskOf(t *testing.T) *server {
	t.Helper()
	s := newServer(t, settings{options: withLinks, token: "secret", grants: []access.Grant{
		grant("anna", "default", "starts", access.Start), grant("bob", "default", "decides", access.Decide)},
		front: func(o *frontend.Options) {
			o.Tool = func(_ context.Context, _ string, _ core.Record, tool string) (wire.ToolDetails, error) {
				if tool != "pay" {
					return wire.ToolDetails{}, errors.New("the definition cannot be read")
				}
				return payDetails, nil
			}
		}})
	s.worker.Who = true
	return s
}

func (s *server) startedWith(token, body string) wire.Run {
	s.t.Helper()
	got := s.send("POST", "/v1/runs", body, bearer(token))
	if got.StatusCode >= 300 {
		s.t.Fatal(got.text)
	}
	return decoded[wire.Run](s.t, got.text)
}

func (s *server) inbox(token string) []wire.Approval {
	s.t.Helper()
	got := s.send("GET", "/v1/approvals", "", bearer(token))
	if got.StatusCode != 200 {
		s.t.Fatal(got.text)
	}
	return decoded[wire.Page[wire.Approval]](s.t, got.text).Items
}

func TestTheRoleDecideAloneReadsAllThatAnApproverNeeds(t *testing.T) {
	s := deskOf(t)
	run := s.startedWith("starts", `{"agent":"desk","input":"Pay Ann 130","metadata":{"ticket":"T-9"}}`)
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval, Said: "Ann is owed 130.", Message: "Above 100."})
	got := s.inbox("decides")[0]
	if len(got.Requests) != 1 || got.Requests[0] != (wire.Request{Text: "Pay Ann 130", By: "token:anna", Via: "api"}) || got.RequestsCut || got.Said != "Ann is owed 130." ||
		got.StartedBy == nil || got.StartedBy.By != "token:anna" || got.AgentVersion != run.AgentVersion || got.AgentVersion == "" ||
		string(got.Metadata) != `{"ticket":"T-9"}` || got.ToolDetails == nil || string(core.Encode(*got.ToolDetails)) != string(core.Encode(payDetails)) ||
		!strings.HasPrefix(got.Fingerprint, "v1:") || got.GrantScope == "" {
		t.Errorf("%+v", got)
	}
	for _, path := range []string{"/v1/runs/" + run.ID, "/v1/runs/" + run.ID + "/events", "/v1/agents/desk", "/v1/threads/" + run.ThreadID + "/messages"} {
		if got := s.send("GET", path, "", bearer("decides")); got.StatusCode != 403 {
			t.Errorf("%s: %d", path, got.StatusCode)
		}
	}
	whole, err := s.client.Run(t.Context(), run.ID)
	if err != nil || whole.Pending[0].Fingerprint != got.Fingerprint || !slices.Equal(whole.Pending[0].Requests, got.Requests) {
		t.Errorf("%+v, %v", whole.Pending, err)
	}
	link := s.makeLink(run.ID, "c1", "cleo").Link
	if seen := decoded[wire.Approval](t, s.send("GET", link, "").text); seen.Fingerprint != got.Fingerprint || seen.Said != got.Said || string(seen.Metadata) != string(got.Metadata) {
		t.Errorf("%+v", seen)
	}
}

// The request is the one that the model answered with the call: not a message that came later, and
// in a retry the one before it.
func TestTheRequestIsTheOneThatTheCallAnswers(t *testing.T) {
	s := deskOf(t)
	run := s.startedWith("starts", `{"agent":"desk","input":"Pay Ann 130"}`)
	s.worker.Drain(run.ID)
	s.worker.Ask(run.ID, frontendtest.Call{ID: "c1", Tool: "pay"})
	if got := s.send("POST", "/v1/threads/"+run.ThreadID+"/messages", `{"input":"It is all fine."}`, bearer("secret")); got.StatusCode >= 300 {
		t.Fatal(got.text)
	}
	s.worker.Drain(run.ID)
	s.worker.Resuspend(run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval})
	if got := s.inbox("decides")[0]; len(got.Requests) != 1 || got.Requests[0].Text != "Pay Ann 130" || got.Requests[0].By != "token:anna" {
		t.Errorf("%+v", got)
	}
	failed := s.startedWith("starts", `{"agent":"desk","input":"Pay Bob 140"}`)
	s.worker.End(failed.ID, core.Reason{Kind: core.Failed, Code: "model_error"}, "")
	again := decoded[wire.Run](t, s.send("POST", "/v1/runs/"+failed.ID+"/retry", "", bearer("secret")).text)
	s.worker.Suspend(again.ID, frontendtest.Call{ID: "c2", Tool: "pay", Kind: core.KindApproval})
	if got := s.inbox("decides")[1]; len(got.Requests) != 1 || got.Requests[0].Text != "Pay Bob 140" || got.Requests[0].By != "token:anna" || got.StartedBy.By != "token:test" {
		t.Errorf("%+v", got)
	}
}

// Every message that the model had read is shown with its sender: a request could hide behind a
// colleague's later message.
func TestAnEarlierMessageHidesBehindNoLaterOne(t *testing.T) {
	s := deskOf(t)
	run := s.startedWith("starts", `{"agent":"desk","input":"Pay Eve 9000"}`)
	say := func(text string) {
		t.Helper()
		if got := s.send("POST", "/v1/threads/"+run.ThreadID+"/messages", string(core.Encode(map[string]any{"input": text})), bearer("secret")); got.StatusCode >= 300 {
			t.Fatal(got.text)
		}
	}
	s.worker.Drain(run.ID)
	say("And Ann 5, please.")
	s.worker.Drain(run.ID)
	s.worker.Ask(run.ID, frontendtest.Call{ID: "c0", Tool: "look"})
	say("Yes.")
	s.worker.Drain(run.ID)
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval})
	got := s.inbox("decides")[0]
	want := []wire.Request{{Text: "Pay Eve 9000", By: "token:anna", Via: "api"}, {Text: "And Ann 5, please.", By: "token:test", Via: "api"}, {Text: "Yes.", By: "token:test", Via: "api"}}
	if !slices.Equal(got.Requests, want) || got.RequestsCut {
		t.Errorf("%+v", got.Requests)
	}
	page := s.send("GET", s.makeLink(run.ID, "c1", "cleo").Link, "", header("Accept", "text/html"))
	for _, words := range []string{"Pay Eve 9000", "token:anna, by api", "And Ann 5, please.", "Yes.", "token:test, by api"} {
		if !strings.Contains(page.text, words) {
			t.Errorf("the page does not show %q", words)
		}
	}
}

// The model reads what was said in earlier runs of the thread, so an approver is shown it, too.
func TestMessagesOfEarlierRunsAreShown(t *testing.T) {
	s := deskOf(t)
	run := s.startedWith("starts", `{"agent":"desk","input":"Pay Eve 9000 with the next order"}`)
	s.worker.End(run.ID, core.Reason{Kind: core.NaturalEnd}, "I will.")
	next := decoded[wire.Run](t, s.send("POST", "/v1/threads/"+run.ThreadID+"/messages", `{"input":"Order two pens."}`, bearer("secret")).text)
	if next.ID == run.ID || next.ID == "" {
		t.Fatalf("%+v", next)
	}
	s.worker.Suspend(next.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval})
	want := []wire.Request{{Text: "Pay Eve 9000 with the next order", By: "token:anna", Via: "api"}, {Text: "Order two pens.", By: "token:test", Via: "api"}}
	if got := s.inbox("decides")[0]; !slices.Equal(got.Requests, want) {
		t.Errorf("%+v", got.Requests)
	}
}

func TestOfManyMessagesTheNewestAreShown(t *testing.T) {
	s := deskOf(t)
	run := s.startedWith("starts", `{"agent":"desk","input":"0"}`)
	s.worker.Drain(run.ID)
	for n := 1; n < 10; n++ {
		if got := s.send("POST", "/v1/threads/"+run.ThreadID+"/messages", fmt.Sprintf(`{"input":"%d %s"}`, n, strings.Repeat("x", 1000)), bearer("secret")); got.StatusCode >= 300 {
			t.Fatal(got.text)
		}
		s.worker.Drain(run.ID)
	}
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval})
	got := s.inbox("decides")[0]
	if len(got.Requests) != 8 || !got.RequestsCut || !strings.HasPrefix(got.Requests[0].Text, "2 ") || len(got.Requests[0].Text) != 512 || !got.Requests[0].Cut ||
		!strings.HasPrefix(got.Requests[7].Text, "9 ") || len(got.Requests[7].Text) != 1002 || got.Requests[7].Cut {
		t.Errorf("%d, %v: %+v", len(got.Requests), got.RequestsCut, got.Requests)
	}
	page := s.send("GET", s.makeLink(run.ID, "c1", "cleo").Link, "", header("Accept", "text/html"))
	if !strings.Contains(page.text, "Earlier messages are not shown.") {
		t.Error("the page does not say that there are more")
	}
}

func TestLongTextsOfAViewAreCutBetweenLetters(t *testing.T) {
	s := deskOf(t)
	long := strings.Repeat("\u20ac", 2000)
	run := s.startedWith("starts", string(core.Encode(map[string]any{"agent": "desk", "input": long})))
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval, Said: long})
	got := s.inbox("decides")[0]
	for _, text := range []string{got.Requests[0].Text, got.Said} {
		if len(text) > 2<<10 || len(text) < 2040 || !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
	if !got.Requests[0].Cut || !got.SaidCut {
		t.Errorf("%+v", got)
	}
	page := s.send("GET", s.makeLink(run.ID, "c1", "cleo").Link, "", header("Accept", "text/html"))
	if strings.Count(page.text, "This text is cut; there is more.") != 2 {
		t.Error("the page does not say that it is cut")
	}
}

func TestAnUnreadableDefinitionHidesOnlyTheTool(t *testing.T) {
	s := deskOf(t)
	run := s.startedWith("starts", `{"agent":"desk","input":"Refund A-2"}`)
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	if got := s.inbox("decides")[0]; got.ToolDetails != nil || got.Requests[0].Text != "Refund A-2" || got.Error != nil {
		t.Errorf("%+v", got)
	}
}

// A decision that says what it answers is held to that; one that says nothing is not.
func TestADecisionOnAnotherQuestionThanWasShownIsRefused(t *testing.T) {
	s := deskOf(t)
	run := s.startedWith("starts", `{"agent":"desk","input":"Pay Ann 130"}`)
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval})
	shown := s.inbox("decides")[0].Fingerprint
	decide := func(body string) answer {
		return s.send("POST", "/v1/runs/"+run.ID+"/decisions", body, bearer("decides"))
	}
	for _, other := range []string{"v1:" + strings.Repeat("0", 64), "v0" + shown[2:], "nothing"} {
		got := decide(`{"target":"c1","action":"resume","shown":"` + other + `"}`)
		if got.StatusCode != 409 || got.problem(t).Code != "changed" || len(s.inbox("decides")) != 1 {
			t.Errorf("%d %s", got.StatusCode, got.text)
		}
	}
	for _, body := range []string{`{"target":"c1","action":"resume","shown_by":"desk/2"}`, `{"target":"c1","action":"resume","shown":"` + shown + `","shown_by":"a desk"}`} {
		if got := decide(body); got.StatusCode != 400 || len(s.inbox("decides")) != 1 {
			t.Errorf("%d %s", got.StatusCode, got.text)
		}
	}
	if got := decide(`{"target":"c1","action":"resume","shown":"` + shown + `","shown_by":"desk/2"}`); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	// What was shown is no part of what makes a decision the same.
	for _, body := range []string{`{"target":"c1","action":"resume"}`, `{"target":"c1","action":"resume","shown":"` + shown + `"}`, `{"target":"c1","action":"resume","shown":"nothing"}`} {
		if got := decide(body); got.StatusCode != 200 || !strings.Contains(got.text, `"same":true`) {
			t.Errorf("%d %s", got.StatusCode, got.text)
		}
	}
	s.worker.Drain(run.ID)
	if rec := s.decisionOf(run.ID); rec.Shown != shown || rec.ShownBy != "desk/2" {
		t.Errorf("%+v", rec)
	}
}

func TestTheRecordSaysWhatDrewTheQuestion(t *testing.T) {
	for name, send := range map[string]func(s *server, run wire.Run, link, shown string) answer{
		"page/3": func(s *server, _ wire.Run, link, shown string) answer {
			return s.send("POST", link, "action=resume&shown="+shown, header("Accept", "text/html"), header("Content-Type", "application/x-www-form-urlencoded"))
		},
		"api": func(s *server, _ wire.Run, link, shown string) answer {
			return s.send("POST", link, `{"action":"resume","shown":"`+shown+`"}`)
		},
		"": func(s *server, run wire.Run, _, _ string) answer {
			return s.send("POST", "/v1/runs/"+run.ID+"/decisions", `{"target":"c1","action":"resume"}`, bearer("decides"))
		},
	} {
		s := deskOf(t)
		run := s.startedWith("starts", `{"agent":"desk","input":"Pay Ann 130"}`)
		s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval})
		shown := s.inbox("decides")[0].Fingerprint
		link := s.makeLink(run.ID, "c1", "cleo").Link
		if got := send(s, run, link, shown); got.StatusCode != 202 {
			t.Fatalf("%s: %d %s", name, got.StatusCode, got.text)
		}
		s.worker.Drain(run.ID)
		if rec := s.decisionOf(run.ID); rec.ShownBy != name || (rec.Shown == shown) != (name != "") {
			t.Errorf("%s: %+v", name, rec)
		}
	}
}

// recorded is the decision in the events of a run.
func (s *server) decisionOf(run string) (rec wire.DecisionRecordedData) {
	s.t.Helper()
	page := decoded[wire.EventPage](s.t, s.send("GET", "/v1/runs/"+run+"/events", "", bearer("secret"), header("Accept", "application/json")).text)
	for _, e := range page.Items {
		if e.Type == string(core.EventDecisionRecorded) {
			if err := json.Unmarshal(e.Data, &rec); err != nil {
				s.t.Fatal(err)
			}
			return rec
		}
	}
	s.t.Fatal("no decision is recorded")
	return rec
}
