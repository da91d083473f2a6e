package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/term"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// terminal is a real one: the program has one end, the test the other.
type terminal struct {
	t    *testing.T
	own  *os.File // the test's end
	tty  *os.File // the program's
	mu   sync.Mutex
	said bytes.Buffer // everything that was written to it
	more chan struct{}
	// closed once a command that was started has ended, and everything that it wrote is read
	over chan struct{}
}

func openTerminal(t *testing.T, columns, lines uint16) *terminal {
	t.Helper()
	own, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	var number, unlocked uint32
	ioctl(t, own, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	ioctl(t, own, syscall.TIOCGPTN, unsafe.Pointer(&number))
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	size := [4]uint16{lines, columns}
	ioctl(t, own, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	p := &terminal{t: t, own: own, tty: tty, more: make(chan struct{}, 1), over: make(chan struct{})}
	t.Cleanup(func() { _, _ = own.Close(), tty.Close() })
	go p.listen()
	return p
}

func ioctl(t *testing.T, f *os.File, request uintptr, arg unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
		t.Fatalf("ioctl %#x: %v", request, errno)
	}
}

// endMark is written behind everything that a command writes. It is one byte, so that it is read
// whole.
const endMark = "\x1e"

func (p *terminal) listen() {
	buf := make([]byte, 4096)
	for {
		n, err := p.own.Read(buf)
		p.mu.Lock()
		said, ends := bytes.CutSuffix(buf[:n], []byte(endMark))
		p.said.Write(said)
		p.mu.Unlock()
		if ends {
			close(p.over)
		}
		select {
		case p.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]`)

// screen is what stands on it: everything since it was last written from the top.
func (p *terminal) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.said.String()
	return escapes.ReplaceAllString(all[max(strings.LastIndex(all, "\x1b[H"), 0):], "")
}

func (p *terminal) everything() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// sees waits until all of it stands on the screen.
func (p *terminal) sees(wants ...string) {
	p.t.Helper()
	for _, want := range wants {
		p.until(want, func() bool { return strings.Contains(p.screen(), want) })
	}
}

// until waits for what the program writes to make something true.
func (p *terminal) until(what string, there func() bool) {
	p.t.Helper()
	for !there() {
		select {
		case <-p.more:
		case <-p.over:
			if !there() {
				p.t.Fatalf("the command has ended, and %q did not come to the screen:\n%s", what, p.screen())
			}
		}
	}
}

func (p *terminal) types(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.own, keys); err != nil {
		p.t.Fatal(err)
	}
}

// slowly is a clock that goes on by a second whenever it is read: no two keys are pressed at the
// same time.
func slowly() func() time.Time {
	var mu sync.Mutex
	now := time.Now()
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}

// start runs a command on the terminal; the exit code comes when it has ended.
func (p *terminal) start(ctx context.Context, s *server, env map[string]string, args ...string) <-chan int {
	exit := make(chan int, 1)
	getenv := func(name string) string {
		if name == "DORMOUSE_URL" {
			return s.url
		}
		return env[name]
	}
	go func() {
		code := cli.Main(ctx, args, p.tty, p.tty, p.tty, cmdline.Options{Getenv: getenv, Now: slowly()})
		_, _ = p.tty.WriteString(endMark)
		exit <- code
	}()
	return exit
}

func (p *terminal) state() term.State {
	p.t.Helper()
	now, err := term.GetState(int(p.tty.Fd()))
	if err != nil {
		p.t.Fatal(err)
	}
	return *now
}

func TestInboxOnATerminal(t *testing.T) {
	s, runs := serving(t, map[string]string{"desk": asks})
	run := runs["desk"]
	p := openTerminal(t, 90, 30)
	before := p.state()
	exit := p.start(t.Context(), s, map[string]string{"EDITOR": `sed -i s/50/7/`}, "approvals", "-i")

	p.sees("2 waiting calls", "pay amount=5", "pay amount=50")
	if p.state() == before {
		t.Error("the terminal still waits for whole lines")
	}
	p.types("G")
	p.sees(">")
	p.types("e")
	p.sees("- amount: 50", "+ amount: 7", run.Pending[1].Suspension.ID)
	p.types("y")
	p.sees("approved with edited arguments: "+run.Pending[1].Suspension.ID, "1 waiting call")
	p.types("j")
	p.sees(">")
	p.types("n")
	p.sees("Deny pay", "Reason:")
	p.types("too much\r")
	p.sees("denied: "+run.Pending[0].Suspension.ID, "no waiting calls")
	p.types("q")
	if got := <-exit; got != cmdline.ExitOK {
		t.Errorf("exit code %d", got)
	}
	if p.state() != before {
		t.Error("the terminal is not as it was")
	}
	p.until("the first screen", func() bool { return strings.HasSuffix(strings.TrimRight(p.everything(), "\r\n"), "\x1b[?1049l") })

	done, err := client.New(s.url, client.WithRetries(0)).PollRun(t.Context(), run.ID, 20*time.Second)
	if err != nil || done.Status != "done" {
		t.Fatalf("the run is %s, %v", done.Status, err)
	}
	out := dormouse(t, s, "watch", run.ID, "--json")
	contains(t, out.stdout, `"arguments":{"amount":7}`, `"reason":"too much"`)
}

func TestInboxForgetsWhatAnEditorDidNotRead(t *testing.T) {
	s, runs := serving(t, map[string]string{"desk": asks})
	p := openTerminal(t, 90, 30)
	closed := filepath.Join(t.TempDir(), "closed")
	editor := fmt.Sprintf(`edit() { sed -i s/50/7/ "$1"; echo EDITING; while [ ! -e %s ]; do sleep 0.01; done; }; edit`, closed)
	exit := p.start(t.Context(), s, map[string]string{"EDITOR": editor}, "approvals", "-i")
	p.sees("2 waiting calls")
	p.types("Ge")
	p.sees("EDITING")
	p.types("y")
	p.until("the key that nobody reads", func() bool { return strings.Contains(p.everything(), "EDITING\r\ny") })
	if err := os.WriteFile(closed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.sees("Approve with these edited arguments")
	p.types("z")
	p.sees("Nothing was sent.")
	p.types("qq")
	if got := <-exit; got != cmdline.ExitOK {
		t.Errorf("exit code %d", got)
	}
	run, err := client.New(s.url, client.WithRetries(0)).Run(t.Context(), runs["desk"].ID)
	if err != nil || len(run.Pending) != 2 {
		t.Errorf("%d calls wait, %v", len(run.Pending), err)
	}
}

func TestInboxGivesTheTerminalBackWhenItIsStopped(t *testing.T) {
	s := newServer(t, nil)
	p := openTerminal(t, 80, 24)
	before := p.state()
	ctx, stop := context.WithCancel(t.Context())
	exit := p.start(ctx, s, nil, "approvals", "-i")
	p.sees("Cannot read the inbox")
	stop()
	if got := <-exit; got != cmdline.ExitFailed || p.state() != before {
		t.Errorf("exit code %d, as before: %v", got, p.state() == before)
	}
	p.sees("interrupted")
}

func TestInboxNeedsATerminal(t *testing.T) {
	out := dormouse(t, newServer(t, nil), "approvals", "-i")
	out.wantExit(t, cmdline.ExitUsage)
	contains(t, out.stderr, "needs an interactive terminal", "dormouse approvals", "dormouse decide")
	p := openTerminal(t, 80, 24)
	if got := <-p.start(t.Context(), newServer(t, nil), map[string]string{"TERM": "dumb"}, "approvals", "-i"); got != cmdline.ExitUsage {
		t.Errorf("exit code %d on a dumb terminal", got)
	}
}

func TestListsFitATerminalAndColoursCanBeTurnedOff(t *testing.T) {
	evil := run("waiting", pending("sus_1_a"))
	evil.ID, evil.Agent = "run_2qtfzdef7psnavp54cp3ztfx_0", strings.Repeat("agent", 10)+"\x1b[31m"
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/runs": answer(200, wire.Page[wire.Run]{Items: []wire.Run{evil}})})
	for name, tt := range map[string]struct {
		env     map[string]string
		colours bool
	}{
		"colours":             {nil, true},
		"NO_COLOR":            {map[string]string{"NO_COLOR": "1"}, false},
		"a terminal with few": {map[string]string{"TERM": "dumb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := openTerminal(t, 80, 24)
			if got := <-p.start(t.Context(), s, tt.env, "runs"); got != cmdline.ExitOK {
				t.Fatalf("exit code %d", got)
			}
			p.sees("run_2qtfzdef7psnavp54cp3ztfx_0", "waiting")
			all := p.everything()
			if strings.Contains(all, "\x1b") != tt.colours || strings.Contains(all, "\x1b[31m") {
				t.Errorf("escapes: %q", all)
			}
			for line := range strings.Lines(escapes.ReplaceAllString(all, "")) {
				if n := len([]rune(strings.TrimRight(line, "\r\n"))); n > 80 {
					t.Errorf("a line of %d: %q", n, line)
				}
			}
		})
	}
}

func TestWatchTellsInWordsOnATerminal(t *testing.T) {
	at := wire.Time{Time: time.Date(2026, 11, 21, 2, 28, 44, 0, time.UTC)}
	event := func(kind, data string) wire.Event {
		return wire.Event{Type: kind, Turn: 1, At: at, Data: json.RawMessage(data)}
	}
	s := newServer(t, map[string]http.HandlerFunc{
		readRun: answer(200, run("waiting", pending("sus_1_a"))),
		readRun + "/events": logOf(event("run.status", `{"status":"running"}`), event("text.delta", `{"part_id":"text-1","attempt":"1.0","offset":0,"text":"Let me th"}`), event("step.reset", `{"reason":"repeated"}`), event("reasoning.delta", `{"text":"Hm."}`),
			event("text.delta", `{"text":"I look"}`), event("text.delta", `{"text":" it up.\u001b[2J"}`),
			event("text.ended", `{"text":"I look it up.\u001b[2J"}`), event("call.ready", `{"call_id":"c1","tool_name":"issue_refund","arguments":{"order":"A-17","amount":120}}`),
			event("call.suspended", `{"call_id":"c1","tool_name":"issue_refund","kind":"approval","suspension":{"id":"sus_1_a","message":"Above 100."}}`)),
	})
	p := openTerminal(t, 100, 24)
	if got := <-p.start(t.Context(), s, map[string]string{"NO_COLOR": "1"}, "watch", runID); got != cmdline.ExitOK {
		t.Fatalf("exit code %d", got)
	}
	p.sees("02:28:44  started\r\n", "02:28:44  says: Let me th\r\n02:28:44  the partial answer of the model was discarded\r\n02:28:44  says: I look it up.\\x1b[2J\r\n02:28:44  asks for issue_refund order=A-17 amount=120\r\n",
		"waits for approval of issue_refund", "since 02:28", "Above 100.", "dormouse decide "+runID+" sus_1_a --approve")
	if all := p.everything(); strings.Contains(all, "\x1b") || strings.Count(all, "I look") != 1 {
		t.Errorf("it says %q", all)
	}
}

func TestRunShowsWhatTheModelSaysOnATerminalWhileItSaysSo(t *testing.T) {
	done := run("done")
	reason := "natural_end"
	done.Reason, done.Output = &reason, json.RawMessage(`"I look it up."`)
	event := func(kind, data string) wire.Event {
		return wire.Event{Type: kind, Turn: 1, At: wire.Time{Time: time.Date(2026, 11, 21, 2, 28, 44, 0, time.UTC)}, Data: json.RawMessage(data)}
	}
	s := newServer(t, map[string]http.HandlerFunc{
		"POST /v1/runs": answer(202, run("created")),
		readRun:         answer(200, done),
		readRun + "/events": logOf(event("run.status", `{"status":"running"}`), event("text.delta", `{"text":"I loo"}`), event("step.reset", `{"reason":"repeated"}`),
			event("text.delta", `{"text":"I look it"}`), event("text.delta", `{"text":" up."}`), event("text.ended", `{"text":"I look it up."}`)),
	})
	p := openTerminal(t, 100, 24)
	if got := <-p.start(t.Context(), s, map[string]string{"NO_COLOR": "1"}, "run", "desk", "hi", "--wait"); got != cmdline.ExitOK {
		t.Fatalf("exit code %d", got)
	}
	p.sees("02:28:44  says: I loo\r\n02:28:44  the partial answer of the model was discarded\r\n02:28:44  says: I look it up.\r\n", "done")
	if all := p.everything(); strings.Contains(all, "begins") {
		t.Errorf("it tells more than the text: %q", all)
	}
	if out := dormouse(t, s, "run", "desk", "hi", "--wait"); strings.Contains(out.stdout, "says:") {
		t.Errorf("in a file it says %q", out.stdout)
	}
}
