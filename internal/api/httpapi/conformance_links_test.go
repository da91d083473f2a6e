package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// linkTo is a link to a suspension that was made by nobody, as on a server that needs no tokens.
func (s *server) linkTo(run, suspension string) string {
	return s.signed(linkKey, engine.Link{Run: run, Suspension: suspension, For: "anna", Expires: s.worker.Clock.Now().Add(time.Hour).UnixMilli()})
}

// signed stores the record of a link, and signs it.
func (s *server) signed(key []byte, l engine.Link) string {
	s.t.Helper()
	l.Tenant, l.ID = access.Tenant, "lnk_"+l.Suspension+l.Maker
	if err := s.links.PutLink(s.t.Context(), l); err != nil {
		s.t.Fatal(err)
	}
	return "/v1/approvals/" + access.LinkKeys{key}.Sign(access.Link{ID: l.ID, Tenant: l.Tenant, Run: l.Run, Suspension: l.Suspension,
		Expires: time.UnixMilli(l.Expires)})
}

// pass lets time go by.
func (s *server) pass(d time.Duration) { s.worker.Clock.AfterFunc(d, func() {}) }

func TestALinkToWhatDoesNotWaitAnyMore(t *testing.T) {
	s := newServer(t, settings{options: withLinks})
	approval := func(id string) frontendtest.Call {
		return frontendtest.Call{ID: id, Tool: "refund", Kind: core.KindApproval}
	}
	yes := func(run, sus string, status int, code, state string) {
		t.Helper()
		link := s.linkTo(run, sus)
		s.posts(posted{link, `{"action":"resume"}`, "", status, code})
		seen := s.send("GET", link, "")
		if o := decoded[wire.Outcome](t, seen.text); seen.StatusCode != 200 || o.State != state || o.Tool != "refund" || o.Agent != "desk" || o.RunID != run {
			t.Errorf("it shows %d %s, want %s", seen.StatusCode, seen.text, state)
		}
	}
	late, over, again, left := s.start(), s.start(), s.start(), s.start()
	due := approval("c1")
	due.Deadline = 1
	sus := s.worker.Suspend(late.ID, due)["c1"]
	yes(late.ID, sus, 409, "late_decision", "timed_out") // also before the deadline is applied
	s.worker.TimeOut(late.ID, "c1")
	yes(late.ID, sus, 409, "late_decision", "timed_out")

	sus = s.worker.Suspend(over.ID, approval("c1"))["c1"]
	s.posts(posted{"/v1/runs/" + over.ID + "/cancel", "", "", 202, ""})
	s.worker.End(over.ID, core.Reason{Kind: core.Cancelled}, "")
	yes(over.ID, sus, 409, "run_done", "withdrawn")

	both := s.worker.Suspend(again.ID, approval("c1"), approval("c2"))
	yes(again.ID, both["c2"], 202, "", "answered")
	s.worker.Resuspend(again.ID, approval("c1"))
	yes(again.ID, both["c1"], 409, "stale_suspension", "withdrawn")

	sus = s.worker.Suspend(left.ID, approval("c1"))["c1"]
	s.posts(posted{"/v1/threads/" + left.ThreadID + "/messages", `{"input":"never mind","on_pending":"abandon"}`, "", 202, ""})
	s.worker.Drain(left.ID)
	yes(left.ID, sus, 409, "not_suspended", "withdrawn")
}

// A link is dead at the deadline of its call: nothing that comes by it afterwards is stored, not
// even as an answer that was late.
func TestALinkIsDeadAtTheDeadlineAndSaysThatTimeRanOut(t *testing.T) {
	s := newServer(t, settings{options: withLinks})
	run := s.start()
	deadline := s.worker.Clock.Now().Add(time.Hour)
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Deadline: deadline.UnixMilli()})["c1"]
	made := s.makeLink(run.ID, sus, "anna")
	if !made.ExpiresAt.Equal(deadline) {
		t.Errorf("it says that it is good until %v, and the deadline is %v", made.ExpiresAt, deadline)
	}
	s.pass(time.Hour)
	for _, applied := range []bool{false, true} {
		if applied {
			s.worker.TimeOut(run.ID, "c1")
		}
		s.posts(posted{made.Link, `{"action":"resume"}`, "", 409, "late_decision"})
		page := s.send("GET", made.Link, "", header("Accept", "text/html"))
		if page.StatusCode != 200 || !strings.Contains(page.text, "Time ran out") || !strings.Contains(page.text, "did not run") || strings.Contains(page.text, "<form") {
			t.Errorf("applied %v: %d %s", applied, page.StatusCode, page.text)
		}
		page = s.send("POST", made.Link, "action=resume", header("Accept", "text/html"), header("Content-Type", "application/x-www-form-urlencoded"))
		if page.StatusCode != 409 || !strings.Contains(page.text, "Your answer was not used.") || !strings.Contains(page.text, "Time ran out") {
			t.Errorf("applied %v: %d %s", applied, page.StatusCode, page.text)
		}
	}
	// something to drain
	s.send("POST", "/v1/threads/"+run.ThreadID+"/messages", `{"input":"go on"}`)
	s.worker.Drain(run.ID)
	events := s.send("GET", "/v1/runs/"+run.ID+"/events?limit=100", "", header("Accept", "application/json"))
	if strings.Contains(events.text, `"late":true`) || strings.Contains(events.text, "link:anna") {
		t.Errorf("something was stored: %s", events.text)
	}
	s.pass(7 * 24 * time.Hour)
	if got := s.send("GET", made.Link, ""); got.StatusCode != 410 || got.problem(t).Code != "link_expired" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestThePageOfAnAnsweredLinkSaysWhoAnsweredWhatAndWhen(t *testing.T) {
	named := func(o *httpapi.Options) {
		withLinks(o)
		o.Names = httpapi.Names{Product: "Refund <Desk>", Tenants: map[string]string{"default": "Acme & Sons"}}
	}
	s := newServer(t, settings{token: "secret", options: named})
	run := s.start()
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	link := s.makeLink(run.ID, "c1", "anna").Link
	html := header("Accept", "text/html")
	if page := s.send("GET", link, "", html); !strings.Contains(page.text, "Refund &lt;Desk&gt; · Acme &amp; Sons") {
		t.Errorf("the page of the question names neither product nor tenant: %s", page.text)
	}
	if got := s.send("POST", "/v1/runs/"+run.ID+"/decisions", `{"target":"`+sus+`","action":"cancel","reason":"not this <month>"}`, bearer("secret")); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	for _, then := range []string{"stored", "taken up"} {
		page := s.send("GET", link, "", html)
		for _, want := range []string{"Answered: No", "Answered by <bdi>test</bdi> on 2026-03-01 12:00:00 UTC", "not this &lt;month&gt;", "<bdi>refund</bdi> did not run", "Refund &lt;Desk&gt; · Acme &amp; Sons"} {
			if page.StatusCode != 200 || !strings.Contains(page.text, want) {
				t.Errorf("%s: %d without %q: %s", then, page.StatusCode, want, page.text)
			}
		}
		s.worker.Drain(run.ID)
	}
	seen := s.send("GET", link, "", header("Accept", "application/json"))
	o := decoded[wire.Outcome](t, seen.text)
	if d := o.Decision; o.State != "answered" || d.Action != "cancel" || d.By != "token:test" || d.Reason != "not this <month>" || d.Applied == nil || !*d.Applied || d.At.IsZero() {
		t.Errorf("%s", seen.text)
	}
}

func TestASecondClickOnALinkIsAPageToo(t *testing.T) {
	s := newServer(t, settings{options: withLinks})
	run := s.start()
	link := s.linkTo(run.ID, s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"])
	shown := shownOn(t, s.send("GET", link, "", header("Accept", "text/html")))
	for _, want := range []int{202, 200} {
		got := s.send("POST", link, "action=resume&shown="+shown, header("Accept", "text/html"), header("Content-Type", "application/x-www-form-urlencoded"))
		if got.StatusCode != want {
			t.Errorf("got %d %s, want %d", got.StatusCode, got.text, want)
		}
	}
}
