package client_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
)

// ended returns the error of call, which must come within a few seconds.
func ended(t *testing.T, call func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := call(ctx)
	if ctx.Err() != nil {
		t.Fatalf("it took until the test gave up: %v", err)
	}
	return err
}

// says checks that an error has the text.
func says(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want one with %q", err, want)
	}
}

func TestAChangeThatIsRedirectedElsewhereIsNoSuccess(t *testing.T) {
	for status, sameServer := range map[int]bool{301: true, 302: true, 303: true, 307: false, 308: false} {
		var got []string
		answer := func(w http.ResponseWriter, r *http.Request) {
			got = append(got, r.Method)
			_, _ = io.WriteString(w, `{"items":[],"id":"run_x_0"}`)
		}
		other := serve(t, answer)
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/moved":
				answer(w, r)
			case sameServer:
				http.Redirect(w, r, "/moved", status)
			default:
				http.Redirect(w, r, other.URL, status)
			}
		})
		_, err := client.New(s.URL, client.WithSleep(noSleep)).StartRun(t.Context(), client.StartRequest{Agent: "desk", Input: client.Text("x")}, "k")
		if says(t, err, "redirected a POST request"); len(got) != 0 {
			t.Errorf("%d: sent %q elsewhere", status, got)
		}
	}
}

func TestAChangeFollowsARedirectOnItsServerThatKeepsIt(t *testing.T) {
	body := ""
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/moved" {
			http.Redirect(w, r, "/moved", http.StatusPermanentRedirect)
			return
		}
		raw, _ := io.ReadAll(r.Body)
		body = r.Method + string(raw)
		_, _ = io.WriteString(w, `{"code":"accepted"}`)
	})
	if _, err := client.New(s.URL).Decide(t.Context(), "run_x_0", client.Decision{Target: "sus_1"}); err != nil || body != `POST{"target":"sus_1"}` {
		t.Errorf("%v, got %q", err, body)
	}
}

// A server that a request was redirected to can't redirect it back with its credentials.
func TestARequestThatLeftItsServerReturnsWithoutCredentials(t *testing.T) {
	var back *http.Request
	var s *httptest.Server
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("another server got the token")
		}
		http.Redirect(w, r, s.URL+"/back", http.StatusTemporaryRedirect)
	})
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/back" {
			back = r
			_, _ = io.WriteString(w, `{"id":"run_x_0"}`)
			return
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if _, err := client.New(s.URL, client.WithToken("secret")).Run(t.Context(), "run_x_0"); err != nil || back.Header.Get("Authorization") != "" {
		t.Errorf("%v, %v", err, back.Header)
	}
}

// An answer that doesn't say what was stored is none, also where its status says so.
func TestAnAnswerOfAnotherServerIsNoSuccess(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
	}{{200, `{}`}, {200, `null`}, {200, `{"items":[]}`}, {200, ``}, {200, `<html>`}, {204, ``}, {302, `{"id":"run_x_0","code":"accepted"}`}} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		c := client.New(s.URL, client.WithSleep(noSleep))
		for name, call := range map[string]func(context.Context) error{
			"start": func(ctx context.Context) error {
				_, err := c.StartRun(ctx, client.StartRequest{Agent: "desk", Input: client.Text("x")}, "")
				return err
			},
			"decide":     func(ctx context.Context) error { _, err := c.Decide(ctx, "run_x_0", client.Decision{}); return err },
			"decide all": func(ctx context.Context) error { _, err := c.DecideAll(ctx, "run_x_0", client.Decisions{}); return err },
			"link": func(ctx context.Context) error {
				_, err := c.MakeLink(ctx, "run_x_0", client.LinkRequest{})
				return err
			},
			"cancel": func(ctx context.Context) error { _, err := c.Cancel(ctx, "run_x_0"); return err },
			"wait":   func(ctx context.Context) error { _, err := c.WaitRun(ctx, "run_x_0"); return err },
		} {
			if err := ended(t, call); err == nil {
				t.Errorf("%s: no error for %d %q", name, tt.status, tt.body)
			}
		}
	}
}

func TestALongRetryAfterIsLeftToTheCaller(t *testing.T) {
	for _, seconds := range []string{"121", "99999999", "99999999999", "9223372036854775807"} {
		requests := 0
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.Header().Set("Retry-After", seconds)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		c := client.New(s.URL)
		err := ended(t, func(ctx context.Context) error { _, err := c.Run(ctx, "run_x_0"); return err })
		if refused, ok := err.(*client.Error); !ok || refused.RetryAfter < 2*time.Minute || !refused.Retryable() || requests != 1 {
			t.Errorf("%s: %v after %d requests", seconds, err, requests)
		}
		err = ended(t, func(ctx context.Context) error {
			_, err := client.Collect(c.Feed(ctx, client.FeedOptions{}))
			return err
		})
		if says(t, err, "503"); requests != 2 {
			t.Errorf("%s: %d requests", seconds, requests)
		}
	}
}

func TestAPageWhoseNextIsItselfEndsTheList(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":[{"id":"r"}],"next":"same"}`)
	})
	err := ended(t, func(ctx context.Context) error {
		_, err := client.Collect(client.New(s.URL).Runs(ctx, client.RunFilter{}))
		return err
	})
	says(t, err, "the same page again")
}

func TestStreamsThatAreNoneEnd(t *testing.T) {
	for body, want := range map[string]string{
		"<html>sign in</html>":                      "not with a stream",
		"data: null\n\n":                            "",
		"data: {\"seq\":1}\n\n":                     "",
		"data: {\"seq\":\"x\",\"cursor\":[]}\n\n":   "decoding an event",
		"event: counts\ndata: null\n\n":             "",
		"event: counts\ndata: {\"waiting\":{}}\n\n": "",
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if !strings.HasPrefix(body, "<") {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			_, _ = io.WriteString(w, body)
		})
		c := client.New(s.URL, client.WithSleep(noSleep))
		says(t, ended(t, func(ctx context.Context) error {
			_, err := client.Collect(c.Events(ctx, "run_x_0", client.EventOptions{}))
			return err
		}), want)
		if strings.Contains(body, "seq\":1") {
			continue // the feed takes positions from the ids of messages
		}
		says(t, ended(t, func(ctx context.Context) error {
			_, err := client.Collect(c.Feed(ctx, client.FeedOptions{}))
			return err
		}), strings.TrimSuffix(want, " an event"))
	}
}

// endless repeats its text for ever.
type endless struct{ text []byte }

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.text)
	}
	return n, nil
}

func TestEndlessBodiesAreNotReadIntoMemory(t *testing.T) {
	for name, text := range map[string]string{
		"line": strings.Repeat("x", 64<<10),
		"data": "data: " + strings.Repeat("x", 32<<10) + "\n",
	} {
		requests := 0
		network := client.WithTransport(func(http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				requests++
				header := http.Header{"Content-Type": {"text/event-stream"}}
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(endless{[]byte(text)}), Header: header, Request: r}, nil
			})
		})
		c := client.New("http://127.0.0.1:1", network)
		says(t, ended(t, func(ctx context.Context) error {
			_, err := client.Collect(c.Feed(ctx, client.FeedOptions{}))
			return err
		}), "longer than 64 MiB")
		says(t, ended(t, func(ctx context.Context) error { _, err := c.Run(ctx, "run_x_0"); return err }), "longer than 64 MiB")
		if requests != 2 {
			t.Errorf("%s: %d requests", name, requests)
		}
	}
}

// A server that ends each stream at once is asked less and less often.
func TestStreamsThatEndAtOnceAreReopenedAfterGrowingPauses(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") })
	ctx, cancel := context.WithCancel(t.Context())
	var pauses []time.Duration
	sleep := func(ctx context.Context, d time.Duration) error {
		if pauses = append(pauses, d); len(pauses) == 8 {
			cancel()
		}
		return ctx.Err()
	}
	zeros := client.WithRandom(bytes.NewReader(make([]byte, 1000)))
	_, err := client.Collect(client.New(s.URL, client.WithSleep(sleep), zeros).Feed(ctx, client.FeedOptions{}))
	if got := fmt.Sprint(pauses); err == nil || got != "[100ms 200ms 400ms 800ms 1.6s 2.5s 2.5s 2.5s]" {
		t.Errorf("%v, pauses %s", err, got)
	}
}

func TestAFeedStartsEachLoopWhereItWasAskedTo(t *testing.T) {
	var asked []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("after"))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: e2\ndata: {\"seq\":2}\n\n")
	})
	feed := client.New(s.URL).Feed(t.Context(), client.FeedOptions{After: "e1"})
	for range 2 {
		for range feed {
			break
		}
	}
	if fmt.Sprint(asked) != "[e1 e1]" {
		t.Errorf("asked %q", asked)
	}
}

func TestOptionsOfNothingAreIgnored(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"id":"run_x_0"}`) })
	c := client.New(s.URL, nil, client.WithHTTPClient(nil), client.WithTransport(nil), client.WithSleep(nil), client.WithRandom(nil), client.WithSigner(nil))
	if _, err := c.StartRun(t.Context(), client.StartRequest{Agent: "desk", Input: client.Text("x")}, ""); err != nil {
		t.Error(err)
	}
}

func TestBaseURLs(t *testing.T) {
	path := ""
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		_, _ = io.WriteString(w, `{"id":"run_x_0"}`)
	})
	host := strings.TrimPrefix(s.URL, "http://")
	for base, want := range map[string]string{
		s.URL + "//":                        "/v1/runs/run_x_0",
		s.URL + "/desk/":                    "/desk/v1/runs/run_x_0",
		s.URL + "?tenant=a":                 "has a query or a fragment",
		s.URL + "/#top":                     "has a query or a fragment",
		"http://anna:s3cret@" + host + "?x": "has a query or a fragment",
		host:                                "",
		"localhost":                         "has no scheme or no host",
		"":                                  "has no scheme or no host",
		"http://anna:s3cret%zz@" + host:     "can't be parsed",
		"http://anna:s3cret#1@" + host:      "can't be parsed",
		"http://anna:s3cret/1@" + host:      "can't be parsed",
	} {
		c := client.New(base, client.WithSleep(noSleep))
		path = ""
		_, err := c.Run(t.Context(), "run_x_0")
		if strings.HasPrefix(want, "/") {
			if err != nil || path != want {
				t.Errorf("%s: %v, path %q", base, err, path)
			}
			continue
		}
		if says(t, err, want); path != "" {
			t.Errorf("%s: a request for %s was sent", base, path)
		}
		if err != nil && strings.Contains(err.Error()+c.BaseURL(), "s3cret") {
			t.Errorf("%s: the password is in %v or %s", base, err, c.BaseURL())
		}
	}
}
