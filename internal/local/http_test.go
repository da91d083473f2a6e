package local

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// shown is the part of an agent that the page on agents shows under a heading, with a script in
// front of it.
func shown(t *testing.T, heading, turns string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/agent-file.md")
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(page), "\n### "+heading+"\n")
	block := regexp.MustCompile("(?ms)^```yml\n(.*?)^```$").FindStringSubmatch(below)
	if !found || block == nil {
		t.Fatalf("the page has no example under %q", heading)
	}
	return "name: desk\nmodel:\n  provider: scripted\n  turns:\n" + turns + block[1]
}

// sent are the requests a service got.
type sent struct {
	mu   sync.Mutex
	uris []string
	all  []*http.Request
	body []string
}

func (s *sent) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// payments is a service on this machine that the operator of r allows, and what it got.
func payments(t *testing.T, answer http.HandlerFunc) (*httptest.Server, *sent) {
	t.Helper()
	got := &sent{}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.mu.Lock()
		got.all, got.uris, got.body = append(got.all, r), append(got.uris, r.Method+" "+r.RequestURI), append(got.body, string(body))
		got.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(service.Close)
	return service, got
}

const refundTurns = `    - given: {no_result: true}
      calls: [{tool: issue_refund, arguments: {order: A-17, amount: 120.50, currency: EUR}}]
    - given: {result: '(?P<answer>.+)'}
      say: "It said ${answer}"
`

const token = "token-that-nobody-may-see"

// httpRig has the agent of the page on agents, its services on this machine.
func httpRig(t *testing.T, answer http.HandlerFunc) (*rig, Options, *sent) {
	t.Helper()
	service, got := payments(t, answer)
	r := newRig(t, nothing)
	text := shown(t, "HTTP tools", refundTurns)
	text = strings.ReplaceAll(text, "https://payments.example.com", service.URL)
	text = strings.ReplaceAll(text, "timeout: 20s", "allow_private: true")
	r.deploy(text)
	t.Setenv(secret.Variable("PAYMENTS_TOKEN"), token)
	t.Setenv(secret.Variable("SHOP_TOKEN"), "another")
	o := r.options()
	var err error
	if o.Private, err = netguard.ReadPrivate([]string{strings.TrimPrefix(service.URL, "http://")}); err != nil {
		t.Fatal(err)
	}
	return r, o, got
}

func TestAnHTTPToolRunsOnceAfterItsApproval(t *testing.T) {
	r, o, got := httpRig(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "paid with "+r.Header.Get("Authorization"))
	})
	s := r.startWith(o)
	run := s.await(t, s.begin(t).ID, "waiting")
	if got.count() != 0 || run.Pending[0].Kind != "approval" {
		t.Fatalf("%d requests before the approval, pending %+v", got.count(), run.Pending)
	}
	if _, err := s.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume"}); err != nil {
		t.Fatal(err)
	}
	run = s.await(t, run.ID, "done")
	if text, _ := run.OutputText(); text != "It said paid with Bearer [secret PAYMENTS_TOKEN]" {
		t.Errorf("output %q", text)
	}
	if got.count() != 1 || got.uris[0] != "POST /v1/orders/A-17/refunds?currency=EUR" || got.body[0] != `{"amount":120.50}` {
		t.Fatalf("requests %q with %q", got.uris, got.body)
	}
	if h := got.all[0].Header; h.Get("Authorization") != "Bearer "+token || !strings.HasPrefix(h.Get("Idempotency-Key"), run.ID+"/") {
		t.Errorf("headers %v", h)
	}
	s.end(t)
	r.hides(token)
}

// hides fails if a text is anywhere in the data or the log.
func (r *rig) hides(text string) {
	r.t.Helper()
	entries, err := os.ReadDir(r.data)
	if err != nil || len(entries) == 0 {
		r.t.Fatalf("no data: %v", err)
	}
	for _, e := range entries {
		if raw, err := os.ReadFile(r.data + "/" + e.Name()); err != nil || strings.Contains(string(raw), text) {
			r.t.Errorf("%s holds the secret, or cannot be read (%v)", e.Name(), err)
		}
	}
	if strings.Contains(r.log.all.String(), text) {
		r.t.Error("the log holds the secret")
	}
}

func TestAPersonSaysWhatBecameOfARequestWithoutAnAnswer(t *testing.T) {
	r, o, got := httpRig(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	s := r.startWith(o)
	run := s.await(t, s.begin(t).ID, "waiting")
	if _, err := s.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume"}); err != nil {
		t.Fatal(err)
	}
	for run = s.await(t, run.ID, "waiting"); run.Pending[0].Kind == "approval"; run = s.await(t, run.ID, "waiting") {
		if t.Context().Err() != nil {
			t.Fatal("the decision was never taken")
		}
	}
	p := run.Pending[0]
	if p.Kind != "unknown_outcome" || got.count() != 1 || !strings.Contains(p.Suspension.Message, "the connection broke") || p.Deadline != nil {
		t.Fatalf("%d requests, pending %+v", got.count(), p)
	}
	if _, err := s.Decide(t.Context(), run.ID, wire.Decision{Target: p.Suspension.ID, Result: []byte(`"receipt 12"`)}); err != nil {
		t.Fatal(err)
	}
	run = s.await(t, run.ID, "done")
	if text, _ := run.OutputText(); text != "It said receipt 12" || got.count() != 1 {
		t.Errorf("output %q after %d requests", text, got.count())
	}
}

func TestAPersonWhoKnowsThatNothingHappenedLetsItRun(t *testing.T) {
	var asks atomic.Int64
	r, o, got := httpRig(t, func(w http.ResponseWriter, _ *http.Request) {
		if asks.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "paid")
	})
	s := r.startWith(o)
	run := s.await(t, s.begin(t).ID, "waiting")
	asked := map[string]bool{}
	for len(asked) < 2 { // for the approval, then for what happened
		target := run.Pending[0].Suspension.ID
		if !asked[target] {
			if _, err := s.Decide(t.Context(), run.ID, wire.Decision{Target: target, Action: "resume"}); err != nil {
				t.Fatal(err)
			}
			asked[target] = true
		}
		if len(asked) < 2 {
			run = s.await(t, run.ID, "waiting")
		}
	}
	run = s.await(t, run.ID, "done")
	if text, _ := run.OutputText(); text != "It said paid" || got.count() != 2 {
		t.Errorf("output %q after %d requests", text, got.count())
	}
}

func TestAnHTTPToolThatLacksSomethingIsNotDeployed(t *testing.T) {
	_, o, _ := httpRig(t, nil)
	o.Private, o.Strict = netguard.Private{}, true
	t.Setenv(secret.Variable("PAYMENTS_TOKEN"), "")
	_, err := Start(t.Context(), o)
	for _, want := range []string{"the secret PAYMENTS_TOKEN is not set; set the environment variable DORMOUSE_SECRET_PAYMENTS_TOKEN", "tool issue_refund sets allow_private"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "SHOP_TOKEN") {
		t.Errorf("what is set is missed: %v", err)
	}
}

func TestTheDigestOfAnAgentDoesNotHangOnItsSecrets(t *testing.T) {
	text := shown(t, "HTTP tools", refundTurns)
	var digests []string
	for _, value := range []string{"one", "two"} {
		t.Setenv(secret.Variable("PAYMENTS_TOKEN"), value)
		d, err := agentfile.Parse("a.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, d.Digest())
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %v", digests)
	}
}

// TestAClientToolIsAnsweredByItsSchema plays the example of the page.
func TestAClientToolIsAnsweredByItsSchema(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(shown(t, "Client tools", `    - given: {no_result: true}
      calls: [{tool: locate, arguments: {precise: true}}]
    - given: {result: '"city":"(?P<city>[^"]+)"'}
      say: "You are in ${city}."
`))
	s := r.start()
	described, err := s.Agent(t.Context(), "desk")
	if err != nil || len(described.Tools) != 1 || !strings.Contains(string(described.Tools[0].Parameters), "precise") || !strings.Contains(string(described.Tools[0].Result), "city") {
		t.Errorf("the agent is described as %+v, %v", described, err)
	}
	run := s.await(t, s.begin(t).ID, "waiting")
	p := run.Pending[0]
	if p.Kind != "client" || string(p.Arguments) != `{"precise":true}` || !strings.Contains(string(p.Suspension.ResponseSchema), `"city"`) || p.Deadline == nil {
		t.Fatalf("pending %+v", p)
	}
	for _, wrong := range []string{`{"town":"Oslo"}`, `{"city":5}`, `"Oslo"`, `true`} {
		_, err := s.Decide(t.Context(), run.ID, wire.Decision{Target: p.Suspension.ID, Action: "resume", Result: []byte(wrong)})
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Code != "schema_mismatch" {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if _, err := s.Decide(t.Context(), run.ID, wire.Decision{Target: p.Suspension.ID, Result: []byte(`{"city":"Oslo"}`)}); err != nil {
		t.Fatal(err)
	}
	run = s.await(t, run.ID, "done")
	if text, _ := run.OutputText(); text != "You are in Oslo." {
		t.Errorf("output %q", text)
	}
}
