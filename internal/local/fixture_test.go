package local

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// paying is an agent that calls its one tool; further tools, and the permissions, are put behind
// it.
const paying = `
name: desk
model:
  provider: scripted
  turns:
    - given: {no_result: true}
      calls:
        - {tool: pay, arguments: {amount: 5}}
    - given: {tool: pay}
      say: Done.
tools:
  - {name: pay, description: Pays., go: pay}
`

// desk is an agent with one tool; what a test says of the tool's permission is put behind it.
const desk = paying + "permissions:\n"

const (
	allowed = desk + "  allow: [pay]\n"
	asked   = desk + "  ask: [pay]\n"
	denied  = desk + "  deny: [pay]\n"
)

// rig is a data directory and an agents directory, with what runs on them.
type rig struct {
	t            *testing.T
	data, agents string
	tools        *tool.Registry
	hooks        *hook.Registry
	policy       string
	log          *lines
}

type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func (l *lines) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Reset()
}

// await returns once something was logged.
func (l *lines) await(t *testing.T, what string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(l.text(), what); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%q is not logged", what)
		}
	}
}

func newRig(t *testing.T, pay func(context.Context) error) *rig {
	t.Helper()
	r := &rig{t: t, data: filepath.Join(t.TempDir(), "data"), agents: t.TempDir(), tools: tool.NewRegistry(nil), hooks: hook.NewRegistry(), log: &lines{}}
	type amount struct {
		Amount int `json:"amount"`
	}
	err := r.tools.Register(tool.Func("pay", "Pays.", func(ctx context.Context, _ tool.Call, _ amount) (any, error) {
		return "paid", pay(ctx)
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(r.log.all.String())
		}
	})
	return r
}

// countingRig counts how often its tool was run.
func countingRig(t *testing.T) (*rig, *atomic.Int64) {
	t.Helper()
	var paid atomic.Int64
	return newRig(t, func(context.Context) error {
		paid.Add(1)
		return nil
	}), &paid
}

// asleep is a run that waits for an approval in data that nobody serves any more.
func (r *rig) asleep() wire.Run {
	r.t.Helper()
	r.deploy(asked)
	s := r.start()
	run := s.await(r.t, s.begin(r.t).ID, "waiting")
	s.end(r.t)
	return run
}

func (r *rig) options() Options {
	return Options{Addr: "127.0.0.1:0", Data: r.data, Agents: r.agents, Policy: r.policy, Tools: r.tools, Hooks: r.hooks, Version: "test",
		Logger: slog.New(slog.NewTextHandler(r.log, nil))}
}

func (r *rig) deploy(text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.agents, "desk.yaml"), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// running is one life of the runtime.
type running struct {
	*Server
	*client.Client
	stop context.CancelFunc
}

func (r *rig) start() running {
	r.t.Helper()
	return r.startWith(r.options())
}

func (r *rig) startWith(o Options) running {
	r.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(r.t.Context()))
	s, err := Start(ctx, o)
	if err != nil {
		stop()
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		stop()
		if err := s.Wait(); err != nil {
			r.t.Error(err)
		}
	})
	return running{s, client.New("http://"+s.Addr(), client.WithRetries(0)), stop}
}

// end asks it to stop and waits until it has.
func (s running) end(t *testing.T) {
	t.Helper()
	s.stop()
	if err := s.Wait(); err != nil {
		t.Fatal(err)
	}
}

func (s running) begin(t *testing.T) wire.Run {
	t.Helper()
	run, err := s.StartRun(t.Context(), wire.StartRequest{Agent: "desk", Input: []byte(`"pay"`)}, "")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// await reads the run once it has the status. Each read is held by the server until the run waits
// or is done.
func (s running) await(t *testing.T, id, status string) wire.Run {
	t.Helper()
	for {
		run, err := s.PollRun(t.Context(), id, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if run.Status == status {
			return run
		}
		if run.Status == "done" { // and stays so
			t.Fatalf("run %s does not get %s: %+v", id, status, run)
		}
	}
}

// store opens the data as another process would.
func (r *rig) store() *sqlite.DB {
	r.t.Helper()
	if err := os.MkdirAll(r.data, 0o700); err != nil {
		r.t.Fatal(err)
	}
	db, err := sqlite.Open(r.t.Context(), filepath.Join(r.data, "dormouse.db"), sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { db.Close() })
	return db
}

// rawStore opens the file without what keeps it right.
func (r *rig) rawStore() *sql.DB {
	r.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(r.data, "dormouse.db"))
	if err != nil {
		r.t.Fatal(err)
	}
	return db
}

func head(t *testing.T, db *sqlite.DB, thread string) core.Head {
	t.Helper()
	h, err := db.Load(t.Context(), access.Tenant, thread)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
