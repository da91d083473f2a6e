package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// mailbox keeps the one-time codes that were sent.
type mailbox struct {
	mu   sync.Mutex
	to   []string
	code []string
	err  error
}

func (m *mailbox) send(_ context.Context, to, code string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.to, m.code = append(m.to, to), append(m.code, code)
	return m.err
}

func (m *mailbox) last() string { return m.code[len(m.code)-1] }

const askCode, yes = `{"action":"code"}`, `{"action":"resume","code":"%s"}`

// codeLinks is a server with a call that waits, and links to it that ask for codes.
func codeLinks(t *testing.T, n int, front func(*frontend.Options)) (s *server, clock *frontendtest.Clock, run string, box *mailbox, links []string) {
	t.Helper()
	box, clock = &mailbox{}, frontendtest.NewClock()
	s = newServer(t, settings{token: "secret", clock: clock, front: front, options: func(o *httpapi.Options) { withLinks(o); o.Codes = box.send }})
	s.worker.Who = true
	run = s.start().ID
	s.worker.Suspend(run, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	for range n {
		got := s.send("POST", "/v1/runs/"+run+"/links", `{"target":"c1","for":"anna@example.com","require":"code"}`, bearer("secret"))
		if got.StatusCode != 201 {
			t.Fatalf("%d %s", got.StatusCode, got.text)
		}
		links = append(links, decoded[wire.Link](t, got.text).Link)
	}
	return s, clock, run, box, links
}

// wrong is a code that was not sent.
func (m *mailbox) wrong(i int) string {
	code := fmt.Sprintf("%06d", i)
	if code == m.last() {
		code = "999999"
	}
	return code
}

func (s *server) refusedBy(link, body, code string) {
	s.t.Helper()
	if got := s.send("POST", link, body); got.code() != code {
		s.t.Fatalf("%s: %d %s; want %s", body, got.StatusCode, got.text, code)
	}
}

func TestALinkThatAsksForACodeIsAnsweredFromTheMailbox(t *testing.T) {
	s, _, run, box, links := codeLinks(t, 1, nil)
	for _, method := range []string{"GET", "HEAD"} {
		s.send(method, links[0]+"?action=code", "", asPage)
	}
	page := s.send("GET", links[0], "", asPage)
	if len(box.code) > 0 || !strings.Contains(page.text, `<button class="send" name="action" value="code">Send me a code</button>`) || strings.Contains(page.text, "anna@") {
		t.Fatalf("%v %s", box.code, page.text)
	}
	s.refusedBy(links[0], `{"action":"resume"}`, "code_required")
	s.refusedBy(links[0], fmt.Sprintf(yes, "123456"), "code_expired")
	form := fill(t, page, "reason", "as agreed")
	form.Set("action", "code")
	sent := s.send("POST", links[0], form.Encode(), asPage, asForm)
	if sent.StatusCode != 202 || !strings.Contains(sent.text, "A code was sent.") || !strings.Contains(sent.text, "as agreed") || strings.Contains(sent.text, box.last()) {
		t.Fatalf("%d %s", sent.StatusCode, sent.text)
	}
	if len(box.to) != 1 || box.to[0] != "anna@example.com" || len(box.last()) != 6 {
		t.Fatalf("%v %v", box.to, box.code)
	}
	again := s.send("POST", links[0], fill(t, sent, "code", box.wrong(1)).Encode(), asPage, asForm)
	if again.StatusCode != 403 || !strings.Contains(again.text, `name="code"`) || !s.waits(run) {
		t.Fatalf("%d %s", again.StatusCode, again.text)
	}
	for _, want := range []int{202, 200} {
		if got := s.send("POST", links[0], fill(t, sent, "code", " "+box.last()[:3]+" "+box.last()[3:]).Encode(), asPage, asForm); got.StatusCode != want {
			t.Fatalf("%d %s", got.StatusCode, got.text)
		}
	}
	s.worker.Drain(run)
	if feed := s.send("GET", "/v1/runs/"+run+"/events", "", bearer("secret")); !strings.Contains(feed.text, `"verified":"code"`) || !strings.Contains(feed.text, `"by":"link:anna@example.com"`) {
		t.Error(feed.text)
	}
}

func TestACodeIsGoodForItsLinkAndTenMinutes(t *testing.T) {
	s, clock, run, box, links := codeLinks(t, 2, nil)
	for _, link := range links {
		if got := s.send("POST", link, askCode); got.StatusCode != 202 || got.code() != "code_sent" {
			t.Fatalf("%d %s", got.StatusCode, got.text)
		}
	}
	s.refusedBy(links[1], fmt.Sprintf(yes, box.code[0]), "code_wrong")
	s.send("POST", links[0], askCode)
	s.refusedBy(links[0], fmt.Sprintf(yes, box.code[0]), "code_wrong") // there is a newer one
	clock.AfterFunc(10*time.Minute, func() {})
	s.refusedBy(links[0], fmt.Sprintf(yes, box.last()), "code_expired")
	if !s.waits(run) {
		t.Fatal("something was stored")
	}
}

func TestALinkSendsFiveCodesInAnHour(t *testing.T) {
	s, clock, _, box, links := codeLinks(t, 1, nil)
	for range 5 {
		s.send("POST", links[0], askCode)
	}
	got := s.send("POST", links[0], askCode)
	if got.code() != "too_many_codes" || got.Header.Get("Retry-After") == "" || len(box.code) != 5 {
		t.Fatalf("%d %s %v", got.StatusCode, got.text, box.code)
	}
	clock.AfterFunc(time.Hour, func() {})
	if got := s.send("POST", links[0], askCode); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
}

func TestALinkHasTwentyTriesHoweverManyCodesItSends(t *testing.T) {
	s, clock, run, box, links := codeLinks(t, 2, nil)
	for code := range 4 {
		s.send("POST", links[0], askCode)
		for i := range 5 {
			s.refusedBy(links[0], fmt.Sprintf(yes, box.wrong(code*5+i)), "code_wrong")
		}
		clock.AfterFunc(time.Hour, func() {})
	}
	s.refusedBy(links[0], askCode, "code_locked")
	s.refusedBy(links[0], fmt.Sprintf(yes, box.last()), "code_locked")
	if page := s.send("POST", links[0], "action=code", asPage, asForm); page.StatusCode != 403 || !strings.Contains(page.text, "ask for a new link") || len(box.code) != 4 || !s.waits(run) {
		t.Errorf("%d %v %s", page.StatusCode, box.code, page.text)
	}
	s.send("POST", links[1], askCode) // another link has its own
	if got := s.send("POST", links[1], fmt.Sprintf(yes, box.last())); got.StatusCode != 202 {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestALinkSendsTwentyCodesAndTheLastIsGood(t *testing.T) {
	s, clock, _, box, links := codeLinks(t, 1, nil)
	for range 20 {
		clock.AfterFunc(time.Hour/4, func() {})
		s.send("POST", links[0], askCode)
	}
	s.refusedBy(links[0], askCode, "code_locked")
	if len(box.code) != 20 {
		t.Errorf("%d codes were sent", len(box.code))
	}
	if got := s.send("POST", links[0], fmt.Sprintf(yes, box.last())); got.StatusCode != 202 {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

// countsSwaps counts the tries that were stored.
type countsSwaps struct {
	frontend.LinkStore
	won atomic.Int32
}

func (c *countsSwaps) SwapLinkCode(ctx context.Context, tenant, run, id, from, to string) (bool, error) {
	done, err := c.LinkStore.SwapLinkCode(ctx, tenant, run, id, from, to)
	if done {
		c.won.Add(1)
	}
	return done, err
}

func TestOfFiftyGuessesAtOnceFiveAreCompared(t *testing.T) {
	var swaps countsSwaps
	s, _, run, box, links := codeLinks(t, 1, func(o *frontend.Options) { swaps.LinkStore, o.Links = o.Links, &swaps })
	s.send("POST", links[0], askCode)
	swaps.won.Store(0)
	var compared atomic.Int32
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			switch got := s.send("POST", links[0], fmt.Sprintf(yes, box.wrong(i))); got.code() {
			case "code_wrong":
				compared.Add(1)
			case "code_expired":
			default:
				t.Errorf("%d %s", got.StatusCode, got.text)
			}
		})
	}
	all.Wait()
	if compared.Load() != 5 || swaps.won.Load() != 5 {
		t.Errorf("%d were compared, %d counted", compared.Load(), swaps.won.Load())
	}
	s.refusedBy(links[0], fmt.Sprintf(yes, box.last()), "code_expired")
	if !s.waits(run) {
		t.Error("something was stored")
	}
}

func TestACodeIsStoredOnlyAsAHash(t *testing.T) {
	s, _, run, box, links := codeLinks(t, 1, nil)
	s.send("POST", links[0], askCode)
	all, err := s.links.Links(t.Context(), "default", run)
	if err != nil || all[0].Code == "" || strings.Contains(all[0].Code, box.last()) || all[0].Require != engine.RequireCode {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestLinksAskForCodesOnlyWhereTheyCanBeSent(t *testing.T) {
	s, _, run, box, links := codeLinks(t, 1, nil)
	box.err = errors.New("no one listens at mail.internal")
	if got := s.send("POST", links[0], askCode); got.code() != "code_not_sent" || strings.Contains(got.text, "internal") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	for _, recipient := range []string{"anna", "Anna <anna@example.com>", "a@example.com, b@example.com"} {
		if got := s.send("POST", "/v1/runs/"+run+"/links", `{"target":"c1","for":"`+recipient+`","require":"code"}`, bearer("secret")); got.StatusCode != http.StatusBadRequest || got.code() != "invalid_request" {
			t.Errorf("%d %s", got.StatusCode, got.text)
		}
	}
	plain := s.makeLink(run, "c1", "anna@example.com").Link
	s.refusedBy(plain, askCode, "invalid_request")
	other := newServer(t, settings{token: "secret", options: withLinks})
	run = other.start().ID
	other.worker.Suspend(run, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	if got := other.send("POST", "/v1/runs/"+run+"/links", `{"target":"c1","for":"anna@example.com","require":"code"}`, bearer("secret")); got.StatusCode != 400 || !strings.Contains(got.text, "--smtp") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}
