package openai_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/model/openai"
)

// connected is a model whose endpoint is a server on this machine; it counts connections.
func connected(t *testing.T, whole bool, h http.HandlerFunc) (m *openai.Model, server *httptest.Server, dials *atomic.Int64) {
	t.Helper()
	server, dials = httptest.NewServer(h), new(atomic.Int64)
	t.Cleanup(server.Close)
	guard := netguard.New(netguard.Options{Clock: machine.Clock{}, Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}})
	m, err := openai.New(openai.Options{Model: agent.Model{ID: "small", BaseURL: "http://93.184.215.14/v1", Whole: whole},
		HTTP: &http.Client{Transport: guard.Keep(netguard.Access{})}, Clock: machine.Clock{}, Random: enginetest.NewRandom(t, 7)})
	if err != nil {
		t.Fatal(err)
	}
	return m, server, dials
}

func asks(t *testing.T, m *openai.Model, times int) {
	t.Helper()
	for range times {
		if turn, err := m.Ask(t.Context(), prompt()); err != nil || turn.Text != "hi" {
			t.Fatalf("%+v, %v", turn, err)
		}
	}
}

const wholeAnswer = `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`

// streamed writes an answer, then calls last.
func streamed(last func(http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: %s\n\ndata: [DONE]\n\n", delta(`{"content":"hi"}`), stop)
		_ = http.NewResponseController(w).Flush()
		last(w, r)
	}
}

func TestOneConnectionCarriesTheRequestsOfAModel(t *testing.T) {
	for name, c := range map[string]struct {
		whole bool
		h     http.HandlerFunc
	}{
		"streamed": {false, streamed(func(http.ResponseWriter, *http.Request) {})},
		"whole": {true, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(wholeAnswer))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m, _, dials := connected(t, c.whole, c.h)
			asks(t, m, 3)
			if n := dials.Load(); n != 1 {
				t.Errorf("%d connections for three requests", n)
			}
		})
	}
}

// TestAKeptConnectionThatTheEndpointBreaksCostsNoAttempt: a server may close it in the moment in
// which the next request is sent.
func TestAKeptConnectionThatTheEndpointBreaksCostsNoAttempt(t *testing.T) {
	var broken atomic.Int64
	var on sync.Map // addresses that were answered once
	answer := streamed(func(http.ResponseWriter, *http.Request) {})
	m, _, dials := connected(t, false, func(w http.ResponseWriter, r *http.Request) {
		if _, again := on.LoadOrStore(r.RemoteAddr, true); again {
			broken.Add(1)
			panic(http.ErrAbortHandler)
		}
		answer(w, r)
	})
	asks(t, m, 3)
	if broken.Load() != 2 || dials.Load() != 3 {
		t.Errorf("%d requests were broken off, %d connections", broken.Load(), dials.Load())
	}
}

// TestAnEndpointThatLeavesItsStreamOpenIsNotWaitedFor: the answer is complete.
func TestAnEndpointThatLeavesItsStreamOpenIsNotWaitedFor(t *testing.T) {
	m, _, dials := connected(t, false, streamed(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	asks(t, m, 3)
	if n := dials.Load(); n != 3 {
		t.Errorf("%d connections for three requests", n)
	}
}
