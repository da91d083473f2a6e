package httptool

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// instant is a clock on which nobody waits: whoever sleeps moves it, and what was slept is kept.
type instant struct {
	*enginetest.Clock
	mu     sync.Mutex
	pauses []time.Duration
}

func (c *instant) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.pauses = append(c.pauses, d)
	c.mu.Unlock()
	c.Advance(d)
	return ctx.Err()
}

// seen is a request as a service got it.
type seen struct {
	Method, URI, Body string
	Header            http.Header
	Host              string
}

// world is a network in which names lead where the test says. Public addresses are served by
// listeners on the loopback.
type world struct {
	t       *testing.T
	clock   *instant
	secrets map[string]string
	unread  error               // of secrets that are not there
	names   map[string][]string // host to addresses
	routes  map[string]string   // address to the listener that stands for it
	private []string            // what the operator allows
	mu      sync.Mutex
	dialled []netip.AddrPort
	got     []seen
}

var errUnread = errors.New("words of a source")

const publicAddress = "93.184.215.14"

// mute is the route to a host that does not even refuse, while the time of the call passes.
const mute = "mute"

func newWorld(t *testing.T) *world {
	return &world{t: t, clock: &instant{Clock: enginetest.NewClock(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))}, secrets: map[string]string{},
		names: map[string][]string{"api.example.com": {publicAddress}}, routes: map[string]string{}}
}

// serve puts a service behind an address: over TLS on port 443, in the clear on others.
func (w *world) serve(address string, handler http.HandlerFunc) *httptest.Server {
	w.t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.got = append(w.got, seen{r.Method, r.RequestURI, string(body), r.Header, r.Host})
		w.mu.Unlock()
		handler(rw, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that a test refuses
	if strings.HasSuffix(address, ":443") {
		s.StartTLS()
	} else {
		s.Start()
	}
	w.t.Cleanup(s.Close)
	w.routes[address] = s.Listener.Addr().String()
	return s
}

func (w *world) requests() []seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]seen{}, w.got...)
}

func (w *world) caller() *Caller { return w.callerWith(func(*Options) {}) }

// callerWith is a caller some of whose options are others.
func (w *world) callerWith(change func(*Options)) *Caller {
	w.t.Helper()
	private, err := netguard.ReadPrivate(w.private)
	if err != nil {
		w.t.Fatal(err)
	}
	o := Options{Clock: w.clock, Random: enginetest.NewRandom(w.t, 7), Private: private, Lookup: w.lookup, Dial: w.dial,
		Secrets: func(_ context.Context, name string) (string, error) {
			if value := w.secrets[name]; value != "" || w.unread == nil {
				return value, nil
			}
			return "", w.unread
		},
		// the names here are not those of the certificate
		TLS: &tls.Config{InsecureSkipVerify: true}}
	change(&o)
	return New(o)
}

func (w *world) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []netip.Addr
	for _, text := range w.names[host] {
		found = append(found, netip.MustParseAddr(text))
	}
	if found == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return found, nil
}

// movingTo is a network in which each name leads to this machine and outside when it is first
// looked up, and to one address from then on.
func movingTo(address string) (change func(*Options), lookups *int) {
	lookups = new(int)
	return func(o *Options) {
		o.Lookup = func(context.Context, string) ([]netip.Addr, error) {
			if *lookups++; *lookups > 1 {
				return []netip.Addr{netip.MustParseAddr(address)}, nil
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr(publicAddress)}, nil
		}
	}, lookups
}

// wantReached sends a request, which must reach the service or not even be dialled.
func (w *world) wantReached(c *http.Client, url string, reached bool) {
	w.t.Helper()
	resp, err := c.Get(url)
	if err == nil {
		resp.Body.Close()
	}
	if (err == nil) != reached || !reached && len(w.dialled) != 0 {
		w.t.Errorf("%v, dialled %v", err, w.dialled)
	}
}

func (w *world) dial(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, a)
	to, ok := w.routes[a.String()]
	w.mu.Unlock()
	switch {
	case to == mute:
		w.clock.Advance(time.Minute)
		<-ctx.Done()
		return nil, ctx.Err()
	case !ok:
		to = "127.0.0.1:1" // nobody listens there
	}
	return new(net.Dialer).DialContext(ctx, "tcp", to)
}

// readTool reads one tool of an agent file.
func readTool(t *testing.T, text string) (tool agent.Tool, atMostOnce bool) {
	t.Helper()
	d, err := agentfile.Parse("a.yaml", []byte("model: {provider: scripted, turns: [{say: hi}]}\ntools:\n"+text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	rules, err := d.Rules(nil, agent.Layers{})
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := rules.Tool(d.Tools[0].Name)
	return d.Tools[0], spec.Delivery == core.AtMostOnce
}

const testKey = "run_1/call_1/0"

// call runs a tool once.
func (w *world) call(text, args string) core.Outcome {
	w.t.Helper()
	out, err := w.callIn(w.t.Context(), text, args)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) callIn(ctx context.Context, text, args string) (core.Outcome, error) {
	w.t.Helper()
	tool, atMostOnce := readTool(w.t, text)
	req := requestFor(args)
	req.AtMostOnce = atMostOnce
	return w.caller().Tool(tool).Run(ctx, req)
}

func requestFor(args string) engine.ToolRequest {
	return engine.ToolRequest{Tenant: "t", Thread: "thr_1", Run: "run_1", Key: testKey,
		Call: core.ToolCall{ID: "call_1", Name: "pay", Arguments: json.RawMessage(args)}}
}

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const (
	// look is a tool that only reads.
	look = `  - {name: look, http: {url: "https://api.example.com/v1/orders/{order}", query: {full: "{full}", tag: "{tags}"}},
     parameters: {type: object, properties: {order: {}, full: {}, tags: {}}, required: [order]}}`
	// pay must not run twice.
	pay = `  - {name: pay, http: {method: POST, url: "https://api.example.com/v1/pay/{order}"},
     parameters: {type: object, properties: {order: {}, amount: {}}, required: [order]}}`
	// again may run twice.
	again = `  - {name: pay, idempotent: true, http: {method: POST, url: "https://api.example.com/v1/pay/{order}"},
     parameters: {type: object, properties: {order: {}, amount: {}}, required: [order]}}`
)
