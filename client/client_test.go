package client_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/client"
)

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		status      int
		media, body string
		want        client.Error
		temporary   bool
	}{
		"a problem document": {409, "application/problem+json", `{"status":409,"code":"run_open","detail":"busy","run_id":"run_x_0"}`,
			client.Error{Status: 409, Code: "run_open", Detail: "busy", RunID: "run_x_0"}, false},
		"a busy server": {503, "application/problem+json; charset=utf-8", `{"code":"unavailable"}`,
			client.Error{Status: 503, Code: "unavailable", RetryAfter: 2 * time.Second}, true},
		"a page by a proxy": {502, "text/html", "<html>", client.Error{Status: 502, Title: "Bad Gateway", RetryAfter: 2 * time.Second}, true},
		"a late function": {504, "application/json", `{"message":"Endpoint request timed out"}`,
			client.Error{Status: 504, Title: "Gateway Timeout", Message: "Endpoint request timed out", RetryAfter: 2 * time.Second}, true},
		"a lost function": {500, "application/json", `{"message":"Internal Server Error"}`,
			client.Error{Status: 500, Title: "Internal Server Error", Message: "Internal Server Error"}, false},
		"a gateway that lets nobody in": {403, "application/json", `{"message":"Forbidden"}`, client.Error{Status: 403, Title: "Forbidden", Message: "Forbidden"}, false},
		"a gateway with a capital":      {403, "application/json", `{"Message":"Forbidden"}`, client.Error{Status: 403, Title: "Forbidden", Message: "Forbidden"}, false},
		"a gateway without a word":      {403, "", "", client.Error{Status: 403, Title: "Forbidden"}, false},
		"a gateway with other words":    {403, "application/json", `{"message":7}`, client.Error{Status: 403, Title: "Forbidden"}, false},
		"a gateway that goes on": {403, "application/json", `{"message":"` + strings.Repeat("a", 499) + `\u00e4"}`,
			client.Error{Status: 403, Title: "Forbidden", Message: strings.Repeat("a", 499) + "..."}, false},
		"a problem with a message": {409, "application/problem+json", `{"status":409,"code":"run_open","message":"no"}`,
			client.Error{Status: 409, Code: "run_open"}, false},
		"a broken problem": {500, "application/problem+json", "{", client.Error{Status: 500, Title: "Internal Server Error"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.media)
				if tt.temporary {
					w.Header().Set("Retry-After", "2")
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			_, err := client.New(s.URL+"/", client.WithRetries(0)).Run(t.Context(), "run_x_0")
			var got *client.Error
			if !errors.As(err, &got) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" || got.Retryable() != tt.temporary {
				t.Errorf("temporary %v, difference:\n%s", got.Retryable(), diff)
			}
			if got.Unanswered() != (tt.status >= 500) {
				t.Errorf("unanswered %v", got.Unanswered())
			}
		})
	}
}

func TestRequestsCarryWhatTheyAreGiven(t *testing.T) {
	var got *http.Request
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		_, _ = io.WriteString(w, `{"id":"run_x_0"}`)
	})
	c := client.New(s.URL, client.WithToken("secret"), client.WithHTTPClient(s.Client()), client.WithRetries(0))
	if _, err := c.StartRun(t.Context(), client.StartRequest{Agent: "desk", Input: []byte(`"x"`)}, "k1"); err != nil {
		t.Fatal(err)
	}
	if got.Header.Get("Authorization") != "Bearer secret" || got.Header.Get("Idempotency-Key") != "k1" || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", got.Header)
	}
	if _, err := c.PollRun(t.Context(), "run_x/../0", 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if got.URL.EscapedPath() != "/v1/runs/run_x%2F..%2F0" || got.Header.Get("Prefer") != "wait=2" {
		t.Errorf("path %s, Prefer %q", got.URL.EscapedPath(), got.Header.Get("Prefer"))
	}
	if _, err := c.EventPage(t.Context(), "run_x_0", client.EventQuery{After: "abc", Wait: time.Second, Limit: 7}); err != nil {
		t.Fatal(err)
	}
	if got.URL.RawQuery != "after=abc&limit=7&wait=1" {
		t.Errorf("query %s", got.URL.RawQuery)
	}
}

// A computed list that is empty means no one, and nil means everyone.
func TestAnEmptyListIsNotTakenForNone(t *testing.T) {
	var body []byte
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"id":"run_x_0"}`)
	})
	c := client.New(s.URL, client.WithHTTPClient(s.Client()), client.WithRetries(0))
	for _, tt := range []struct {
		list            []string
		asked, notified string
	}{
		{nil, `{"title":"Deploy?"}`, `{"on":["done"]}`},
		{[]string{}, `{"title":"Deploy?","approvers":[]}`, `{"agents":[],"on":["done"]}`},
	} {
		if _, err := c.Ask(t.Context(), client.AskRequest{Title: "Deploy?", Approvers: tt.list}, ""); err != nil || string(bytes.TrimSpace(body)) != tt.asked {
			t.Errorf("%s, %v", body, err)
		}
		if _, err := c.AddWebhook(t.Context(), client.WebhookRequest{Agents: tt.list, On: []string{"done"}}, ""); err != nil || string(bytes.TrimSpace(body)) != tt.notified {
			t.Errorf("%s, %v", body, err)
		}
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	_, err := client.New(s.URL, client.WithRetries(0)).Health(t.Context())
	if !errors.As(err, new(*url.Error)) {
		t.Errorf("got %v, want a *url.Error inside", err)
	}
}
