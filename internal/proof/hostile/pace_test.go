//go:build unix

package hostile

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// beat is how often it is looked at what the processes had of the machine.
const beat = 10 * time.Millisecond

// pace measures time by what the server and its callers had of the machine: of each stretch of
// time, the part of it that they ran where they could have run. Where both have the cores that they
// want it is the wall clock. Where other programs use the cores, or these their own, it is slower,
// so that a limit is about the server.
type pace struct {
	mu     sync.Mutex
	passed time.Duration
	alarms map[*alarm]bool
}

type alarm struct {
	at time.Duration
	f  func()
}

// machine is the pace of all tests of this package.
var machine = sync.OnceValue(func() *pace {
	p := &pace{alarms: map[*alarm]bool{}}
	go p.run()
	return p
})

func (p *pace) run() {
	last := map[string]schedule{}
	for began := time.Now(); ; {
		time.Sleep(beat)
		now := time.Now()
		share := 1.0
		for _, pid := range append(children(), os.Getpid()) {
			share = min(share, had(pid, last))
		}
		for _, f := range p.pass(time.Duration(float64(now.Sub(began)) * share)) {
			f()
		}
		began = now
	}
}

// schedule is how long a thread ran, and how long it waited for a core.
type schedule struct{ ran, waited int64 }

// had is the part of the time since the last look that the threads of a process ran, of that in
// which they could have; 1 if they had nothing to do.
func had(pid int, last map[string]schedule) float64 {
	var ran, waited int64
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, thread := range threads {
		var now schedule
		text, err := os.ReadFile(thread)
		if _, bad := fmt.Sscan(string(text), &now.ran, &now.waited); err != nil || bad != nil {
			continue
		}
		before, known := last[thread]
		if last[thread] = now; known {
			ran, waited = ran+now.ran-before.ran, waited+now.waited-before.waited
		}
	}
	if ran <= 0 || waited <= 0 {
		return 1
	}
	return float64(ran) / float64(ran+waited)
}

var served sync.Map // the processes of the servers that live

func children() (pids []int) {
	served.Range(func(pid, _ any) bool {
		pids = append(pids, pid.(int))
		return true
	})
	return pids
}

// pass moves on and returns what falls due.
func (p *pace) pass(d time.Duration) (due []func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed += d
	for a := range p.alarms {
		if a.at <= p.passed {
			delete(p.alarms, a)
			due = append(due, a.f)
		}
	}
	return due
}

func (p *pace) now() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passed
}

// after calls f when d has passed, unless stop is called before.
func (p *pace) after(d time.Duration, f func()) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &alarm{p.passed + d, f}
	p.alarms[a] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.alarms, a)
	}
}

// bound ends what is read from and written to a connection after d.
func (p *pace) bound(conn net.Conn, d time.Duration) (stop func()) {
	return p.after(d, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
}

// connect dials an address for at most d.
func (p *pace) connect(address string, d time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer p.after(d, cancel)()
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// within is a transport whose requests, answers included, take at most so long.
type within struct {
	http.RoundTripper
	limit time.Duration
}

func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := machine().after(w.limit, func() { cancel(context.DeadlineExceeded) })
	resp, err := w.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		stop()
		cancel(nil)
		return nil, err
	}
	resp.Body = &bounded{resp.Body, func() { stop(); cancel(nil) }}
	return resp, nil
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] looks for.
func (w within) CloseIdleConnections() {
	if c, ok := w.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// bounded is a body whose time ends with it.
type bounded struct {
	io.ReadCloser
	over func()
}

func (b *bounded) Close() error {
	defer b.over()
	return b.ReadCloser.Close()
}
