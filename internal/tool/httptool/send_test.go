package httptool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// inTurn answers each request with the next handler, and every later one with the last.
func inTurn(w *world, handlers ...http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		handlers[min(len(w.requests()), len(handlers))-1](rw, r)
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

// cutOff closes the connection without an answer.
func cutOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// gone waits until the client has closed the connection, and does not answer then: an answer
// written at that moment may still arrive.
func gone(r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// never lets the time of the call pass, and does not answer.
func never(w *world) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		w.clock.Advance(time.Minute)
		gone(r)
	}
}

func TestWhatMayBeRepeatedIsRepeatedWithTheSameKey(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first http.HandlerFunc
	}{
		{"429", status(429)}, {"502", status(502)}, {"503", status(503)}, {"504", status(504)}, {"no answer", cutOff},
		{"half an answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("half"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.serve(publicAddress+":443", inTurn(w, tt.first, tt.first, answering(200, `{"paid": true}`)))
			out := w.call(again, `{"order":"1","amount":5}`)
			got := w.requests()
			if out.Failed || out.Text != `{"paid":true}` || len(got) != 3 {
				t.Fatalf("outcome %+v after %d requests", out, len(got))
			}
			for _, r := range got {
				if r.Header.Get("Idempotency-Key") != testKey || r.Body != `{"amount":5}` || r.Method != "POST" {
					t.Errorf("request %+v", r)
				}
			}
			for i, pause := range w.clock.pauses {
				if whole := 250 * time.Millisecond << i; pause < whole/2 || pause > whole {
					t.Errorf("pause %d is %s", i, pause)
				}
			}
		})
	}
}

func TestWhatIsNotRepeated(t *testing.T) {
	for _, tt := range []struct {
		name, tool string
		answer     http.HandlerFunc
		want       string
	}{
		{"what must not run twice, though the service is busy", pay, status(503), "The service answered 503 Service Unavailable. The call may or may not have taken effect."},
		{"what must not run twice, though there were too many", pay, status(429), "The service answered 429 Too Many Requests."},
		{"a refusal", again, answering(422, `{"why": "too much"}`), `The service answered 422 Unprocessable Entity: {"why":"too much"}`},
		{"a fault of the service", again, answering(500, "oops"), "The service answered 500 Internal Server Error: oops The call may or may not have taken effect."},
		{"what was not found", look, answering(404, "no such order"), "The service answered 404 Not Found: no such order"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.serve(publicAddress+":443", tt.answer)
			out := w.call(tt.tool, `{"order":"1"}`)
			if got := w.requests(); !out.Failed || out.Text != tt.want || len(got) != 1 {
				t.Errorf("outcome %+v after %d requests", out, len(got))
			}
		})
	}
}

func TestWhatWasSentAndMustNotBeRepeatedIsAskedAbout(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(*world) http.HandlerFunc
		want   string
	}{
		{"no answer in time", never, "no answer came within 10s"},
		{"the connection broke", func(*world) http.HandlerFunc { return cutOff }, "the connection broke before a whole answer came"},
		{"a gateway waited in vain", func(*world) http.HandlerFunc { return status(504) }, "answered 504 Gateway Timeout"},
		{"a gateway got nothing to read", func(*world) http.HandlerFunc { return status(520) }, "answered 520"},
		{"a gateway could not connect in time", func(*world) http.HandlerFunc { return status(522) }, "answered 522"},
		{"another gateway waited in vain", func(*world) http.HandlerFunc { return status(524) }, "answered 524"},
		{"an answer that is none", func(*world) http.HandlerFunc { return status(101, "Connection", "Upgrade", "Upgrade", "x") }, "the service answered 101 Switching Protocols"},
		{"a gateway got no answer", func(*world) http.HandlerFunc { return status(502) }, "answered 502 Bad Gateway"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.serve(publicAddress+":443", tt.answer(w))
			out := w.call(pay, `{"order":"1"}`)
			if out.Kind != core.KindUnknownOutcome || out.Ticket == nil || out.Failed || len(w.requests()) != 1 {
				t.Fatalf("outcome %+v after %d requests", out, len(w.requests()))
			}
			if m := out.Ticket.Suspension.Message; !strings.Contains(m, tt.want) || !strings.Contains(m, "pay was sent to api.example.com") {
				t.Errorf("a person is told %q", m)
			}
		})
	}
}

func TestAnAnswerThatBreaksOffAfterItsStatusCounts(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("paid, receipt 12"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	out := w.call(pay, `{"order":"1"}`)
	if out.Failed || out.Ticket != nil || !strings.HasPrefix(out.Text, "paid, receipt 12\n(The service answered 200 OK, and the connection broke here") {
		t.Errorf("outcome %+v", out)
	}
}

func TestWhatWasNeverSentMayBeSentAgain(t *testing.T) {
	w := newWorld(t) // nobody listens
	out := w.call(pay, `{"order":"1"}`)
	if want := "The call did not run: api.example.com could not be reached: it refused the connection."; out.Text != want || !out.Failed || len(w.dialled) != 3 {
		t.Errorf("outcome %+v after %d connections", out, len(w.dialled))
	}
	w = newWorld(t)
	w.names = nil
	if out := w.call(pay, `{"order":"1"}`); !strings.Contains(out.Text, "there is no such host") || out.Ticket != nil {
		t.Errorf("outcome %+v", out)
	}
}

func TestACertificateThatIsNotTrustedIsNotSentAnything(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", answering(200, `1`))
	c := w.callerWith(func(o *Options) { o.TLS = nil })
	tool, _ := readTool(t, look)
	out, err := c.Tool(tool).Run(t.Context(), requestFor(`{"order":"1"}`))
	if err != nil || !out.Failed || !strings.Contains(out.Text, "its certificate is not trusted") || len(w.requests()) != 0 {
		t.Errorf("outcome %+v, %v", out, err)
	}
}

func TestTheSecondAddressIsTriedIfTheFirstDoesNotAnswer(t *testing.T) {
	w := newWorld(t)
	w.names["api.example.com"] = []string{"8.8.4.4", publicAddress}
	w.serve(publicAddress+":443", answering(200, `"there"`))
	if out := w.call(pay, `{"order":"1"}`); out.Text != `"there"` || len(w.dialled) != 2 {
		t.Errorf("outcome %+v after %v", out, w.dialled)
	}
}

func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		name, header string
		pause        time.Duration
		requests     int
	}{
		{"seconds", "4", 4 * time.Second, 2},
		{"a time", "Sat, 21 Nov 2026 08:00:03 GMT", 3 * time.Second, 2},
		{"longer than the call may take", "3600", 0, 1},
		{"a time that is over", "Sat, 21 Nov 2020 08:00:03 GMT", -1, 2},
		{"nonsense", "soon", -1, 2},
		{"less than nothing", "-5", -1, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.serve(publicAddress+":443", inTurn(w, status(429, "Retry-After", tt.header), answering(200, `1`)))
			out := w.call(again, `{"order":"1"}`)
			if len(w.requests()) != tt.requests || out.Failed != (tt.requests == 1) {
				t.Fatalf("outcome %+v after %d requests", out, len(w.requests()))
			}
			if tt.pause > 0 && !slices.Equal(w.clock.pauses, []time.Duration{tt.pause}) {
				t.Errorf("pauses %v", w.clock.pauses)
			}
		})
	}
}

func TestRetriesAreAsManyAsTheFileSays(t *testing.T) {
	for retries, want := range map[int]int{0: 1, 3: 4} {
		w := newWorld(t)
		w.serve(publicAddress+":443", status(503))
		out := w.call(strings.Replace(again, "http: {", fmt.Sprintf("http: {retries: %d, ", retries), 1), `{"order":"1"}`)
		if len(w.requests()) != want || out.Text != "The service answered 503 Service Unavailable. The call may or may not have taken effect." {
			t.Errorf("%d retries: outcome %+v after %d requests", retries, out, len(w.requests()))
		}
	}
}

func TestASlowServiceIsGivenUp(t *testing.T) {
	for tool, want := range map[string]string{look: "A request was sent to api.example.com, and no answer came within 10s.", again: "may or may not have taken effect"} {
		// each its own: the first call ends in the middle of the minute that passes
		w := newWorld(t)
		w.serve(publicAddress+":443", never(w))
		if out := w.call(tool, `{"order":"1"}`); !out.Failed || !strings.Contains(out.Text, want) {
			t.Errorf("outcome %+v", out)
		}
	}
}

func TestTheEndOfTheContextEndsTheRequest(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.serve(publicAddress+":443", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		gone(r)
	})
	for _, tool := range []string{pay, again, look} {
		if out, err := w.callIn(ctx, tool, `{"order":"1"}`); !errors.Is(err, context.Canceled) {
			t.Errorf("outcome %+v, %v", out, err)
		}
	}
}

// closing says when a connection is closed.
type closing struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (c *closing) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func TestNoConnectionStaysOpen(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", answering(200, `1`))
	var opened []*closing
	c := w.callerWith(func(o *Options) {
		o.Dial = func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
			conn, err := w.dial(ctx, a)
			opened = append(opened, &closing{Conn: conn, closed: make(chan struct{})})
			return opened[len(opened)-1], err
		}
	})
	tool, _ := readTool(t, look)
	for range 2 {
		if out, err := c.Tool(tool).Run(t.Context(), requestFor(`{"order":"1"}`)); err != nil || out.Failed {
			t.Fatalf("outcome %+v, %v", out, err)
		}
	}
	if len(opened) != 2 {
		t.Errorf("%d connections for two calls", len(opened))
	}
	for _, conn := range opened {
		<-conn.closed // or the test hangs
	}
}

func TestAKeyThatNoHeaderCanHoldIsSentAsItsDigest(t *testing.T) {
	for _, key := range []string{"run_1/call\r\nX-Evil: 1/0", "run_1/" + strings.Repeat("x", 500), " run_1/c/0", "run_1/ü/0"} {
		w := newWorld(t)
		w.serve(publicAddress+":443", answering(200, `1`))
		tool, _ := readTool(t, pay)
		req := requestFor(`{"order":"1"}`)
		req.Key = key
		out, err := w.caller().Tool(tool).Run(t.Context(), req)
		if got := w.requests(); err != nil || out.Failed || len(got) != 1 || got[0].Header.Get("Idempotency-Key") != core.Digest([]byte(key)) {
			t.Errorf("outcome %+v, %v, requests %+v", out, err, got)
		}
	}
}

func TestDeliveryAtLeastOnceIsRepeatedUnlessSomebodyApproved(t *testing.T) {
	text := strings.Replace(pay, "name: pay,", "name: pay, delivery: at_least_once,", 1)
	for approved, requests := range map[bool]int{false: 3, true: 1} {
		w := newWorld(t)
		w.serve(publicAddress+":443", cutOff)
		tool, _ := readTool(t, text)
		req := requestFor(`{"order":"1"}`)
		req.AtMostOnce = approved
		out, err := w.caller().Tool(tool).Run(t.Context(), req)
		if err != nil || len(w.requests()) != requests || (out.Kind == core.KindUnknownOutcome) != approved {
			t.Errorf("approved %v: outcome %+v, %v after %d requests", approved, out, err, len(w.requests()))
		}
	}
}

func TestAStoredRequestThatCannotBeReadFailsItsCalls(t *testing.T) {
	for _, h := range []agent.HTTP{{URL: "ftp://a/"}, {URL: "https://a/{"}, {URL: "https://a/", Headers: map[string]string{"A": "}"}}} {
		out, err := newWorld(t).caller().Tool(agent.Tool{Name: "x", HTTP: &h}).Run(t.Context(), requestFor(`{}`))
		if err != nil || !out.Failed || !strings.HasPrefix(out.Text, "The call did not run: its request cannot be built: ") {
			t.Errorf("%+v: outcome %+v, %v", h, out, err)
		}
	}
}
