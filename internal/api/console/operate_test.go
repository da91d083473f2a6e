package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// dies gives a notice up, and returns the address of its page.
func (s *server) dies(endpoint, why string) (path string) {
	s.Helper()
	k, now := notice.Key{Tenant: tenant, Thread: "thr_a", Endpoint: endpoint}, s.clock.Now().UnixMilli()
	_, err := s.lines.HandOver(s.Context(), engine.HandOver{Key: k, Event: 7, Kind: notice.Suspended, Seq: 7, Now: now})
	if err != nil {
		s.Fatal(err)
	}
	l, err := s.lines.ClaimLine(s.Context(), engine.LineClaim{Key: k, Claim: "c", Now: now, LeaseEnd: now + 1000, Due: now + 1000})
	if err != nil {
		s.Fatal(err)
	}
	e, _ := l.Entries[7].After(notice.Hopeless, notice.Attempt{At: now, Took: 5, Status: 404, Error: why}, 0)
	r := e.Record(k, 7, notice.StateDead, now)
	if _, err := s.lines.WriteLine(s.Context(), engine.LineWrite{Key: k, Epoch: l.Epoch, Event: 7, Record: &r, Release: true, Adds: l.Adds}); err != nil {
		s.Fatal(err)
	}
	m := deadRow.FindStringSubmatch(s.signedIn("hugo").get("/operate/dead").text)
	if m == nil {
		s.Fatal("the notice is not in the list")
	}
	return m[1]
}

var deadRow = regexp.MustCompile(`href="(/operate/dead/[^"]+)"`)

func TestNumbersOpenTheirLists(t *testing.T) {
	s := newServer(t)
	s.waits(`"go"`, payment("50"))
	failed, err := s.reads.Start(t.Context(), frontend.Caller{Tenant: tenant, By: "token:shop"}, "", wire.StartRequest{Agent: "desk", Input: []byte(`"fail"`)})
	if err != nil {
		t.Fatal(err)
	}
	s.worker.End(failed.Run.ID, core.Reason{Kind: core.Failed, Code: "boom"}, "")
	s.dies("wh_1", "404 Not Found")
	page := s.signedIn("olga").get("/operate")
	for _, text := range []string{`<a href="/">Waiting for people</a>`, `<a href="/runs?reason=error">Runs that failed, last 24 hours</a>`, `<a href="/operate/dead">Notices given up</a>`,
		`<rect x="92" y="0" width="3" height="24"/>`, "The highest bar is 1", "<strong>1</strong>", `href="/operate" aria-current="page"`} {
		if !strings.Contains(page.text, text) {
			t.Errorf("no %q in\n%s", text, page.text)
		}
	}
	if list := s.signedIn("olga").get("/runs?reason=error"); strings.Count(list.text, `<li class="item">`) != 1 || !strings.Contains(list.text, `name="reason" value="error"`) {
		t.Errorf("the runs that failed:\n%s", list.text)
	}
	if list := s.signedIn("olga").get("/runs?reason=odd"); list.status != http.StatusBadRequest {
		t.Errorf("a reason that is none: %d", list.status)
	}
}

// Each role sees what its token may ask the API for, and no link that leads to a refusal.
func TestWhoOperates(t *testing.T) {
	s := newServer(t)
	dead := s.dies("wh_1", "404 Not Found")
	for name, want := range map[string]map[string]int{
		"anna": {"/": 200, "/operate": 403, "/operate/dead": 403, dead: 403},
		"rita": {"/": 200, "/operate": 200, "/operate/dead": 403, dead: 403},
		"hugo": {"/": 403, "/operate": 200, "/operate/dead": 200, dead: 200},
		"olga": {"/": 200, "/operate": 200, "/operate/dead": 200, dead: 200},
	} {
		b := s.signedIn(name)
		for path, status := range want {
			got := b.get(path)
			if got.status != status {
				t.Errorf("%s: %s: %d, want %d", name, path, got.status, status)
			}
			for other, status := range want {
				if status == http.StatusForbidden && strings.Contains(got.text, `href="`+other+`"`) {
					t.Errorf("%s: %s leads to %s", name, path, other)
				}
			}
		}
	}
}

func TestADeadNoticeIsSentAgain(t *testing.T) {
	s := newServer(t)
	at := s.dies("wh_1", "404 Not Found")
	hugo, rita := s.signedIn("hugo"), s.signedIn("rita")
	page := hugo.get(at)
	if !strings.Contains(page.text, "404 Not Found") || !strings.Contains(page.text, "Given up") {
		t.Fatalf("%d\n%s", page.status, page.text)
	}
	form := func(from shown, action string) url.Values {
		return url.Values{"form": {from.form()}, "action": {action}}
	}
	for name, send := range map[string]func() shown{
		"the enter key":        func() shown { return hugo.post(at, form(page, "look")) },
		"no action":            func() shown { return hugo.post(at, form(page, "")) },
		"no token of the form": func() shown { return hugo.post(at, url.Values{"action": {"redrive"}}) },
		"of another session":   func() shown { return hugo.post(at, form(rita.get("/operate/dead"), "redrive")) },
		"one who only reads":   func() shown { return rita.post(at, form(rita.get("/runs"), "redrive")) },
		"from another site": func() shown {
			return hugo.do(http.MethodPost, at, form(page, "redrive"), map[string]string{"Sec-Fetch-Site": "cross-site"})
		},
		"an address with the action": func() shown { return hugo.get(at + "?action=redrive") },
	} {
		send()
		if now := hugo.get(at); !strings.Contains(now.text, "Given up") {
			t.Fatalf("%s: it is sent again", name)
		}
	}
	if i, look := strings.Index(page.text, `value="redrive"`), strings.Index(page.text, `value="look" hidden`); look < 0 || look > i {
		t.Error("the enter key would press the button")
	}
	for range 2 { // twice is once
		if got := hugo.post(at, form(page, "redrive")); got.status != http.StatusSeeOther || got.to != at {
			t.Fatalf("%d to %q\n%s", got.status, got.to, got.text)
		}
	}
	now := hugo.get(at)
	if !strings.Contains(now.text, "Waiting for its next attempt") || strings.Contains(now.text, `value="redrive"`) {
		t.Errorf("%s", now.text)
	}
	lines, err := s.lines.ThreadLines(t.Context(), tenant, "thr_a")
	if err != nil || len(lines["wh_1"].Entries) != 1 {
		t.Errorf("%+v, %v", lines, err)
	}
	if list := hugo.get("/operate/dead"); !strings.Contains(list.text, "No notice was given up") {
		t.Errorf("%s", list.text)
	}
}

func TestTextOfEndpointsStaysText(t *testing.T) {
	s := newServer(t)
	at := s.dies("wh_1", hostile)
	hugo := s.signedIn("hugo")
	for _, path := range []string{"/operate/dead", at} {
		got := hugo.get(path)
		for _, raw := range []string{"\u202e", "\u200b", "<script>alert", "onload=x {{.}} </bdi>"} {
			if got.status != http.StatusOK || strings.Contains(got.text, raw) {
				t.Errorf("%s: %d, with %q as it is", path, got.status, raw)
			}
		}
		if slices.Contains(strings.Split(got.text, " "), "style=") {
			t.Errorf("%s has a style", path)
		}
	}
}
