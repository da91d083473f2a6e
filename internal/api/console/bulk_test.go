package console_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func refundOf(amount int) frontendtest.Call {
	return frontendtest.Call{Tool: "refund", Kind: core.KindApproval, Message: "Refunds need approval.", Arguments: fmt.Appendf(nil, `{"order":"A-%d","amount":%d,"note":"the lid is broken, the box is not"}`, amount, amount)}
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// several is what a person sends who presses a button on the page of several questions.
func (p shown) several(action string) url.Values {
	form := url.Values{"action": {action}}
	_, body, _ := strings.Cut(p.text, "<main")
	body, _, _ = strings.Cut(body, "</main>")
	if action != "withdraw" { // the form of the answers is the last one
		body = body[strings.LastIndex(body, "<form"):]
	}
	body, _, _ = strings.Cut(body, "</form>")
	for _, m := range hiddenField.FindAllStringSubmatch(body, -1) {
		form.Set(m[1], m[2])
	}
	return form
}

func bulkPath(sus ...string) string { return "/bulk?" + url.Values{"question": sus}.Encode() }

// waitingRefunds are runs that wait, each for another refund under the same rule.
func waitingRefunds(s *server, n int) (runs, sus []string) {
	for i := range n {
		run, one := s.waits(`"go"`, refundOf(i+1))
		runs, sus = append(runs, run), append(sus, one)
	}
	return runs, sus
}

func (s *server) open(runs []string) (n int) {
	for _, run := range runs {
		n += len(s.pending(run))
	}
	return n
}

func TestSeveralQuestionsAreAnsweredAtOnce(t *testing.T) {
	s := newServer(t)
	runs, sus := waitingRefunds(s, 3)
	s.waits(`"go"`, payment("50"))
	anna := s.signedIn("anna")
	inbox := anna.get("/").text
	if n := strings.Count(inbox, `type="checkbox" form="together"`); n != 3 || !strings.Contains(inbox, `action="/bulk"`) {
		t.Fatalf("%d can be chosen: %s", n, inbox)
	}
	if text := s.signedIn("rita").get("/").text; strings.Contains(text, "together") {
		t.Error("one who only reads can choose")
	}
	page := anna.get(bulkPath(sus...))
	for i := range sus {
		for _, value := range []string{fmt.Sprintf("A-%d<", i+1), fmt.Sprintf(`dir="ltr">%d</dd>`, i+1), sus[i]} {
			if !strings.Contains(page.text, value) {
				t.Errorf("%q isn't shown: %s", value, page.text)
			}
		}
	}
	if strings.Count(page.text, "the lid is broken, the box is not") != 3 || !strings.Contains(page.text, ">Approve all 3</button>") {
		t.Error(page.text)
	}
	if _, form, _ := strings.Cut(page.text, `<form method="post" data-answer>`); !strings.HasPrefix(strings.TrimSpace(form[strings.Index(form, "<button"):]), `<button name="action" value="look" hidden>`) {
		t.Errorf("enter presses another button first: %s", form)
	}
	if got := anna.post("/bulk", page.several("look")); got.status != http.StatusSeeOther || s.open(runs) != 3 {
		t.Fatalf("enter: %d, %d wait", got.status, s.open(runs))
	}
	got := anna.post("/bulk", page.several("resume"))
	done := anna.get(got.to)
	if got.status != http.StatusSeeOther || s.open(runs) != 0 || strings.Count(done.text, "Approved by anna") != 3 || !strings.Contains(done.text, `data-left="8000"`) {
		t.Fatalf("%d to %q, %d wait: %s", got.status, got.to, s.open(runs), done.text)
	}
	if again := anna.post("/bulk", page.several("resume")); again.status != http.StatusSeeOther || again.to != got.to {
		t.Errorf("sent twice: %d to %q %s", again.status, again.to, again.text)
	}
	if late := anna.post("/bulk", page.several("cancel")); late.status != http.StatusConflict || strings.Count(late.text, "Approved by anna") != 3 {
		t.Errorf("another answer afterwards: %d %s", late.status, late.text)
	}
	undo := done.several("withdraw")
	if got := anna.post("/bulk", undo); got.status != http.StatusSeeOther || got.to != bulkPath(sus...) && len(anna.get(got.to).text) == 0 || s.open(runs) != 3 {
		t.Fatalf("undo: %d to %q, %d wait", got.status, got.to, s.open(runs))
	}
	if copy := anna.post("/bulk", page.several("resume")); copy.status != http.StatusConflict || s.open(runs) != 3 || !strings.Contains(copy.text, "withdrawn") {
		t.Errorf("a copy of the form after the undo: %d %s", copy.status, copy.text)
	}
	for _, run := range runs {
		s.worker.Drain(run)
	}
	if got := anna.post("/bulk", anna.get(bulkPath(sus...)).several("cancel")); got.status != http.StatusSeeOther || strings.Count(anna.get(got.to).text, "Denied by anna") != 3 {
		t.Errorf("answered once more: %d to %q %s", got.status, got.to, got.text)
	}
}

// What a person was not shown, or may not send, stores nothing at all.
func TestBulksThatStoreNothing(t *testing.T) {
	s := newServer(t)
	runs, sus := waitingRefunds(s, 3)
	paid, other := s.waits(`"go"`, payment("50"))
	odd := refundOf(9)
	odd.Arguments = []byte(`{"order":"A-9","amount":9,"to":"\u0430pple"}`)
	warned, warns := s.waits(`"go"`, odd)
	runs = append(runs, paid, warned)
	s.tokens.set("eve-secret", access.Principal{Tenant: "elsewhere", Name: "eve", Fingerprint: "eve-1", Roles: []access.Role{access.Decide}})
	anna, bert, rita, eve := s.signedIn("anna"), s.signedIn("bert"), s.signedIn("rita"), s.signedIn("eve")
	page := anna.get(bulkPath(sus...))
	good := page.several("resume")
	with := func(pairs ...string) url.Values {
		form := maps.Clone(good)
		for i := 0; i < len(pairs); i += 2 {
			form[pairs[i]] = []string{pairs[i+1]}
		}
		return form
	}
	fingerprint := func(sus string) string { return anna.get("/questions/" + sus).fingerprint() }
	for name, send := range map[string]func() shown{
		"another tool slipped in": func() shown { return anna.post("/bulk", with("shown-"+other, fingerprint(other))) },
		"a warning slipped in":    func() shown { return anna.post("/bulk", with("shown-"+warns, fingerprint(warns))) },
		"one twice": func() shown {
			form := with()
			form["shown-"+sus[0]] = []string{good.Get("shown-" + sus[0]), good.Get("shown-" + sus[0])}
			return anna.post("/bulk", form)
		},
		"one without a fingerprint": func() shown { return anna.post("/bulk", with("shown-"+sus[0], "")) },
		"no token of the form":      func() shown { return anna.post("/bulk", with("form", "")) },
		"a form of another":         func() shown { return bert.post("/bulk", good) },
		"one who only reads":        func() shown { return rita.post("/bulk", with("form", rita.get("/").form())) },
		"another tenant":            func() shown { return eve.post("/bulk", with("form", eve.get("/").form())) },
		"no one": func() shown {
			b := s.browser()
			return b.post("/bulk", with("form", b.get("/signin").form()))
		},
		"from another site": func() shown {
			return anna.do(http.MethodPost, "/bulk", good, map[string]string{"Sec-Fetch-Site": "cross-site"})
		},
		"an unknown action": func() shown { return anna.post("/bulk", with("action", "maybe")) },
		"an address":        func() shown { return anna.get("/bulk?" + good.Encode()) },
	} {
		if got := send(); strings.Contains(got.text, "Approved by") {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
		if n := s.open(runs); n != 5 {
			t.Fatalf("%s: %d wait", name, n)
		}
	}
	if got := eve.get(bulkPath(sus...)); got.status != http.StatusNotFound || strings.Contains(got.text, "A-1") {
		t.Errorf("another tenant reads: %d %s", got.status, got.text)
	}
	if got := rita.get(bulkPath(sus...)); got.status != http.StatusForbidden {
		t.Errorf("one who only reads: %d", got.status)
	}
	for name, ids := range map[string][]string{"another tool": {sus[0], other}, "a warning": {warns, sus[0]}} {
		if got := anna.get(bulkPath(ids...)); strings.Contains(got.text, "Approve all") || !strings.Contains(got.text, "These questions differ") {
			t.Errorf("%s: %s", name, got.text)
		}
	}
	var many []string
	for i := range 21 {
		many = append(many, fmt.Sprint("sus_", i))
	}
	if got := anna.get(bulkPath(many...)); got.status != http.StatusBadRequest {
		t.Errorf("too many: %d", got.status)
	}
	if got := anna.get("/bulk"); got.status != http.StatusSeeOther {
		t.Errorf("none: %d", got.status)
	}
	if got := anna.post("/bulk", good); got.status != http.StatusSeeOther || s.open(runs) != 2 {
		t.Errorf("the form as it was: %d, %d wait", got.status, s.open(runs))
	}
}

// A question that changed gets no answer, and the others get theirs.
func TestABulkWithAStaleFingerprint(t *testing.T) {
	s := newServer(t)
	runs, sus := waitingRefunds(s, 2)
	anna := s.signedIn("anna")
	form := anna.get(bulkPath(sus...)).several("resume")
	form.Set("shown-"+sus[1], form.Get("shown-"+sus[0]))
	got := anna.post("/bulk", form)
	if got.status != http.StatusConflict || !strings.Contains(got.text, "1 of 2 answers were not stored") || !strings.Contains(got.text, "Approved by anna") || !strings.Contains(got.text, ">Approve all 1</button>") {
		t.Errorf("%d %s", got.status, got.text)
	}
	if len(s.pending(runs[0])) != 0 || len(s.pending(runs[1])) != 1 {
		t.Error("the wrong one was stored")
	}
}

// Two tabs answer overlapping questions at the same time: each question gets one answer, and both
// pages say what was stored.
func TestTwoTabsAnswerOverlappingQuestions(t *testing.T) {
	s := newServer(t)
	runs, sus := waitingRefunds(s, 4)
	anna, bert := s.signedIn("anna"), s.signedIn("bert")
	first, second := anna.get(bulkPath(sus[:3]...)).several("resume"), bert.get(bulkPath(sus[1:]...)).several("cancel")
	var wg sync.WaitGroup
	wg.Go(func() { anna.post("/bulk", first) })
	wg.Go(func() { bert.post("/bulk", second) })
	wg.Wait()
	if n := s.open(runs); n != 0 {
		t.Fatalf("%d wait", n)
	}
	both, same := anna.get(bulkPath(sus...)).text, bert.get(bulkPath(sus...)).text
	yes, no := strings.Count(both, "Approved by anna"), strings.Count(both, "Denied by bert")
	if yes+no != 4 || yes < 1 || no < 1 || strings.Count(same, "Approved by anna") != yes || strings.Count(same, "Denied by bert") != no {
		t.Errorf("%d yes, %d no: %s", yes, no, both)
	}
}

func TestAnUndoOfSeveralThatComesTooLateForSome(t *testing.T) {
	s := newServer(t)
	runs, sus := waitingRefunds(s, 2)
	anna := s.signedIn("anna")
	got := anna.post("/bulk", anna.get(bulkPath(sus...)).several("resume"))
	undo := anna.get(got.to).several("withdraw")
	s.clock.AfterFunc(9*time.Second, func() {})
	s.worker.Drain(runs[0])
	got = anna.post("/bulk", undo)
	if page := anna.get(got.to); !strings.Contains(page.text, "too late to undo some") || !strings.Contains(page.text, "Approved by anna") {
		t.Errorf("%d to %q: %s", got.status, got.to, page.text)
	}
}

// One answer that can't be undone keeps no other: each is named with the reason.
func TestAnUndoOfSeveralThatFailsForSome(t *testing.T) {
	for name, fails := range map[string]struct {
		of   func(sus []string) string
		err  error // of the store
		says string
		undo int // that succeed
	}{
		"no such question": {of: func([]string) string { return "sus_0" }, says: "<bdi>sus_0</bdi>", undo: 3},
		"no answer":        {of: func(sus []string) string { return sus[0] }, err: errors.New("the disk burns"), says: "It is not known whether this answer was undone", undo: 2},
		"busy":             {of: func(sus []string) string { return sus[0] }, err: refusal.New(refusal.CodeUnavailable, "try again"), says: "try again", undo: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			runs, sus := waitingRefunds(s, 3)
			anna := s.signedIn("anna")
			undo := anna.get(anna.post("/bulk", anna.get(bulkPath(sus...)).several("resume")).to).several("withdraw")
			bad := fails.of(sus)
			undo.Set("undo-"+bad, undo.Get("undo-"+sus[0]))
			if fails.err != nil {
				s.acts.keeps = map[string]error{bad: fails.err}
			}
			got := anna.post("/bulk", undo)
			if got.status != http.StatusConflict || s.open(runs) != fails.undo {
				t.Fatalf("%d, %d wait: %s", got.status, s.open(runs), got.text)
			}
			if !strings.Contains(got.text, fmt.Sprintf("1 of %d answers were not undone", 1+fails.undo)) || !strings.Contains(got.text, bad) || !strings.Contains(got.text, fails.says) {
				t.Error(got.text)
			}
			if strings.Contains(got.text, "burns") {
				t.Error("it shows what only the log may")
			}
			s.acts.keeps = nil
			if fails.err == nil {
				return
			}
			if again := anna.post("/bulk", got.several("withdraw")); again.status != http.StatusSeeOther || s.open(runs) != 3 {
				t.Errorf("undone again: %d, %d wait: %s", again.status, s.open(runs), again.text)
			}
		})
	}
}

// A person sees their own answers of the last week, and those of no one else.
func TestWhatAPersonAnswered(t *testing.T) {
	s := newServer(t)
	runs, sus := waitingRefunds(s, 3)
	anna, bert := s.signedIn("anna"), s.signedIn("bert")
	if page := anna.get("/answered"); page.status != http.StatusOK || strings.Contains(page.text, "/questions/") || strings.Contains(page.text, "Earlier ones") {
		t.Fatalf("before: %d %s", page.status, page.text)
	}
	anna.post("/bulk", anna.get(bulkPath(sus[:2]...)).several("cancel"))
	bert.post("/questions/"+sus[2], bert.get("/questions/"+sus[2]).approval())
	s.clock.AfterFunc(9*time.Second, func() {})
	for _, run := range runs {
		s.worker.Drain(run)
	}
	mine, his := anna.get("/answered").text, bert.get("/answered").text
	if strings.Count(mine, ">Denied<") != 2 || !strings.Contains(mine, sus[0]) || !strings.Contains(mine, sus[1]) || strings.Contains(mine, sus[2]) {
		t.Error(mine)
	}
	if strings.Count(his, ">Approved or answered<") != 1 || !strings.Contains(his, sus[2]) || strings.Contains(his, sus[0]) {
		t.Error(his)
	}
	if got := s.signedIn("rita").get("/answered"); got.status != http.StatusForbidden {
		t.Errorf("one who only reads: %d", got.status)
	}
	if !strings.Contains(anna.get("/").text, `href="/answered"`) {
		t.Error("the inbox doesn't lead there")
	}
}
