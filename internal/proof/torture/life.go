package torture

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

// lives are the lives of one server on one data directory, one after the other.
type lives struct {
	command func() *exec.Cmd // dormouse dev --json on the directory, on a free port
	settle  func() error     // returns when what a killed server has asked of its tools is done
	door    *door
	random  *rand.Rand
	every   time.Duration // a life is at most this long

	killed  atomic.Int64
	startup time.Duration // how long the last start took
	panics  []Violation
	now     *life // nil before the first
}

// life is one process.
type life struct {
	cmd  *exec.Cmd
	out  io.Reader
	log  *bytes.Buffer // to be read once it is gone
	gone chan struct{}
}

// startLimit is how long a server may take until it says where it listens.
const startLimit = 30 * time.Second

// begin starts a process and does not wait for it to answer.
func (l *lives) begin() error {
	p := &life{cmd: l.command(), log: &bytes.Buffer{}, gone: make(chan struct{})}
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = out
	if err := p.cmd.Start(); err != nil {
		return err
	}
	l.now = p
	return nil
}

// arrive waits until the process says where it listens, and opens the door there.
func (l *lives) arrive() error {
	began := time.Now()
	p := l.now
	late := time.AfterFunc(startLimit, func() { _ = p.cmd.Process.Kill() })
	line, err := bufio.NewReader(p.out).ReadBytes('\n')
	late.Stop()
	go func() {
		_ = p.cmd.Wait() // that it was killed is no news
		close(p.gone)
	}()
	var ready struct {
		URL string `json:"url"`
	}
	if err := errors.Join(err, json.Unmarshal(line, &ready)); err != nil {
		unsettled := l.end()
		return errors.Join(fmt.Errorf("the server does not say where it listens (%w); its log ends:\n%s", err, tail(p.log.String())), unsettled)
	}
	l.startup = time.Since(began)
	l.door.open(client.New(ready.URL, client.WithHTTPClient(&http.Client{Timeout: requestLimit}), client.WithRetries(0)))
	return nil
}

func tail(log string) string {
	const most = 4 << 10
	log = strings.TrimSpace(log)
	if len(log) > most {
		log = log[len(log)-most:]
	}
	return log
}

// end kills the process, with nothing in between.
func (l *lives) end() error {
	if l.now == nil {
		return nil
	}
	_ = l.now.cmd.Process.Kill()
	<-l.now.gone
	l.door.shut()
	if log := l.now.log.String(); strings.Contains(log, "panic") {
		l.panics = append(l.panics, Violation{Rule: "a server does not panic", Promised: "whatever callers send, it goes on", Found: tail(log)})
	}
	l.now = nil
	return l.settle()
}

// endEarly kills a process that has not arrived.
func (l *lives) endEarly() error {
	_ = l.now.cmd.Process.Kill()
	_ = l.now.cmd.Wait()
	l.now = nil
	return l.settle()
}

// oneInEarly is how often a process is killed while it starts: one time in so many.
const oneInEarly = 8

// torture kills so many times at random moments, some of them in the middle of a start, and leaves
// a server that lives. The error is that ctx ended, or that a server did not come back.
func (l *lives) torture(ctx context.Context, kills int) error {
	for range kills {
		if l.now == nil && l.random.IntN(oneInEarly) == 0 {
			if err := l.begin(); err != nil {
				return err
			}
			if err := errors.Join(machine.Sleep(ctx, l.upTo(l.startup)), l.endEarly()); err != nil {
				return err
			}
			l.killed.Add(1)
			continue
		}
		if err := l.live(); err != nil {
			return err
		}
		if err := errors.Join(machine.Sleep(ctx, l.upTo(l.every)), l.end()); err != nil {
			return err
		}
		l.killed.Add(1)
	}
	return l.live()
}

// live sees to it that a server answers.
func (l *lives) live() error {
	if l.now != nil {
		return nil
	}
	if err := l.begin(); err != nil {
		return err
	}
	return l.arrive()
}

func (l *lives) upTo(most time.Duration) time.Duration {
	return time.Duration(l.random.Int64N(int64(most) + 1))
}
