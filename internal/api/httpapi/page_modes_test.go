package httpapi_test

import (
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// linked is the link of a call that waits.
func linked(t *testing.T, call frontendtest.Call) (s *server, run wire.Run, link string) {
	t.Helper()
	s = newServer(t, settings{token: "secret", options: withLinks})
	run = s.start()
	call.ID, call.Kind = "c1", core.KindApproval
	s.worker.Suspend(run.ID, call)
	return s, run, s.makeLink(run.ID, "c1", "anna").Link
}

func (s *server) page(link string) answer {
	s.t.Helper()
	return s.send("GET", link, "", header("Accept", "text/html"))
}

func (s *server) postForm(link string, fields url.Values) answer {
	s.t.Helper()
	return s.send("POST", link, fields.Encode(), header("Accept", "text/html"), header("Content-Type", "application/x-www-form-urlencoded"))
}

// What a yes does depends on the resume mode, and the page says it: no Approve where the tool does
// not run.
func TestThePageSaysWhatAYesDoes(t *testing.T) {
	for mode, want := range map[core.ResumeMode]string{
		core.ReplayToolCall:          "The tool gets these arguments and no others.</p>",
		core.PassDecisionToTool:      "also gets your decision and its reason.",
		core.UseDecisionAsToolResult: "The tool does not run: your answer is its result.",
	} {
		s, _, link := linked(t, frontendtest.Call{Tool: "pay", Mode: mode})
		page := s.page(link).text
		bare := strings.Contains(page, `value="resume">Approve<`)
		if !strings.Contains(page, want) || bare != (mode != core.UseDecisionAsToolResult) {
			t.Errorf("%v, Approve is offered: %v: %s", mode, bare, page[strings.Index(page, "<main"):])
		}
	}
}

func TestAResultIsTypedIntoThePage(t *testing.T) {
	for _, tt := range []struct{ schema, typed, result string }{
		{"", "12 \u20ac\r\nin cash", "\"12 \u20ac\\nin cash\""},
		{"", "true", `"true"`},
		{"", "no", `"no"`},
		{`{"type":"string"}`, "[1]", `"[1]"`},
		{`{"type":"object"}`, `{"a":1.50}`, `{"a":1.50}`},
	} {
		s, run, link := linked(t, frontendtest.Call{Tool: "pay", Mode: core.UseDecisionAsToolResult, Schema: json.RawMessage(tt.schema)})
		shown := shownOn(t, s.page(link))
		for _, nothing := range []string{"", "  "} {
			got := s.postForm(link, url.Values{"action": {"resume"}, "shown": {shown}, "result": {nothing}})
			if got.StatusCode != 422 || !strings.Contains(got.text, "Nothing was stored: ") || shownOn(t, got) != shown {
				t.Errorf("%q: %d %s", nothing, got.StatusCode, got.text)
			}
		}
		if got := s.postForm(link, url.Values{"action": {"resume"}, "shown": {shown}, "result": {tt.typed}}); got.StatusCode != 202 || !strings.Contains(got.text, "Your result") {
			t.Errorf("%+v: %d %s", tt, got.StatusCode, got.text)
		}
		s.worker.Drain(run.ID)
		if rec := s.decisionOf(run.ID); string(rec.Result) != tt.result || rec.Action != "resume" {
			t.Errorf("%+v: %s", tt, rec.Result)
		}
		if page := s.page(link).text; !strings.Contains(page, "Answered: With a result") || strings.Contains(page, "call succeeded") {
			t.Error(page[strings.Index(page, "<h1"):])
		}
	}
}

func TestATypedResultThatDoesNotFitIsAskedForAgain(t *testing.T) {
	s, run, link := linked(t, frontendtest.Call{Tool: "pay", Mode: core.UseDecisionAsToolResult, Schema: json.RawMessage(`{"type":"object"}`)})
	shown := shownOn(t, s.page(link))
	for _, typed := range []string{"[1]", "not JSON"} {
		if got := s.postForm(link, url.Values{"action": {"resume"}, "shown": {shown}, "result": {typed}}); got.StatusCode != 422 || shownOn(t, got) != shown {
			t.Errorf("%d %s", got.StatusCode, got.text)
		}
	}
	if got := s.send("POST", link, `{"action":"resume","result":[1]}`); got.StatusCode != 422 || got.problem(t).Code != "schema_mismatch" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if now, err := s.client.Run(t.Context(), run.ID); err != nil || len(now.Pending) != 1 {
		t.Errorf("%+v, %v", now, err)
	}
	if got := s.postForm(link, url.Values{"action": {"cancel"}, "shown": {shown}, "result": {"half"}}); got.StatusCode != 202 {
		t.Errorf("a no beside half a result: %d %s", got.StatusCode, got.text)
	}
}

func TestALinkHoldsAVerdictToTheRulesOfADecision(t *testing.T) {
	s, run, link := linked(t, frontendtest.Call{Tool: "pay"})
	for body, want := range map[string]string{
		`{"action":"resume","result":{"paid":1}}`:                        "wrong_kind",
		`{"action":"resume","result":"no"}`:                              "contradictory",
		`{"action":"resume","result":{"approved":"perhaps"}}`:            "unclear_decision",
		`{"action":"resume","shown":"` + strings.Repeat("a", 300) + `"}`: "invalid_request",
		`{"action":"resume","shown":"v1:00"}`:                            "changed",
		`{"action":"cancel","shown":"v1:00"}`:                            "changed",
	} {
		if got := s.send("POST", link, body); got.problem(t).Code != want {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.text)
		}
	}
	if now, err := s.client.Run(t.Context(), run.ID); err != nil || len(now.Pending) != 1 {
		t.Errorf("%+v, %v", now, err)
	}
}

// The form of a page that asked something else, or that is older than fingerprints, stores nothing
// and shows the question again.
func TestAFormOfAnotherQuestionShowsTheQuestionAgain(t *testing.T) {
	s, run, link := linked(t, frontendtest.Call{Tool: "pay", Arguments: json.RawMessage(`{"to":"Ann"}`)})
	shown := shownOn(t, s.page(link))
	for _, fields := range []url.Values{
		{"action": {"resume"}, "shown": {"v1:" + strings.Repeat("0", 64)}}, {"action": {"resume"}}, {"action": {"cancel"}, "reason": {"no"}, "shown": {""}},
	} {
		got := s.postForm(link, fields)
		if got.StatusCode != 409 || !strings.Contains(got.text, "This has changed since you read it. Nothing was stored; please read it again.") ||
			!strings.Contains(got.text, ">Ann<") || shownOn(t, got) != shown {
			t.Errorf("%v: %d %s", fields, got.StatusCode, got.text)
		}
	}
	if now, err := s.client.Run(t.Context(), run.ID); err != nil || len(now.Pending) != 1 {
		t.Fatalf("%+v, %v", now, err)
	}
	if got := s.postForm(link, url.Values{"action": {"resume"}, "shown": {shown}}); got.StatusCode != 202 {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	again := s.send("POST", link, "action=resume", header("Content-Type", "application/x-www-form-urlencoded"))
	if got := again.problem(t); got.Status != 409 || got.Code != "changed" {
		t.Errorf("the same answer once more, without the fingerprint that a form has to have: %+v", got)
	}
}

// Each text of others is spelled, escaped and framed by itself, wherever the page shows it.
func TestHostileTextsAreFramedWhereverThePageShowsThem(t *testing.T) {
	const hostile = "<script>alert(1)</script>\u202eevil\u200b \u0430pple\"><h1>Approved</h1>"
	s := deskOf(t)
	payDetailsWere := payDetails
	t.Cleanup(func() { payDetails = payDetailsWere })
	payDetails = wire.ToolDetails{Description: hostile, Kind: "http", Target: hostile}
	run := s.startedWith("starts", string(core.Encode(map[string]any{"agent": "desk", "input": hostile, "metadata": map[string]any{hostile: hostile}})))
	s.worker.Drain(run.ID)
	if got := s.send("POST", "/v1/threads/"+run.ThreadID+"/messages", string(core.Encode(map[string]any{"input": hostile})), bearer("secret")); got.StatusCode >= 300 {
		t.Fatal(got.text)
	}
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval, Said: hostile, Message: hostile,
		Preview: &core.Preview{Text: hostile, Tool: "get"}})
	page := s.page(s.makeLink(run.ID, "c1", "cleo").Link)
	for label, times := range map[string]int{"Rule": 1, "An earlier message": 1, "The request": 1, "The assistant says": 1, "About the tool": 1, "HTTP request to": 1,
		"Current value when this was asked": 1, "Metadata of the run": 1, "Requested by": 2, "Run started by": 1} {
		if strings.Count(page.text, `<div class="zone"><dl><div class="row wide"><dt>`+label+`</dt>`) != times {
			t.Errorf("%s is not framed", label)
		}
	}
	if strings.ContainsAny(page.text, "\u202e\u200b") || strings.Contains(page.text, "<script") || strings.Count(page.text, "<h1") != 1 ||
		strings.Count(page.text, "<input") != 1 || strings.Count(page.text, html.EscapeString("<script>alert(1)</script>")) != 9 {
		t.Error(page.text[strings.Index(page.text, "<main"):])
	}
}

func TestThePageSaysHowFarAGrantReaches(t *testing.T) {
	s, _, link := linked(t, frontendtest.Call{Tool: "pay"})
	if page := s.page(link).text; !strings.Contains(page, "Your approval is for this call only.") || !strings.Contains(page, "Also approves every later call of pay") {
		t.Error(page[strings.Index(page, "<main"):])
	}
}

func TestThePreviewIsShownAndCoveredByTheFingerprint(t *testing.T) {
	seen := map[string]bool{}
	for _, tt := range []struct {
		preview *core.Preview
		want    string
	}{
		{nil, "will be done"},
		{&core.Preview{Text: "192.0.2.20 -> 192.0.2.99"}, `<dt>In short</dt><dd class="value" dir="auto">192.0.2.20 -&gt; 192.0.2.99<`},
		{&core.Preview{Text: "192.0.2.20", Tool: "get_dns"}, `<dt>Current value when this was asked</dt><dd class="value" dir="auto">192.0.2.20<`},
		{&core.Preview{Failed: "The preview could not be made: it took too long", Tool: "get_dns"}, `<dt>Preview</dt><dd class="value" dir="auto">The preview could not be made: it took too long<`},
		{&core.Preview{Tool: "get_dns"}, "The preview of this call is empty."},
	} {
		s, run, link := linked(t, frontendtest.Call{Tool: "pay", Preview: tt.preview})
		page := s.page(link)
		if !strings.Contains(page.text, tt.want) {
			t.Errorf("%+v: %s", tt.preview, page.text[strings.Index(page.text, "<main"):])
		}
		now, err := s.client.Run(t.Context(), run.ID)
		if err != nil || (now.Pending[0].Preview == nil) != (tt.preview == nil) || tt.preview != nil && *now.Pending[0].Preview != wire.Preview(*tt.preview) {
			t.Errorf("%+v, %v", now.Pending, err)
		}
		events := s.send("GET", "/v1/runs/"+run.ID+"/events", "", bearer("secret"), header("Accept", "application/json"))
		if has := strings.Contains(events.text, `"preview":{`); has != (tt.preview != nil) {
			t.Errorf("%+v in the events: %v", tt.preview, has)
		}
		seen[shownOn(t, page)] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d fingerprints of 5 questions", len(seen))
	}
}
