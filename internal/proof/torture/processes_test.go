//go:build unix

package torture_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
)

// Agents that run by themselves, that ask a person and that ask their caller. Each pays from the
// ledger that a refund cannot be taken back from, so that a call which ran twice is there twice.
var killAgents = map[string]string{
	"auto": `
name: auto
model:
  provider: scripted
  turns:
    - given: {step: 1}
      calls:
        - {tool: look, arguments: {order: B-02}}
        - {tool: pay, arguments: {order: B-02, amount: 40}}
        - {tool: pay, arguments: {order: C-30, amount: 10}}
    - given: {step: 2}
      say: Done.
tools:
  - {name: look, description: Looks an order up., go: refund_desk.lookup_order}
  - {name: pay, description: Pays an order back., go: refund_desk.issue_refund}
permissions: {allow: [look, pay]}
`,
	"asks": `
name: asks
model:
  provider: scripted
  turns:
    - given: {step: 1}
      calls:
        - {tool: pay, arguments: {order: A-17, amount: 120}}
        - {tool: look, arguments: {order: A-17}}
    - given: {step: 2}
      calls:
        - {tool: pay, arguments: {order: B-02, amount: 1}}
    - given: {step: 3}
      say: Done.
tools:
  - {name: look, description: Looks an order up., go: refund_desk.lookup_order}
  - {name: pay, description: Pays an order back., go: refund_desk.issue_refund}
permissions: {allow: [look], ask: [pay]}
`,
	"shop": `
name: shop
model:
  provider: scripted
  turns:
    - given: {step: 1}
      calls:
        - {tool: ask_browser, arguments: {question: which}}
        - {tool: pay, arguments: {order: C-30, amount: 5}}
    - given: {step: 2}
      say: Done.
tools:
  - {name: pay, description: Pays an order back., go: refund_desk.issue_refund}
  - name: ask_browser
    description: Asks the caller's program.
    client: true
    parameters: {type: object, properties: {question: {type: string}}, required: [question]}
permissions: {allow: [pay, ask_browser]}
`,
}

// killMargin is how long before the end of all tests, which `go test -timeout` says, these give up:
// a run that is stranded shows as that, with the logs of its processes. How long a run may take on
// a busy machine nobody knows.
const killMargin = 20 * time.Second

func TestKilledAgainAndAgainNothingIsLostAndNothingTwice(t *testing.T) {
	w := newKillWorld(t, 1)
	w.torture(15, 12)
	w.check()
}

func TestTheOtherProcessFinishesTheWorkOfAKilledOne(t *testing.T) {
	w := newKillWorld(t, 2)
	w.last = true
	w.torture(4, 12)
	w.check()
}

// killWorld is one data directory, the processes on it, and what they acknowledged.
type killWorld struct {
	t      *testing.T
	ctx    context.Context
	random *rand.Rand // of whoever kills
	seed   uint64
	binary string
	agents string
	data   string
	last   bool // the last one killed stays dead: the others finish

	mu        sync.Mutex
	alive     []*process
	changed   chan struct{} // closed when a process comes
	starts    []acked
	decisions []ackedDecision
}

// acked is a start that was answered, and the message that followed it.
type acked struct {
	key    string
	req    wire.StartRequest
	run    string
	thread string
	second string // the run that has the message
}

type ackedDecision struct {
	run, kind string
	wire.Decision
}

func newKillWorld(t *testing.T, processes int) *killWorld {
	t.Helper()
	t.Parallel() // both mostly wait
	effort.Long(t, "it builds and kills whole processes")
	ctx, stop := context.WithCancel(t.Context())
	if end, ok := t.Deadline(); ok {
		ctx, stop = context.WithDeadline(t.Context(), end.Add(-killMargin))
	}
	t.Cleanup(stop)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := &killWorld{t: t, ctx: ctx, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), binary: buildForKilling(t),
		agents: t.TempDir(), data: filepath.Join(t.TempDir(), "data"), changed: make(chan struct{})}
	for name, text := range killAgents {
		if err := os.WriteFile(filepath.Join(w.agents, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range processes {
		w.launch()
	}
	t.Cleanup(func() {
		for _, p := range w.alive {
			p.kill()
			if t.Failed() {
				t.Logf("the log of a process that lived to the end:\n%s", p.log.String())
			}
		}
	})
	return w
}

// buildForKilling builds a program whose Go functions keep a ledger, with a short lease: that of a
// killed process must end while another one lives.
var buildForKilling = func() func(*testing.T) string {
	var once sync.Once
	var binary string
	return func(t *testing.T) string {
		t.Helper()
		once.Do(func() {
			dir, err := os.MkdirTemp("", "dormouse-kill")
			if err != nil {
				t.Fatal(err)
			}
			killedBuilds = append(killedBuilds, dir)
			const local = "github.com/dormouse-dev/dormouse/internal/local"
			flags := "-X " + local + ".leaseText=3s -X " + local + ".sweepText=300ms"
			out, err := exec.Command("go", "build", "-ldflags", flags, "-o", filepath.Join(dir, "refund-desk"), "../../../examples/refund-desk").CombinedOutput()
			if err != nil {
				t.Fatalf("building: %v\n%s", err, out)
			}
			binary = filepath.Join(dir, "refund-desk")
		})
		if binary == "" {
			t.Fatal("the program was not built")
		}
		return binary
	}
}()

var killedBuilds []string

func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range killedBuilds {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// process is one life of "dormouse dev".
type process struct {
	cmd  *exec.Cmd
	log  *bytes.Buffer // to be read once it is gone
	api  *client.Client
	gone chan struct{}
}

func (w *killWorld) launch() {
	w.t.Helper()
	p := &process{log: &bytes.Buffer{}, gone: make(chan struct{})}
	p.cmd = exec.Command(w.binary, "dev", "--json", "--addr", "127.0.0.1:0", "--data", w.data, "--agents", w.agents)
	p.cmd.Stderr = p.log
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	var ready struct {
		URL string `json:"url"`
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	go func() {
		_ = p.cmd.Wait()
		close(p.gone)
	}()
	if err := errors.Join(err, json.Unmarshal(line, &ready)); err != nil {
		p.kill()
		w.t.Fatalf("the program does not say where it listens: %v\n%s", err, p.log.String())
	}
	p.api = client.New(ready.URL, client.WithRetries(0))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alive = append(w.alive, p)
	close(w.changed)
	w.changed = make(chan struct{})
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.gone
}

// any is a living process, one or another; it waits for one to come.
func (w *killWorld) any(random *rand.Rand) (*client.Client, error) {
	for {
		w.mu.Lock()
		alive, changed := w.alive, w.changed
		w.mu.Unlock()
		if n := len(alive); n > 0 {
			return alive[random.IntN(n)].api, nil
		}
		select {
		case <-changed:
		case <-w.ctx.Done():
			return nil, w.ctx.Err()
		}
	}
}

// torture lets callers work while processes are killed, and returns when all that was begun is
// done.
func (w *killWorld) torture(kills, callers int) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	for n := range callers {
		wg.Go(func() {
			if err := w.caller(n, over); err != nil {
				w.t.Errorf("caller %d: %v", n, err)
			}
		})
	}
	for n := range kills {
		w.strike(n == kills-1)
	}
	close(over)
	wg.Wait()
}

// strike kills a process at a random moment, which is the point of it, and brings a new one.
func (w *killWorld) strike(last bool) {
	select {
	case <-time.After(time.Duration(w.random.IntN(250)) * time.Millisecond):
	case <-w.ctx.Done():
	}
	w.mu.Lock()
	n := w.random.IntN(len(w.alive))
	victim := w.alive[n]
	w.alive = append(append([]*process{}, w.alive[:n]...), w.alive[n+1:]...)
	w.mu.Unlock()
	victim.kill()
	if strings.Contains(victim.log.String(), "panic") {
		w.t.Errorf("a process panicked:\n%s", victim.log.String())
	}
	if !(last && w.last) {
		w.launch()
	}
}

// caller has conversations until it is over, and finishes the one it has then.
func (w *killWorld) caller(n int, over <-chan struct{}) error {
	random := rand.New(rand.NewPCG(w.seed, uint64(n+1)))
	names := []string{"auto", "asks", "shop"}
	for i := 0; ; i++ {
		a := acked{key: fmt.Sprintf("caller-%d-%d", n, i), req: wire.StartRequest{Agent: names[random.IntN(len(names))]}}
		a.req.Input = json.RawMessage(fmt.Sprintf("%q", a.key+" first"))
		if err := w.converse(random, &a); err != nil {
			return fmt.Errorf("%s (%s): %w", a.key, a.req.Agent, err)
		}
		w.mu.Lock()
		w.starts = append(w.starts, a)
		w.mu.Unlock()
		select {
		case <-over:
			return nil
		default:
		}
	}
}

func (w *killWorld) converse(random *rand.Rand, a *acked) error {
	run, err := again(w, random, func(c *client.Client) (wire.Run, error) { return c.StartRun(w.ctx, a.req, a.key) })
	if err != nil {
		return err
	}
	a.run, a.thread = run.ID, run.ThreadID
	if err := w.finish(random, a.run); err != nil {
		return err
	}
	message := wire.MessageRequest{Input: json.RawMessage(fmt.Sprintf("%q", a.key+" second"))}
	run, err = again(w, random, func(c *client.Client) (wire.Run, error) { return c.SendMessage(w.ctx, a.thread, message, a.key) })
	if err != nil {
		return err
	}
	a.second = run.ID
	return w.finish(random, a.second)
}

// again sends a request until some process answers it. A refusal is an answer.
func again[T any](w *killWorld, random *rand.Rand, send func(*client.Client) (T, error)) (T, error) {
	for {
		api, err := w.any(random)
		if err != nil {
			var none T
			return none, err
		}
		v, err := send(api)
		var refused *client.Error
		if err == nil || errors.As(err, &refused) && !refused.Retryable() {
			return v, err
		}
		if w.ctx.Err() != nil {
			return v, w.ctx.Err()
		}
	}
}

// finish answers whatever the run waits for until it is done.
func (w *killWorld) finish(random *rand.Rand, id string) error {
	for {
		run, err := again(w, random, func(c *client.Client) (wire.Run, error) { return c.PollRun(w.ctx, id, time.Second) })
		if err != nil {
			return fmt.Errorf("run %s: %w", id, err)
		}
		if run.Status == "done" {
			if run.Reason == nil || *run.Reason != "natural_end" {
				return fmt.Errorf("run %s ended: %+v", id, run)
			}
			return nil
		}
		for _, p := range run.Pending {
			if err := w.answer(random, id, p); err != nil {
				return fmt.Errorf("run %s, %s of %s: %w", id, p.Kind, p.Tool, err)
			}
		}
	}
}

func (w *killWorld) answer(random *rand.Rand, run string, p wire.Pending) error {
	d := wire.Decision{Target: p.Suspension.ID, DecisionID: "by-" + p.Suspension.ID}
	switch p.Kind {
	case "approval":
		d.Action = []string{"resume", "resume", "resume", "cancel"}[random.IntN(4)]
	case "client":
		d.Result = json.RawMessage(`{"answer":"this one"}`)
	case "unknown_outcome":
		entry, paid, err := w.paid(run, p.CallID)
		switch {
		case err != nil:
			return err
		case paid > 0:
			d.Result = json.RawMessage(fmt.Sprintf(`{"order":%q,"refunded":%d}`, entry.Order, entry.Amount))
		default:
			d.Action = "resume" // it did not happen: run it
		}
	default:
		return fmt.Errorf("nobody expected this kind")
	}
	if _, err := again(w, random, func(c *client.Client) (wire.DecisionAnswer, error) { return c.Decide(w.ctx, run, d) }); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.decisions = append(w.decisions, ackedDecision{run, p.Kind, d})
	return nil
}

// paid is how often the ledger has a call, whatever the attempt.
func (w *killWorld) paid(run, call string) (found refunddesk.Entry, times int, err error) {
	entries, err := refunddesk.Ledger{Path: filepath.Join(w.data, refunddesk.LedgerFile)}.Entries()
	for _, e := range entries {
		if strings.HasPrefix(e.Key, run+"/"+call+"/") {
			found, times = e, times+1
		}
	}
	return found, times, err
}

// check holds what the last process says against what was acknowledged.
func (w *killWorld) check() {
	w.t.Helper()
	if w.t.Failed() {
		return
	}
	w.t.Logf("%d conversations, %d decisions", len(w.starts), len(w.decisions))
	api := w.alive[0].api
	for _, a := range w.starts {
		w.checkConversation(api, a)
	}
	kinds := map[string]int{}
	for _, d := range w.decisions {
		kinds[d.kind]++
		answer, err := api.Decide(w.ctx, d.run, d.Decision)
		if err != nil || answer.Same == nil || !*answer.Same || answer.Applied == nil || !*answer.Applied {
			w.t.Errorf("a decision on run %s that was acknowledged: %+v, %v", d.run, answer, err)
		}
	}
	w.t.Logf("decisions by kind: %v", kinds)
	w.checkList(api)
	w.checkLedger()
}

func (w *killWorld) checkConversation(api *client.Client, a acked) {
	w.t.Helper()
	run, err := api.StartRun(w.ctx, a.req, a.key)
	if err != nil || run.ID != a.run || run.Status != "done" {
		w.t.Errorf("the start %s again: %+v, %v, want run %s", a.key, run, err, a.run)
	}
	messages, err := client.Collect(api.Messages(w.ctx, a.thread, client.MessageOptions{}))
	if err != nil {
		w.t.Error(err)
		return
	}
	var said []string
	open, closed := map[string]bool{}, map[string]bool{}
	for _, m := range messages {
		if m.Role == "user" {
			said = append(said, m.Text)
		}
		for _, call := range m.ToolCalls {
			if open[call.ID] {
				w.t.Errorf("thread %s: two calls %s", a.thread, call.ID)
			}
			open[call.ID] = true
		}
		if m.Role != "tool" || m.Pending {
			continue
		}
		if !open[m.CallID] || closed[m.CallID] {
			w.t.Errorf("thread %s: a result of %s that has none to come", a.thread, m.CallID)
		}
		closed[m.CallID] = true
		if m.Tool == "pay" {
			_, times, err := w.paid(m.RunID, m.CallID)
			if err != nil || times != 1 && !m.Error || times != 0 && m.Error {
				w.t.Errorf("thread %s: the model was told %q of %s, which is in the ledger %d times (%v)", a.thread, m.Text, m.CallID, times, err)
			}
		}
	}
	if len(open) == 0 || len(open) != len(closed) {
		w.t.Errorf("thread %s: %d calls and %d results", a.thread, len(open), len(closed))
	}
	if got, want := strings.Join(said, ", "), a.key+" first, "+a.key+" second"; got != want {
		w.t.Errorf("thread %s: the user said %q, want %q", a.thread, got, want)
	}
}

// checkList demands that there is nothing but what was started.
func (w *killWorld) checkList(api *client.Client) {
	w.t.Helper()
	wanted := map[string]bool{}
	for _, a := range w.starts {
		wanted[a.run], wanted[a.second] = true, true
	}
	listed := 0
	for cursor := ""; ; {
		page, err := api.RunPage(w.ctx, client.RunFilter{Limit: 100, Cursor: cursor})
		if err != nil {
			w.t.Error(err)
			return
		}
		for _, run := range page.Items {
			listed++
			if !wanted[run.ID] || run.Status != "done" {
				w.t.Errorf("a run nobody started, or that is not done: %+v", run)
			}
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if listed != len(wanted) {
		w.t.Errorf("%d runs are listed, %d were started", listed, len(wanted))
	}
}

func (w *killWorld) checkLedger() {
	w.t.Helper()
	entries, err := refunddesk.Ledger{Path: filepath.Join(w.data, refunddesk.LedgerFile)}.Entries()
	if err != nil || len(entries) == 0 {
		w.t.Fatalf("%d entries, %v", len(entries), err)
	}
	seen := map[string]int{}
	for _, e := range entries {
		call := e.Key[:strings.LastIndexByte(e.Key, '/')]
		if seen[call]++; seen[call] > 1 {
			w.t.Errorf("the refund of %s was paid %d times", call, seen[call])
		}
	}
	w.t.Logf("%d refunds", len(entries))
}
