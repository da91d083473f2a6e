package enginetest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// TortureStore is a store that is its own queue, as the torture needs it. Deliveries must be hidden
// for less than a second, and handed over as often as it takes.
type TortureStore interface {
	Store
	engine.Waker
	engine.Receiver
}

// Torture is how many processes work on one store, and how often one of them is killed.
//
// Each writes down what the store has answered before it goes on. In the end everything that was
// answered must be there, once, and nothing may have gone back. Seed decides what the processes do
// and which one is killed after how long. How the operating system schedules them it does not
// decide, so a failure need not come again with the same seed.
type Torture struct {
	Processes int
	Kills     int
	Seed      uint64

	// Process makes the command of a process that opens the store and calls [TortureWork.Run].
	Process func(w TortureWork) *exec.Cmd

	// Open opens the same store in this process, when all others are dead.
	Open func(t *testing.T) TortureStore
}

// TortureWork is the task of one process. It has a JSON form, so that it can be passed as text.
type TortureWork struct {
	Log    string `json:"log"` // file that it writes down in what it was answered; it makes it
	Worker int    `json:"worker"`
	Life   int    `json:"life"` // of the worker, from 1
	Seed   uint64 `json:"seed"`
}

// mostLife is how long a process lives at most before the next one of them is killed.
const mostLife = time.Second

// Run lets processes work and die, and checks what is left.
func (o Torture) Run(t *testing.T) {
	t.Helper()
	t.Logf("seed %d; what the operating system does is not repeatable", o.Seed)
	logs := t.TempDir()
	o.strike(t, logs)
	found := readLogs(t, logs)
	c := tortureCheck{storeTest: &storeTest{T: t, store: o.Open(t)}, told: found}
	c.queue = c.store.(TortureStore)
	c.run()
	t.Logf("%d kills, %d starts, %d claims, %d commits, %d signals, %d messages in the queue", o.Kills, len(found.of(toldStart)),
		len(found.of(toldClaim)), len(found.of(toldCommit)), len(found.of(toldSignal)), len(found.of(toldSent)))
}

// strike starts the processes, kills and restarts them one after the other, and kills all of them
// at the end.
func (o Torture) strike(t *testing.T, logs string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	lives := make([]*tortured, o.Processes)
	for i := range lives {
		lives[i] = o.start(t, logs, i, 1)
	}
	defer func() {
		for _, p := range lives {
			p.kill(t)
		}
	}()
	for range o.Kills {
		select {
		// the moment is the point of it
		case <-time.After(time.Duration(rng.Int64N(int64(mostLife)))):
		case <-t.Context().Done():
			return
		}
		i := rng.IntN(len(lives))
		lives[i].kill(t)
		lives[i] = o.start(t, logs, i, lives[i].work.Life+1)
	}
	select {
	case <-time.After(mostLife):
	case <-t.Context().Done():
	}
}

// tortured is one process.
type tortured struct {
	work   TortureWork
	cmd    *exec.Cmd
	stderr *bytes.Buffer
	dead   bool
}

func (o Torture) start(t *testing.T, logs string, worker, life int) *tortured {
	t.Helper()
	w := TortureWork{Worker: worker, Life: life, Seed: o.Seed, Log: filepath.Join(logs, numbered(numbered("w", worker)+"-", life))}
	p := &tortured{work: w, cmd: o.Process(w), stderr: &bytes.Buffer{}}
	p.cmd.Stderr = p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// kill ends the process at once. The test fails if the process had already exited.
func (p *tortured) kill(t *testing.T) {
	t.Helper()
	if p.dead {
		return
	}
	p.dead = true
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	if p.cmd.ProcessState.Exited() {
		t.Errorf("worker %d ended by itself in its life %d: %s\n%s", p.work.Worker, p.work.Life, p.cmd.ProcessState, p.stderr)
	}
}

// told is one line of a log: an answer of the store, or what a worker is about to do.
type told struct {
	What   string `json:"what"`
	By     string `json:"by"` // worker, life and hand
	Thread string `json:"thread,omitempty"`
	Run    string `json:"run,omitempty"`
	// of a signal, an input or a message; unique
	ID    string   `json:"id,omitempty"`
	Key   string   `json:"key,omitempty"` // under which it was started, or in the inbox
	Head  position `json:"head,omitzero"`
	Stamp int64    `json:"w,omitempty"`
	Text  string   `json:"text,omitempty"`
}

// What lines tell.
const (
	toldStart   = "started"   // a run, with an input
	toldTaken   = "key taken" // by another run
	toldClaim   = "claimed"
	toldCommit  = "committed" // a segment
	toldSignal  = "signalled"
	toldRefused = "signal refused"
	toldSent    = "sent"   // to the queue
	toldAcking  = "acking" // about to
	toldAcked   = "acked"  // out of the queue
	toldHead    = "seen"   // a head
	toldBroken  = "broken" // a rule
)

// position is what never goes back in a head.
type position struct {
	Epoch int64 `json:"epoch"`
	Rev   int64 `json:"rev"`
	Seq   int64 `json:"seq"`
	Sigs  int64 `json:"sigs"`
}

func (p position) behind(q position) bool {
	return p.Epoch < q.Epoch || p.Rev < q.Rev || p.Seq < q.Seq || p.Sigs < q.Sigs
}

// toldAll is every line of every log, by what it tells.
type toldAll map[string][]told

func (a toldAll) of(what string) []told { return a[what] }

// readLogs reads what the processes wrote down. A last line without its end was not written.
func readLogs(t *testing.T, dir string) toldAll {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := toldAll{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		whole := text[:bytes.LastIndexByte(text, '\n')+1]
		lines := bufio.NewScanner(strings.NewReader(string(whole)))
		for lines.Scan() {
			var line told
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Fatalf("%s: %v", file.Name(), err)
			}
			all[line.What] = append(all[line.What], line)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
