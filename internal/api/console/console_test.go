package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

func payment(amount string) frontendtest.Call {
	return frontendtest.Call{Tool: "pay", Kind: core.KindApproval, Arguments: []byte(`{"amount":` + amount + `,"to":"Ann"}`), Message: "Payments need approval."}
}

// A person who only decides sees the inbox, whole and most urgent first, and no other page.
func TestTheInboxIsMostUrgentFirst(t *testing.T) {
	s := newServer(t)
	s.waits(`"old"`, payment("1"))
	soon, later := payment("2"), payment("3")
	soon.Deadline = s.clock.Now().Add(time.Hour).UnixMilli()
	later.Deadline = s.clock.Now().Add(50 * time.Hour).UnixMilli()
	s.waits(`"later"`, later)
	s.waits(`"soon"`, soon)
	s.waits(`"page"`, frontendtest.Call{Tool: "pick", Kind: core.KindClient})
	anna := s.signedIn("anna")
	page := anna.get("/")
	order := []string{"60 min left", "<bdi>2</bdi>", "2 days left", "<bdi>3</bdi>", "<bdi>1</bdi>"}
	at := 0
	for _, text := range order {
		i := strings.Index(page.text[at:], text)
		if i < 0 {
			t.Fatalf("%q is not behind the one before:\n%s", text, page.text)
		}
		at += i
	}
	if strings.Contains(page.text, "pick") || strings.Contains(page.text, `href="/runs"`) || strings.Count(page.text, "<li ") != 3 {
		t.Errorf("it shows more than what waits for people:\n%s", page.text)
	}
	if got := anna.get("/runs"); got.status != http.StatusForbidden {
		t.Errorf("one who only decides gets %d for the runs", got.status)
	}
}

// The filter is a form of the page: it needs no script, and stays as it was typed.
func TestTheInboxIsFiltered(t *testing.T) {
	s := newServer(t)
	s.waits(`"go"`, payment("1"))
	s.waits(`"go"`, frontendtest.Call{Tool: "refund", Kind: core.KindApproval, Arguments: []byte(`{"amount":2,"order":"A-17"}`)})
	anna := s.signedIn("anna")
	for query, rows := range map[string]int{"": 2, "?tool=pay": 1, "?tool=refund&agent=desk": 1, "?tool=pay&agent=none": 0, "?tool=%22%3E%3Ch1%3E": 0} {
		page := anna.get("/" + query)
		if strings.Count(page.text, "<li ") != rows || strings.Count(page.text, "<h1") != 1 || strings.Count(page.text, `role="search"`) != 1 {
			t.Errorf("%s: %d\n%s", query, page.status, page.text)
		}
	}
	if page := anna.get("/?tool=pay"); !strings.Contains(page.text, `name="tool" value="pay"`) || !strings.Contains(page.text, "Show all") {
		t.Error(page.text)
	}
}

func TestAnAnswerIsStoredAndItsOutcomeShown(t *testing.T) {
	for action, want := range map[string]string{"resume": "Answered: Yes", "cancel": "Answered: No"} {
		t.Run(action, func(t *testing.T) {
			s := newServer(t)
			run, sus := s.waits(`"go"`, payment("50"))
			anna := s.signedIn("anna")
			page := anna.get("/questions/" + sus)
			got := anna.post("/questions/"+sus, url.Values{"form": {page.form()}, "shown": {page.fingerprint()}, "action": {action}, "reason": {"as agreed"}})
			if got.status != http.StatusSeeOther || got.to != "/questions/"+sus {
				t.Fatalf("%d to %q:\n%s", got.status, got.to, got.text)
			}
			if now := s.pending(run); len(now) != 0 {
				t.Fatalf("it still waits: %+v", now)
			}
			outcome := anna.get(got.to)
			for _, text := range []string{want, "anna", "as agreed"} {
				if !strings.Contains(outcome.text, text) {
					t.Errorf("no %q in\n%s", text, outcome.text)
				}
			}
			s.worker.Drain(run)
			second := anna.post("/questions/"+sus, url.Values{"form": {page.form()}, "shown": {page.fingerprint()}, "action": {"resume"}})
			if late := anna.get(second.to); second.status != http.StatusSeeOther || !strings.Contains(late.text, "Your answer was not used") || !strings.Contains(late.text, want) {
				t.Errorf("a second answer: %d\n%s", second.status, late.text)
			}
			list, err := s.reads.Outcome(t.Context(), frontend.Caller{Tenant: tenant}, run, sus)
			if err != nil || list.Decision == nil || list.Decision.Via != "console" || list.Decision.By != "token:anna" {
				t.Errorf("the journal has %+v, %v", list.Decision, err)
			}
		})
	}
}

// None of these forms may store anything.
func TestFormsThatStoreNothing(t *testing.T) {
	s := newServer(t)
	run, sus := s.waits(`"go"`, payment("50"))
	anna, rita := s.signedIn("anna"), s.signedIn("rita")
	page, of := anna.get("/questions/"+sus), "/questions/"+sus
	good := url.Values{"form": {page.form()}, "shown": {page.fingerprint()}, "action": {"resume"}}
	with := func(pairs ...string) url.Values {
		form := maps.Clone(good)
		for i := 0; i < len(pairs); i += 2 {
			form[pairs[i]] = []string{pairs[i+1]}
		}
		return form
	}
	elsewhere := s.browser()
	for name, send := range map[string]func() shown{
		"the enter key":        func() shown { return anna.post(of, with("action", "look")) },
		"no action":            func() shown { return anna.post(of, with("action", "")) },
		"no token of the form": func() shown { return anna.post(of, with("form", "")) },
		"of another session":   func() shown { return anna.post(of, with("form", rita.get("/").form())) },
		"no fingerprint":       func() shown { return anna.post(of, with("shown", "")) },
		"another fingerprint":  func() shown { return anna.post(of, with("shown", strings.Repeat("0", len(page.fingerprint())))) },
		"a field twice": func() shown {
			return anna.post(of, url.Values{"form": {page.form()}, "shown": {page.fingerprint()}, "action": {"resume", "resume"}})
		},
		"too long":             func() shown { return anna.post(of, with("reason", strings.Repeat("x", 70_000))) },
		"one who only reads":   func() shown { return rita.post(of, with("form", rita.get(of).form())) },
		"no one has signed in": func() shown { return elsewhere.post(of, with("form", elsewhere.get("/signin").form())) },
		"from another site": func() shown {
			return anna.do(http.MethodPost, of, good, map[string]string{"Sec-Fetch-Site": "cross-site"})
		},
		"an address with answer": func() shown { return anna.get(of + "?" + good.Encode()) },
		"another question":       func() shown { return anna.post(of+"x", good) },
		"arguments not JSON":     func() shown { return anna.post(of, with("action", "edit", "arguments", "{")) },
	} {
		if got := send(); got.status == http.StatusSeeOther && !strings.HasPrefix(got.to, "/signin") {
			t.Errorf("%s: %d to %s", name, got.status, got.to)
		}
		if now := s.pending(run); len(now) != 1 {
			t.Fatalf("%s: it was answered", name)
		}
	}
	if got := anna.post(of, good); got.status != http.StatusSeeOther {
		t.Fatalf("the form itself: %d\n%s", got.status, got.text)
	}
	if now := s.pending(run); len(now) != 0 {
		t.Error("the form itself stored nothing")
	}
}

func TestOneWhoOnlyReadsGetsNoButtons(t *testing.T) {
	s := newServer(t)
	_, sus := s.waits(`"go"`, payment("50"))
	page := s.signedIn("rita").get("/questions/" + sus)
	if page.status != http.StatusOK || !strings.Contains(page.text, "lacks the role to answer") || strings.Contains(page.text, `name="action"`) {
		t.Errorf("%d\n%s", page.status, page.text)
	}
}

// An edit approves other arguments; the page that asks again keeps what was typed.
func TestAnEditIsApproved(t *testing.T) {
	s := newServer(t)
	run, sus := s.waits(`"go"`, payment("50"))
	anna := s.signedIn("anna")
	page := anna.get("/questions/" + sus)
	form := url.Values{"form": {page.form()}, "shown": {page.fingerprint()}, "action": {"edit"}, "arguments": {`{"amount":40`}}
	if again := anna.post("/questions/"+sus, form); !strings.Contains(again.text, `{&#34;amount&#34;:40`) || len(s.pending(run)) != 1 {
		t.Fatalf("what was typed is gone:\n%s", again.text)
	}
	form.Set("arguments", `{"amount":40,"to":"Ann"}`)
	form.Set("action", "compare")
	if got := anna.post("/questions/"+sus, form); got.status != http.StatusOK || !strings.Contains(got.text, "changed by you") || len(s.pending(run)) != 1 {
		t.Fatalf("%d\n%s", got.status, got.text)
	}
	form.Set("action", "edit")
	if got := anna.post("/questions/"+sus, form); got.status != http.StatusSeeOther {
		t.Fatalf("%d\n%s", got.status, got.text)
	}
	if head, err := s.worker.Store.Load(t.Context(), tenant, "thr_"+strings.TrimSuffix(strings.TrimPrefix(run, "run_"), "_0")); err != nil || !strings.Contains(string(core.Encode(head.Inbox)), `\"amount\":40`) && !strings.Contains(string(core.Encode(head.Inbox)), `"amount":40`) {
		t.Errorf("the inbox has %s, %v", core.Encode(head.Inbox), err)
	}
}

func TestSigningInAndOut(t *testing.T) {
	s := newServer(t)
	_, sus := s.waits(`"go"`, payment("50"))
	b := s.browser()
	sent := b.get("/questions/" + sus)
	if sent.status != http.StatusSeeOther || sent.to != "/signin?to=%2Fquestions%2F"+sus {
		t.Fatalf("%d to %s", sent.status, sent.to)
	}
	at := b.get(sent.to)
	before := b.cookies()
	wrong := b.post("/signin", url.Values{"form": {at.form()}, "token": {"wrong-secret"}, "to": {"/"}})
	if wrong.status != http.StatusUnauthorized || strings.Contains(wrong.text, "wrong-secret") {
		t.Fatalf("%d\n%s", wrong.status, wrong.text)
	}
	if got := b.post("/signin", url.Values{"form": {at.form()}, "token": {"anna-secret"}, "to": {"/questions/" + sus}}); got.status != http.StatusSeeOther || got.to != "/questions/"+sus {
		t.Fatalf("%d to %s", got.status, got.to)
	}
	if slices.Equal(before, b.cookies()) {
		t.Error("the session is the one of before")
	}
	page := b.get("/questions/" + sus)
	if page.status != http.StatusOK {
		t.Fatalf("%d\n%s", page.status, page.text)
	}
	// the token gets another principal's name, with another fingerprint
	anna, _, _ := s.tokens.Find(t.Context(), "anna-secret")
	anna.Fingerprint = "anna-2"
	s.tokens.set("anna-secret", anna)
	if got := b.get("/"); got.status != http.StatusSeeOther {
		t.Errorf("a session outlives its token: %d", got.status)
	}
	anna.Fingerprint = "anna-1"
	s.tokens.set("anna-secret", anna)
	s.clock.AfterFunc(13*time.Hour, func() {})
	if got := b.get("/"); got.status != http.StatusSeeOther {
		t.Errorf("a session lasts longer than 12 hours: %d", got.status)
	}
	olga := s.signedIn("olga")
	if got := olga.post("/signout", url.Values{"form": {olga.get("/").form()}}); got.status != http.StatusSeeOther || olga.get("/").status != http.StatusSeeOther {
		t.Error("signed out, and still in")
	}
}

func TestTooManyWrongTokensAreRefused(t *testing.T) {
	s := newServer(t)
	b := s.browser()
	form := b.get("/signin").form()
	status := 0
	for range 12 {
		status = b.post("/signin", url.Values{"form": {form}, "token": {"wrong"}}).status
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("the twelfth wrong token gets %d", status)
	}
}

// No address of another site is one to come back to.
func TestTheSignInComesBackToOwnPagesOnly(t *testing.T) {
	s := newServer(t)
	for _, to := range []string{"https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "/%09/evil.example", "/\t/evil.example", "///evil.example", "http:evil.example", ""} {
		b := s.browser()
		got := b.post("/signin", url.Values{"form": {b.get("/signin").form()}, "token": {"anna-secret"}, "to": {to}})
		if got.status != http.StatusSeeOther || !strings.HasPrefix(got.to, "/") || strings.HasPrefix(got.to, "//") || strings.HasPrefix(got.to, "/\\") {
			t.Errorf("%q: %d to %q", to, got.status, got.to)
		}
	}
}

var ownScript = regexp.MustCompile(`<script src="/console/[0-9a-f]{16}\.js" defer></script></head>`)

// A page runs and loads its own script and style alone, and can't be framed, whatever it shows.
func TestPagesAreSecluded(t *testing.T) {
	s := newServer(t)
	run, sus := s.waits(`"go"`, payment("50"))
	olga := s.signedIn("olga")
	for _, path := range []string{"/", "/questions/" + sus, "/runs", "/runs/" + run, "/runs/run_none", "/signin"} {
		b := olga
		if path == "/signin" {
			b = s.browser()
		}
		got := b.get(path)
		policy := got.header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, got.header)
		}
		if strings.Count(got.text, "<script") != 1 || !ownScript.MatchString(got.text) || strings.Contains(got.text, "style=") {
			t.Errorf("%s has a script or a style of its own", path)
		}
	}
}

// hostile is text of others that must reach a page as no more than text.
const hostile = "<script>alert(1)</script>\u202e\u200b\" onload=x {{.}} </bdi></a><h1>"

func TestTextOfOthersStaysText(t *testing.T) {
	s := newServer(t)
	said := string(core.Encode(hostile))
	run, sus := s.waits(said, frontendtest.Call{Tool: hostile, Kind: core.KindApproval, Message: hostile, Said: hostile, Arguments: []byte(`{` + said + `:` + said + `}`)})
	olga := s.signedIn("olga")
	benign := newServer(t)
	calmRun, calmSus := benign.waits(`"go"`, payment("50"))
	calm := benign.signedIn("olga")
	for path, other := range map[string]string{"/": "/", "/questions/" + sus: "/questions/" + calmSus, "/runs": "/runs", "/runs/" + run: "/runs/" + calmRun} {
		got, want := olga.get(path), calm.get(other)
		if got.status != http.StatusOK {
			t.Fatalf("%s: %d\n%s", path, got.status, got.text)
		}
		for _, raw := range []string{"\u202e", "\u200b", "<script>", "onload=x {{.}} </bdi>"} {
			if strings.Contains(got.text, raw) {
				t.Errorf("%s has %q as it is", path, raw)
			}
		}
		for _, tag := range []string{"<script", "<h1", "<form", "<button", "<main", "<nav"} {
			if strings.Count(got.text, tag) != strings.Count(want.text, tag) {
				t.Errorf("%s has %d times %s, and a page of calm text %d", path, strings.Count(got.text, tag), tag, strings.Count(want.text, tag))
			}
		}
	}
}

// The title of a tool begins its question and its row; not with a value that could imitate it.
func TestTheInboxShowsTitles(t *testing.T) {
	s := newServer(t)
	refund := func(order string) frontendtest.Call {
		return frontendtest.Call{Tool: "refund", Kind: core.KindApproval, Arguments: []byte(`{"amount":50,"order":` + string(core.Encode(order)) + `}`)}
	}
	_, sus := s.waits(`"go"`, refund("A-17"))
	s.waits(`"go"`, refund("A-\u202e17"))
	anna := s.signedIn("anna")
	const title = `Refund <bdi class="given">50</bdi> for <bdi class="given">A-17</bdi>?`
	page := anna.get("/").text
	if strings.Count(page, title) != 1 || strings.Count(page, `May it run <bdi>refund</bdi>?`) != 1 || strings.Contains(page, "\u202e") {
		t.Error(page)
	}
	if page := anna.get("/questions/" + sus).text; !strings.Contains(page, "<h1>"+title+"</h1>") {
		t.Error(page)
	}
}

func TestARunIsShownFromItsStartToItsEnd(t *testing.T) {
	s := newServer(t)
	run, sus := s.waits(`"pay Ann"`, payment("50"))
	olga := s.signedIn("olga")
	page := olga.get("/runs/" + run)
	for _, text := range []string{"pay Ann", "Waiting", "Waits for an answer", `href="/questions/` + sus + `"`, "What it waits for"} {
		if !strings.Contains(page.text, text) {
			t.Errorf("no %q in\n%s", text, page.text)
		}
	}
	if _, err := s.reads.DecideSuspension(t.Context(), frontend.Caller{Tenant: tenant, By: "token:anna", Via: "api", Roles: []access.Role{access.Decide}}, sus, decisionTo("cancel")); err != nil {
		t.Fatal(err)
	}
	s.worker.Drain(run)
	s.worker.Finish(run, "It was not paid.")
	page = olga.get("/runs/" + run)
	for _, text := range []string{"Denied", "token:anna", "Done"} {
		if !strings.Contains(page.text, text) {
			t.Errorf("no %q in\n%s", text, page.text)
		}
	}
	if list := olga.get("/runs"); !strings.Contains(list.text, "pay Ann") || !strings.Contains(list.text, ">Done<") {
		t.Errorf("the list:\n%s", list.text)
	}
	if list := olga.get("/runs?status=waiting"); strings.Contains(list.text, "pay Ann") {
		t.Error("a filter of the status changes nothing")
	}
	if list := olga.get("/runs?status=odd"); list.status != http.StatusBadRequest {
		t.Errorf("a status that is none gets %d", list.status)
	}
}
