//go:build linux

package hostile

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// many are the connections of an attack that wants to use the server up; some are enough to see
// what happens to each.
const many, some = 500, 60

// sender is a caller that sends something at once, and then the rest again and again, in small
// pieces.
type sender struct {
	name, first, rest string
	many              int
	want              string // as of [attacked.odd]
}

const (
	large   = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\n" + jsonBody + "\r\nContent-Length: 1000000\r\n\r\n"
	chunked = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\n" + jsonBody + "\r\nTransfer-Encoding: chunked\r\n\r\n"
	reading = "GET /v1/runs HTTP/1.1\r\nHost: localhost\r\n"
)

// The server ends each of many slow senders in time, with an answer or without.
func TestSlowSendersAreCutOff(t *testing.T) {
	a := attackInHaste(t)
	a.slowSenders(t, "header", headerTime,
		sender{"nothing at all", "", "", some, "closed"},
		sender{"the first line, byte by byte", "G", "E", some, "closed|net/http"},
		sender{"a header, byte by byte", reading + "X: ", "x", many, "closed|net/http"},
		sender{"headers, one by one", reading, "A: b\r\n", some, "closed|net/http"},
		sender{"a header that stops", reading, "", some, "closed|net/http"},
		sender{"a second request that does not come", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nG", "E", some, "200|200 net/http"})
	a.slowSenders(t, "body", bodyTime,
		sender{"a body that does not begin", large, "", some, "malformed_body"},
		sender{"a body, byte by byte", large + "{", " ", many, "malformed_body"},
		sender{"a body in chunks of one byte", chunked + "1\r\n{\r\n", "1\r\n \r\n", some, "malformed_body"},
		sender{"a chunk length without end", chunked + "0", "0", some, "malformed_body"},
		sender{"trailers without end", chunked + "2\r\n{}\r\n0\r\n", "A: b\r\n", some, "malformed_body"},
		sender{"a body to what takes none", strings.Replace(large, "POST", "GET", 1), " ", some, "200"})
	a.slowSenders(t, "large body", bodyTime,
		sender{"a body that is there but for its end", large + "{" + strings.Repeat(" ", million-100), "", 4 * some, "malformed_body|unavailable|closed"})
}

func (a *attacked) slowSenders(t *testing.T, name, within string, senders ...sender) {
	limit, err := time.ParseDuration(within)
	if err != nil {
		t.Fatal(err)
	}
	t.Run(name, func(t *testing.T) {
		a.during(t, func() {
			begun := machine().now()
			var all []func() error
			for _, s := range senders {
				for range s.many {
					all = append(all, func() error { return a.slow(s) })
				}
			}
			a.atOnce(t, all)
			if took := machine().now() - begun; took > limit+4*time.Second {
				t.Errorf("the last one was cut off after %v, the limit is %v", took, limit)
			}
		})
	})
}

// The time for a body ends with it: what is held afterwards, on the same connection, is held as
// long as was asked.
func TestAHeldReadOutlastsTheTimeForBodies(t *testing.T) {
	t.Parallel() // it mostly waits
	a := attackInHaste(t)
	path := a.held(t)
	a.during(t, func() {
		if got, err := a.send(http.MethodPost, "/v1/runs", "{}"); err != nil || got.code() != "invalid_request" {
			t.Fatalf("%v, %s", err, got)
		}
		begun := time.Now()
		got, err := a.send(http.MethodGet, strings.Replace(path, "wait=20", "wait=3", 1), "")
		if took := time.Since(begun); err != nil || got.status != http.StatusOK || took < 3*time.Second {
			t.Errorf("after %v: %v, %s", took, err, got)
		}
	})
}

// slow is one such caller; it holds what comes back against what is wanted.
func (a *attacked) slow(s sender) error {
	conn, err := machine().connect(a.addr, callTime)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer machine().bound(conn, callTime)()
	over := make(chan struct{})
	defer close(over)
	go func() {
		_, err := io.WriteString(conn, s.first)
		for err == nil && s.rest != "" {
			select {
			case <-over:
				return
			case <-time.After(100 * time.Millisecond):
				_, err = io.WriteString(conn, s.rest)
			}
		}
	}()
	all, err := answers(conn, false)
	got, wrong := a.tally(all)
	if err := errors.Join(err, wrong); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if !strings.Contains("|"+s.want+"|", "|"+got+"|") {
		return fmt.Errorf("%s: got %s, want %s", s.name, got, s.want)
	}
	return nil
}

// atOnce calls all at once, and says once what went wrong and how often.
func (a *attacked) atOnce(t *testing.T, all []func() error) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	wrong := map[string]int{}
	for _, what := range all {
		wg.Go(func() {
			if err := what(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				wrong[err.Error()]++
			}
		})
	}
	wg.Wait()
	for text, times := range wrong {
		t.Errorf("%d of %d: %s", times, len(all), text)
	}
}
