//go:build linux

package hostile

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
)

// crowdSize is more connections than the server takes at once.
const crowdSize = 1500

// A crowd does not lock others out: whoever comes is let in, and somebody who keeps the server
// waiting has to go.
func TestACrowdLocksNobodyOut(t *testing.T) {
	a := attackInHaste(t)
	run := a.waiting(t, "waits")
	held := a.held(t)
	for _, tt := range []struct{ name, text string }{
		{"connections that say nothing", ""},
		{"connections that were answered once", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"},
		{"connections with half a header", "GET /healthz HTTP/1.1\r\nHost: lo"},
		{"connections with half a body", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"},
		{"reads that are held", "GET " + held + " HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n"},
		{"streams of events", "GET /v1/runs/" + run.ID + "/events?follow=true HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a.during(t, func() {
				for range crowdSize {
					if _, err := io.WriteString(a.dial(t), tt.text); err != nil {
						continue // it had to go at once
					}
				}
				if open := a.sockets(t); open > crowdSize {
					t.Errorf("%d connections are open, so that nothing bounds them", open)
				}
				for range 5 {
					if err := a.healthy(); err != nil {
						t.Fatal(err)
					}
				}
				a.readable(t, run)
				a.hangUp()
			})
		})
	}
}

// held is the path of a read that waits: there is nothing new.
func (a *attacked) held(t *testing.T) string {
	t.Helper()
	run := a.waiting(t, "waits")
	page, err := a.api.EventPage(t.Context(), run.ID, client.EventQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return "/v1/runs/" + run.ID + "/events?wait=20&after=" + url.QueryEscape(page.Next)
}

// Those who ask and never take the answer are cut off, however much they ask for.
func TestReadersWhoNeverReadAreCutOff(t *testing.T) {
	t.Parallel() // it mostly waits
	a := attackInHaste(t)
	run := a.waitingWith(t, "waits", long[:900_000])
	ask := "GET /v1/threads/" + run.ThreadID + "/messages HTTP/1.1\r\nHost: localhost\r\n"
	a.during(t, func() {
		before := a.sockets(t)
		for range 40 {
			conn := a.dial(t)
			_ = conn.(*net.TCPConn).SetReadBuffer(4096)
			stop := machine().bound(conn, callTime)
			if _, err := io.WriteString(conn, strings.Repeat(ask+"\r\n", 30)+ask+"Connection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			stop()
		}
		a.until(t, "the readers are there", func(now int) bool { return now >= before+40 })
		a.until(t, "the readers were cut off", func(now int) bool { return now <= before+moreSockets })
		a.hangUp()
	})
}

// Many who ask for much at once, and never take it, do not decide how much memory is used even
// while they are there.
func TestMuchThatIsNotTakenIsNotHeldEither(t *testing.T) {
	a := attack(t)
	run := a.waiting(t, "waits")
	before := a.use(t)
	queued := fmt.Sprintf(`{"input":%q,"on_pending":"queue"}`, long[:900_000])
	for range 20 {
		if got, err := a.send(http.MethodPost, "/v1/threads/"+run.ThreadID+"/messages", queued); err != nil || got.status != http.StatusAccepted {
			t.Fatal(err, got)
		}
	}
	// so that the messages are taken up
	if _, err := a.api.Interrupt(t.Context(), run.ID, ""); err != nil {
		t.Fatal(err)
	}
	head := " HTTP/1.1\r\nHost: localhost\r\nAccept: "
	asks := []string{
		"GET /v1/runs/" + run.ID + "/events?follow=true" + head + "text/event-stream\r\n\r\n",
		"GET /v1/runs/" + run.ID + "/events?limit=1000" + head + "application/json\r\n\r\n",
		"GET /v1/threads/" + run.ThreadID + "/messages" + head + "application/json\r\n\r\n",
	}
	a.during(t, func() {
		peak := 0
		for n := range 300 {
			conn := a.dial(t)
			_ = conn.(*net.TCPConn).SetReadBuffer(4096)
			if _, err := io.WriteString(conn, asks[n%len(asks)]); err != nil {
				t.Fatal(err)
			}
			peak = max(peak, a.use(t).memory)
		}
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			peak = max(peak, a.use(t).memory)
		}
		t.Logf("memory %d MB before, %d MB at most", before.memory>>20, peak>>20)
		if peak > before.memory+4*moreMemory {
			t.Errorf("memory rose by %d MB", (peak-before.memory)>>20)
		}
		a.hangUp()
	})
	a.settle(t, before) // what was there before the messages were
}

// until waits for a number of sockets.
func (a *attacked) until(t *testing.T, what string, is func(sockets int) bool) {
	t.Helper()
	for end := machine().now() + recoverTime; !is(a.sockets(t)); time.Sleep(20 * time.Millisecond) {
		if machine().now() > end {
			t.Fatalf("not so after %v: %s; %d sockets are open", recoverTime, what, a.sockets(t))
		}
	}
}

// A thousand requests sent at once are answered in their order, whatever they are.
func TestRequestsInARowAreAnsweredInTheirOrder(t *testing.T) {
	a := attack(t)
	const rows = 1000
	a.during(t, func() {
		conn := a.dial(t)
		defer machine().bound(conn, callTime)()
		go func() {
			for i := range rows {
				_, _ = fmt.Fprintf(conn, "GET /v1/agents/nobody_%d HTTP/1.1\r\nHost: localhost\r\n\r\nPOST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"row%05d\"}", i, i)
			}
		}()
		from := bufio.NewReader(conn)
		for i := range 2 * rows {
			resp, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatalf("answer %d: %v", i, err)
			}
			body, err := io.ReadAll(resp.Body)
			got := answer{status: resp.StatusCode, header: resp.Header, body: body}
			if want := []string{"agent_not_found", "malformed_body"}[i%2]; err != nil || got.code() != want || a.check(got) != nil {
				t.Fatalf("answer %d is %s, %v, want %s", i, got, err, want)
			}
		}
		a.hangUp()
	})
}

// Bodies that are many times their size once they are read, all at once.
func TestDenseBodiesAtOnce(t *testing.T) {
	a := attack(t)
	run := a.waiting(t, "waits")
	for name, body := range map[string]string{
		"members": `{"agent":"waits","input":"x","metadata":` + crowd(90_000) + `}`,
		"lists":   `{"agent":"waits","input":[` + strings.Repeat("[],", 300_000) + `[]]}`,
		"parts":   `{"agent":"waits","input":[` + strings.Repeat(`{"type":"text","text":""},`, 30_000) + `{}]}`,
		"escapes": `{"agent":"nobody","input":"` + strings.Repeat(`\u0041`, 150_000) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			a.during(t, func() {
				a.atOnce(t, slices.Repeat([]func() error{func() error {
					got, err := a.send(http.MethodPost, "/v1/runs", body)
					if err != nil {
						return err
					}
					return a.check(got)
				}}, 16))
			})
		})
	}
	a.readable(t, run)
}
