package client_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
)

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// lossy is a network that loses the answers to the first requests after the server has read them.
type lossy struct {
	lost  int
	inner http.RoundTripper
}

func (l *lossy) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.inner.RoundTrip(req)
	if err == nil && l.lost > 0 {
		l.lost--
		resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

// sent is one request as the server read it.
type sent struct{ method, path, key, body string }

// recorded is a server that answers every request with a run, over a network that loses some of its
// answers.
func recorded(t *testing.T, lost int, opts ...client.Option) (*client.Client, *[]sent) {
	t.Helper()
	var all []sent
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		all = append(all, sent{r.Method, r.URL.Path, r.Header.Get("Idempotency-Key"), string(body)})
		_, _ = io.WriteString(w, `{"id":"run_x_0","code":"accepted"}`)
	})
	network := client.WithTransport(func(inner http.RoundTripper) http.RoundTripper { return &lossy{lost, inner} })
	return client.New(s.URL, append([]client.Option{network, client.WithSleep(noSleep)}, opts...)...), &all
}

// A request is sent again when its answer is lost, the same each time: with the key of its caller,
// or one that the client made.
func TestALostAnswerIsAskedForAgainWithTheSameKey(t *testing.T) {
	for name, tt := range map[string]struct {
		send func(*client.Client) error
		key  string // "made": one that the client makes
	}{
		"start": {func(c *client.Client) error {
			_, err := c.StartRun(t.Context(), client.StartRequest{Agent: "desk", Input: client.Text("x")}, "ticket-1")
			return err
		}, "ticket-1"},
		"start without a key": {func(c *client.Client) error {
			_, err := c.StartRun(t.Context(), client.StartRequest{Agent: "desk", Input: client.Text("x")}, "")
			return err
		}, "made"},
		"start with a message id": {func(c *client.Client) error {
			_, err := c.StartRun(t.Context(), client.StartRequest{Agent: "desk", Input: client.Text("x"), ThreadKey: "t", MessageID: "m"}, "")
			return err
		}, ""},
		"message": {func(c *client.Client) error {
			_, err := c.SendMessage(t.Context(), "thr_x", client.MessageRequest{Input: client.Text("x")}, "")
			return err
		}, "made"},
		"interrupt": {func(c *client.Client) error { _, err := c.Interrupt(t.Context(), "run_x_0", ""); return err }, "made"},
		"retry":     {func(c *client.Client) error { _, err := c.Retry(t.Context(), "run_x_0", ""); return err }, ""},
		"cancel":    {func(c *client.Client) error { _, err := c.Cancel(t.Context(), "run_x_0"); return err }, ""},
		"decide": {func(c *client.Client) error {
			_, err := c.Decide(t.Context(), "run_x_0", client.Decision{DecisionID: "d1", Target: "sus_1", Action: client.ActionResume})
			return err
		}, ""},
		"revoke": {func(c *client.Client) error { _, err := c.RevokeLink(t.Context(), "run_x_0", "lnk_1"); return err }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, all := recorded(t, 2)
			if err := tt.send(c); err != nil {
				t.Fatal(err)
			}
			got := *all
			if len(got) != 3 || got[0] != got[1] || got[1] != got[2] {
				t.Errorf("sent %q", got)
			}
			if made := strings.HasPrefix(got[0].key, "auto-"); made != (tt.key == "made") || !made && got[0].key != tt.key {
				t.Errorf("the key is %q, want %q", got[0].key, tt.key)
			}
		})
	}
}

// A resume names its own decision, so that a retry can't resume a later interruption.
func TestARetriedResumeIsTheSameDecision(t *testing.T) {
	for _, id := range []string{"", "mine"} {
		c, all := recorded(t, 1)
		if _, err := c.Resume(t.Context(), "run_x_0", client.ResumeRequest{DecisionID: id}); err != nil {
			t.Fatal(err)
		}
		got := *all
		if len(got) != 2 || got[0] != got[1] || !strings.Contains(got[0].body, `"decision_id":"`+cmp.Or(id, "auto-")) {
			t.Errorf("sent %q", got)
		}
	}
}

func TestARequestThatWouldActTwiceIsSentOnce(t *testing.T) {
	c, all := recorded(t, 1)
	if _, err := c.MakeLink(t.Context(), "run_x_0", client.LinkRequest{Target: "sus_1", For: "anna"}); !errors.Is(err, io.ErrUnexpectedEOF) || len(*all) != 1 {
		t.Errorf("%v, sent %q", err, *all)
	}
}

func TestAClientWithoutRetriesSendsWhatItIsGiven(t *testing.T) {
	c, all := recorded(t, 1, client.WithRetries(0))
	_, err := c.StartRun(t.Context(), client.StartRequest{Agent: "desk", Input: client.Text("x")}, "")
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(*all) != 1 || (*all)[0].key != "" {
		t.Errorf("%v, sent %q", err, *all)
	}
}

func TestWhichRefusalsAreRetried(t *testing.T) {
	for name, tt := range map[string]struct {
		status     int
		code       string
		retryAfter string
		requests   int
	}{
		"a busy server":          {503, "unavailable", "2", 3},
		"a limit":                {429, "rate_limited", "1", 3},
		"a full disk":            {507, "disk_full", "1", 3},
		"a gateway":              {502, "", "", 3},
		"a lost function":        {500, "", "", 3},
		"a store to be repaired": {503, "storage_damaged", "", 1},
		"a bug":                  {500, "internal", "", 1},
		"a conflict":             {409, "run_open", "", 1},
		"a wrong request":        {400, "unknown_field", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				requests++
				if tt.retryAfter != "" {
					w.Header().Set("Retry-After", tt.retryAfter)
				}
				if tt.code != "" {
					w.Header().Set("Content-Type", "application/problem+json")
				}
				w.WriteHeader(tt.status)
				fmt.Fprintf(w, `{"code":%q}`, tt.code)
			})
			_, err := client.New(s.URL, client.WithRetries(2), client.WithSleep(noSleep)).Cancel(t.Context(), "run_x_0")
			if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Status != tt.status || requests != tt.requests {
				t.Errorf("%v after %d requests, want %d", err, requests, tt.requests)
			}
		})
	}
}

// The pause doubles, is half random, and is never shorter than the server asks for.
func TestPausesDoubleAndRespectTheServer(t *testing.T) {
	var pauses []time.Duration
	sleep := func(_ context.Context, d time.Duration) error { pauses = append(pauses, d); return nil }
	ask := ""
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", ask)
		w.WriteHeader(http.StatusBadGateway)
	})
	zeros := client.WithRandom(bytes.NewReader(make([]byte, 1000)))
	c := client.New(s.URL, client.WithRetries(8), client.WithSleep(sleep), zeros)
	if _, err := c.Run(t.Context(), "run_x_0"); err == nil {
		t.Error("no error")
	}
	if got := fmt.Sprint(pauses); got != "[50ms 100ms 200ms 400ms 800ms 1.6s 2.5s 2.5s]" {
		t.Error(got)
	}
	pauses, ask = nil, "7"
	if _, err := c.With(client.WithRetries(1)).Run(t.Context(), "run_x_0"); err == nil || fmt.Sprint(pauses) != "[7s]" {
		t.Errorf("%v, %v", err, pauses)
	}
}

func TestACancelledCallerEndsTheRetries(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	requests := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { requests++; w.WriteHeader(http.StatusBadGateway) })
	sleep := func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	_, err := client.New(s.URL, client.WithSleep(sleep)).Run(ctx, "run_x_0")
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Status != http.StatusBadGateway || requests != 1 {
		t.Errorf("%v after %d requests", err, requests)
	}
}
