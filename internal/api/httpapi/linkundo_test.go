package httpapi_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// withHold is a server whose pages hold answers for 8 seconds.
func withHold(o *httpapi.Options) {
	withLinks(o)
	o.Limits.Hold = 8 * time.Second
}

// approvedLink is a server with a question that was approved by a link, and another link for it.
type approvedLink struct {
	*server
	suspension, other string
}

// approved is a question that was just approved by the form of its link.
func approved(t *testing.T) (s *approvedLink, run wire.Run, link string, form url.Values, page answer) {
	t.Helper()
	s = &approvedLink{server: newServer(t, settings{token: "secret", options: withHold})}
	run = s.start()
	s.suspension = s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	link, s.other = s.makeLink(run.ID, "c1", "anna").Link, s.makeLink(run.ID, "c1", "anna").Link
	asked := s.send("GET", link, "", asPage)
	form = url.Values{"action": {"resume"}, "shown": {shownOn(t, asked)}, "hold": {hidden(asked, "hold")}}
	if !strings.Contains(asked.text, "You can undo your answer for 8 seconds") {
		t.Fatal(asked.text)
	}
	if page = s.send("POST", link, form.Encode(), asPage, asForm); page.StatusCode != 202 || !strings.Contains(page.text, ">Undo</button>") || strings.Contains(page.text, "<script") {
		t.Fatalf("%d %s", page.StatusCode, page.text)
	}
	return s, run, link, form, page
}

func undoOf(page answer) url.Values {
	return url.Values{"action": {"withdraw"}, "decision_id": {hidden(page, "decision_id")}}
}

func TestAnAnswerByALinkIsUndoneByThatLink(t *testing.T) {
	s, run, link, form, page := approved(t)
	if reload := s.send("GET", link, "", asPage); reload.StatusCode != 200 || !strings.Contains(reload.text, ">Undo</button>") {
		t.Errorf("loaded again: %d %s", reload.StatusCode, reload.text)
	}
	if again := s.send("POST", link, form.Encode(), asPage, asForm); again.StatusCode != 200 || !strings.Contains(again.text, ">Undo</button>") {
		t.Errorf("pressed twice: %d %s", again.StatusCode, again.text)
	}
	for range 2 {
		if got := s.send("POST", link, undoOf(page).Encode(), asPage, asForm); got.StatusCode != 200 || !strings.Contains(got.text, "You took your answer back. Nothing was done.") {
			t.Fatalf("%d %s", got.StatusCode, got.text)
		}
	}
	if now, err := s.client.Run(t.Context(), run.ID); err != nil || len(now.Pending) != 1 || len(now.Pending[0].Suspension.Withdrawn) != 1 {
		t.Fatalf("%+v, %v", now.Pending, err)
	}
	if got := s.send("POST", link, form.Encode(), asPage, asForm); got.StatusCode != 409 || !strings.Contains(got.text, "This answer was taken back before") {
		t.Errorf("a copy of the form: %d %s", got.StatusCode, got.text)
	}
	if other := s.send("GET", s.other, "", asPage); !strings.Contains(other.text, "<strong>The answer was taken back. Nothing was done.</strong>") {
		t.Errorf("by another link: %s", other.text)
	}
	s.worker.Drain(run.ID)
	if page := s.send("GET", link, "", asPage); !strings.Contains(page.text, "You took your answer back.") {
		t.Errorf("journaled: %s", page.text)
	}
	form.Set("withdrawn", hidden(s.send("GET", link, "", asPage), "withdrawn"))
	if got := s.send("POST", link, form.Encode(), asPage, asForm); got.StatusCode != 202 || hidden(got, "decision_id") == hidden(page, "decision_id") {
		t.Errorf("answered once more: %d %s", got.StatusCode, got.text)
	}
}

func TestAnAnswerByALinkIsUndoneByNoOne(t *testing.T) {
	s, run, link, _, page := approved(t)
	undo := undoOf(page)
	if shown := s.send("GET", s.other, "", asPage); strings.Contains(shown.text, ">Undo<") {
		t.Errorf("another link offers it: %s", shown.text)
	}
	for name, send := range map[string]func() answer{
		"another link": func() answer { return s.send("POST", s.other, undo.Encode(), asPage, asForm) },
		"another decision": func() answer {
			return s.send("POST", link, url.Values{"action": {"withdraw"}, "decision_id": {"x"}}.Encode(), asPage, asForm)
		},
		"no decision": func() answer { return s.send("POST", link, "action=withdraw", asPage, asForm) },
		"another site": func() answer {
			return s.send("POST", link, undo.Encode(), asPage, asForm, header("Sec-Fetch-Site", "cross-site"))
		},
		"a mail scanner": func() answer { return s.send("GET", link+"?"+undo.Encode(), "", asPage) },
		"a token": func() answer {
			return s.send("DELETE", "/v1/suspensions/"+s.suspension+"/decisions/"+undo.Get("decision_id"), "", bearer("secret"))
		},
	} {
		if got := send(); name != "a mail scanner" && got.StatusCode < 400 {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
		if now, err := s.client.Run(t.Context(), run.ID); err != nil || len(now.Pending) != 0 {
			t.Fatalf("%s: it was taken back: %+v, %v", name, now.Pending, err)
		}
	}
}

func TestAnUndoByALinkThatComesTooLate(t *testing.T) {
	s, run, link, _, page := approved(t)
	s.worker.Drain(run.ID)
	if got := s.send("POST", link, undoOf(page).Encode(), asPage, asForm); got.StatusCode != 409 || !strings.Contains(got.text, "too late to undo") || !strings.Contains(got.text, "Answered: Yes") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestAProgramUndoesByALink(t *testing.T) {
	s, run, link, _, page := approved(t)
	undo := `{"action":"withdraw","decision_id":"` + hidden(page, "decision_id") + `"}`
	for _, step := range []struct {
		at, body, code string
		status         int
	}{
		{s.other, undo, "not_your_decision", 403},
		{link, `{"action":"withdraw","decision_id":"x"}`, "decision_not_found", 404},
		{link, undo, "withdrawn", 200},
		{link, `{"action":"resume","hold":8}`, "decision_withdrawn", 409},
		{link, `{"action":"resume","withdrawn":-1}`, "invalid_request", 400},
		{link, `{"action":"resume","hold":8,"withdrawn":1}`, "hold_unavailable", 409},
		{link, `{"action":"resume","withdrawn":1}`, "accepted", 202},
	} {
		if got := s.send("POST", step.at, step.body); got.StatusCode != step.status || got.code() != step.code {
			t.Errorf("%s: %d %s", step.body, got.StatusCode, got.text)
		}
	}
	became := decoded[wire.Outcome](t, s.send("GET", link, "").text)
	s.worker.Drain(run.ID)
	if got := s.send("POST", link, `{"action":"withdraw","decision_id":"`+became.Decision.DecisionID+`"}`); got.code() != "decision_applied" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}
