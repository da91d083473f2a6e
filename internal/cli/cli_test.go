package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// server answers requests from a table and keeps what it was sent.
type server struct {
	t       *testing.T
	answers map[string]http.HandlerFunc // by method and path
	url     string

	mu   sync.Mutex
	seen []request
}

type request struct {
	method, path, query, key, auth string
	prefer                         string
	body                           []byte
}

func newServer(t *testing.T, answers map[string]http.HandlerFunc) *server {
	t.Helper()
	s := &server{t: t, answers: answers}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.url = web.URL
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		s.t.Errorf("reading a request: %v", err)
	}
	s.mu.Lock()
	s.seen = append(s.seen, request{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Idempotency-Key"),
		r.Header.Get("Authorization"), r.Header.Get("Prefer"), body.Bytes()})
	s.mu.Unlock()
	answer, ok := s.answers[r.Method+" "+r.URL.Path]
	if !ok {
		problem(404, "run_not_found", "the run doesn't exist; check its id")(w, r)
		return
	}
	answer(w, r)
}

// preferred are the waits that reads asked for, in order.
func (s *server) preferred() (waits []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.seen {
		if r.prefer != "" {
			waits = append(waits, r.prefer)
		}
	}
	return waits
}

// last is the last request of that method.
func (s *server) last(method string) request {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.seen) - 1; i >= 0; i-- {
		if s.seen[i].method == method {
			return s.seen[i]
		}
	}
	s.t.Fatalf("no %s request was sent", method)
	return request{}
}

func answer(status int, v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v)
	}
}

func problem(status int, code, detail string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(wire.Problem{Title: code, Status: status, Code: code, Detail: detail})
	}
}

// inTurn gives one answer after the other, and the last one for ever.
func inTurn(answers ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		next := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		mu.Unlock()
		next(w, r)
	}
}

// output is what one command left behind.
type output struct {
	exit           int
	stdout, stderr string
}

// dormouse runs a command against s; a nil s is an address where nobody listens.
func dormouse(t *testing.T, s *server, args ...string) output {
	t.Helper()
	return dormouseWith(t, s, "", nil, args...)
}

func dormouseWith(t *testing.T, s *server, stdin string, env map[string]string, args ...string) output {
	t.Helper()
	url := "http://127.0.0.1:1"
	if s != nil {
		url = s.url
	}
	getenv := func(name string) string {
		if name == "DORMOUSE_URL" {
			return url
		}
		return env[name]
	}
	var stdout, stderr bytes.Buffer
	exit := cli.Main(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr, cmdline.Options{Version: "v1.2.3", Getenv: getenv})
	return output{exit, stdout.String(), stderr.String()}
}

func (o output) wantExit(t *testing.T, want int) {
	t.Helper()
	if o.exit != want {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", o.exit, want, o.stdout, o.stderr)
	}
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

const runID = "run_x7_0"

func run(status string, change ...func(*wire.Run)) wire.Run {
	r := wire.Run{ID: runID, ThreadID: "thr_x7", Agent: "refund-desk", Status: status, Work: wire.Work{Steps: 2}, Pending: []wire.Pending{}}
	for _, c := range change {
		c(&r)
	}
	return r
}

func pending(ids ...string) func(*wire.Run) {
	return func(r *wire.Run) {
		for _, id := range ids {
			r.Pending = append(r.Pending, approval(id))
		}
	}
}

func approval(id string) wire.Pending {
	return wire.Pending{CallID: "c1", Tool: "issue_refund", Arguments: json.RawMessage(`{"order":"A-17","amount":120}`),
		Kind: "approval", Suspension: wire.Suspension{ID: id, Action: "approve", Message: "Refunds above 100 need a person."}}
}

func done(reason string) func(*wire.Run) {
	return func(r *wire.Run) {
		r.Reason = &reason
		if reason == "error" {
			r.Error = &wire.RunError{Code: "crash_loop", Detail: "claimed 9 times without a commit"}
		}
	}
}
