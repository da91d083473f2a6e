package httpapi_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

func TestTheEventsOfAThreadOverHTTP(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	path := "/v1/threads/" + run.ThreadID + "/events"
	asJSON := header("Accept", "application/json")
	page := decoded[wire.EventPage](t, s.send("GET", path, "", asJSON).text)
	if len(page.Items) != 2 || page.Done || !page.Waiting {
		t.Errorf("%+v", page)
	}
	for query, code := range map[string]string{"?after=x": "bad_cursor", "?from=start": "invalid_request"} {
		if got := s.send("GET", path+query, "", asJSON); got.problem(t).Code != code {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.text)
		}
	}
	for at, code := range map[string]string{"/v1/threads/" + run.ID: "thread_not_found", "/v1/runs/" + run.ThreadID: "run_not_found"} {
		for _, accept := range []string{"application/json", "text/event-stream"} {
			if got := s.send("GET", at+"/events", "", header("Accept", accept)); got.StatusCode != 404 || got.problem(t).Code != code {
				t.Errorf("%s as %s: %d %s", at, accept, got.StatusCode, got.text)
			}
		}
	}
	if got := s.send("GET", path, ""); got.StatusCode != 200 || strings.Count(got.text, "event: call.") != 2 {
		t.Errorf("the stream: %d %s", got.StatusCode, got.text)
	}
}

func TestAStreamOfAThreadIsServedElsewhere(t *testing.T) {
	s, streams := elsewhere(t, settings{token: "secret"})
	run := s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	s.http.CheckRedirect = stay
	sent := s.send("GET", "/v1/threads/"+run.ThreadID+"/events", "", bearer("secret"))
	location := sent.Header.Get("Location")
	if sent.StatusCode != 307 || !strings.HasPrefix(location, streams.url+"/v1/streams/") {
		t.Fatalf("%d %s %s", sent.StatusCode, location, sent.text)
	}
	if got := streams.send("GET", strings.TrimPrefix(location, streams.url), ""); got.StatusCode != 200 || !strings.Contains(got.text, "event: call.suspended") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestStreamsOfThreadsCountAsStreams(t *testing.T) {
	s := newServer(t, settings{token: "ours", grants: []access.Grant{grant("stranger", "zoo", "theirs", access.Admin)}, clock: realClock{},
		options: func(o *httpapi.Options) { o.Limits.TenantStreams = 1 }})
	run := s.startAs("ours")
	first := s.open(run.ID, "ours")
	defer first.Body.Close()
	if got := s.send("GET", "/v1/threads/"+run.ThreadID+"/events", "", bearer("ours")); got.StatusCode != 429 || got.problem(t).Code != "too_many_streams" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}
