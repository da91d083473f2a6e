package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/narrate"
)

const (
	refreshEvery = 2 * time.Second
	requestTime  = 15 * time.Second
	inboxPages   = 5 // of a hundred calls: more than a person walks through
)

// Escape sequences for the start and the end: the alternate screen without a cursor, and bracketed
// paste.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[H\x1b[2J"
	leaveScreen = "\x1b[?2004l\x1b[?25h\x1b[?1049l"
)

// walkInbox runs the interactive inbox for the calls that match the filters of list. It always
// restores the terminal.
func (a *app) walkInbox(ctx context.Context, c *client.Client, list client.ApprovalFilter) error {
	in, isFile := a.Stdin.(*os.File)
	s := display.ScreenOf(a.Stdout, a.Opts.Getenv)
	switch {
	case a.JSON:
		return cmdline.Usagef("-i and --json can't be combined; remove one of them")
	case !isFile || !term.IsTerminal(int(in.Fd())) || !s.Terminal || s.Dumb:
		return cmdline.Usagef("-i needs an interactive terminal; use %s to list calls, and dormouse decide to decide them", a.Command("approvals"))
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM)
	defer stop()
	w := &walker{c: c, list: list, out: a.Stdout, colour: s.Colour, now: a.Opts.Now, read: in.Read, editor: a.editor(in), inbox: inbox{program: a.Typed()}}
	w.size = func() (int, int) {
		now := display.ScreenOf(a.Stdout, a.Opts.Getenv)
		return now.Width, now.Height
	}
	var before *term.State
	w.raw = func() error {
		now, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return err
		}
		if before == nil { // later it may be a state that an editor left
			before = now
		}
		return a.Print(enterScreen)
	}
	w.restore = func() error {
		return errors.Join(a.Print(leaveScreen), term.Restore(int(in.Fd()), before))
	}
	w.flush = func() { forgetTyped(in) }
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	w.tick = ticker.C
	return w.walk(ctx)
}

// walker runs an inbox: it reads keys, sends requests for the inbox, and draws it.
type walker struct {
	c       *client.Client
	list    client.ApprovalFilter // its filters say which calls are shown
	out     io.Writer
	colour  bool
	now     func() time.Time
	read    func([]byte) (int, error)
	size    func() (width, height int)
	raw     func() error // takes the terminal
	restore func() error // gives it back
	flush   func()       // forgets what was typed and not yet read, where that can be done
	editor  func(context.Context, json.RawMessage) (json.RawMessage, error)
	tick    <-chan time.Time

	inbox inbox
	board keyboard
	typed chan []byte
	news  chan func(*inbox)
}

// walk runs until the person quits or ctx ends.
func (w *walker) walk(ctx context.Context) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := w.raw(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.restore()) }() // also in a panic
	w.typed, w.news = make(chan []byte), make(chan func(*inbox))
	failed := make(chan error, 1)
	again := make(chan struct{}, 1)
	go w.readKeys(ctx, again, failed)
	again <- struct{}{}
	w.reload(ctx)
	for {
		w.inbox.now = w.now()
		w.inbox.resize(w.size())
		if err := w.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case <-w.tick:
			w.reload(ctx)
		case told := <-w.news:
			told(&w.inbox)
		case sent := <-w.typed:
			if leave, err := w.keys(ctx, sent); leave || err != nil {
				return err
			}
			again <- struct{}{}
		}
	}
}

// keys handles typed keys. It drops keys typed after the one that opens the editor: they were not
// meant for the screen that follows it.
func (w *walker) keys(ctx context.Context, sent []byte) (leave bool, err error) {
	for _, k := range w.board.read(sent) {
		what := w.inbox.press(k, w.now())
		if leave, err := w.do(ctx, what); leave || err != nil || what == editItem {
			return leave, err
		}
	}
	return false, nil
}

// readKeys reads once for each signal on again. While an editor has the terminal, nothing else
// reads from it.
func (w *walker) readKeys(ctx context.Context, again <-chan struct{}, failed chan<- error) {
	for {
		select {
		case <-again:
		case <-ctx.Done():
			return
		}
		buf := make([]byte, 1024)
		n, err := w.read(buf)
		if err != nil {
			failed <- fmt.Errorf("reading the keyboard: %w", err)
			return
		}
		select {
		case w.typed <- buf[:n]:
		case <-ctx.Done():
			return
		}
	}
}

// do executes what the inbox wants. Requests run in the background; their results are news.
func (w *walker) do(ctx context.Context, what want) (leave bool, err error) {
	item, draft := w.inbox.item, w.inbox.draft
	switch what {
	case quit:
		return true, nil
	case reload:
		w.reload(ctx)
	case sendDraft:
		w.ask(ctx, func(ctx context.Context) func(*inbox) {
			answer, err := w.send(ctx, item, draft)
			return func(m *inbox) { m.sent(answer, err) }
		})
	case readEvents:
		w.ask(ctx, func(ctx context.Context) func(*inbox) {
			lines, err := w.events(ctx, item.RunID)
			return func(m *inbox) { m.showEvents(item.Suspension.ID, lines, err) }
		})
	case editItem:
		return false, w.edit(ctx, item)
	}
	return false, nil
}

func (w *walker) ask(ctx context.Context, request func(context.Context) func(*inbox)) {
	go func() {
		limited, stop := context.WithTimeout(ctx, requestTime)
		defer stop()
		told := request(limited)
		select {
		case w.news <- told:
		case <-ctx.Done():
		}
	}()
}

func (w *walker) reload(ctx context.Context) {
	w.ask(ctx, func(ctx context.Context) func(*inbox) {
		var items []wire.Approval
		list := w.list
		list.Limit, list.Cursor = 100, ""
		for range inboxPages {
			page, err := w.c.ApprovalPage(ctx, list)
			if err != nil {
				return func(m *inbox) {
					m.notice = display.Line{{Style: display.Red, Text: "Cannot read the inbox: " + display.OneLine(err.Error())}}
				}
			}
			items = append(items, page.Items...)
			if list.Cursor = page.Next; list.Cursor == "" {
				break
			}
		}
		readable := slices.DeleteFunc(slices.Clone(items), func(a wire.Approval) bool { return a.Error != nil })
		return func(m *inbox) {
			m.news(readable, list.Cursor != "")
			if n := len(items) - len(readable); n > 0 {
				m.notice = display.Line{{Style: display.Red, Text: "Cannot read " + display.Counted(n, "waiting run") + "; run " + m.program + " approvals for details"}}
			}
		}
	})
}

// send sends the decision on the item. A paused run has no call to decide; it is resumed, if the
// pause is still the one that was shown.
func (w *walker) send(ctx context.Context, item wire.Approval, d wire.Decision) (wire.DecisionAnswer, error) {
	if item.Kind != "interrupt" {
		return w.c.Decide(ctx, item.RunID, d)
	}
	run, err := w.c.Run(ctx, item.RunID)
	if err != nil {
		return wire.DecisionAnswer{}, err
	}
	for _, p := range run.Pending {
		if p.Suspension.ID == d.Target {
			return w.c.Resume(ctx, item.RunID, wire.ResumeRequest{DecisionID: d.Target})
		}
	}
	return wire.DecisionAnswer{}, &client.Error{Status: 409, Code: "not_waiting", Detail: "the run is no longer paused"}
}

// events describes what a run did so far.
func (w *walker) events(ctx context.Context, run string) (lines []display.Line, err error) {
	tale := narrate.NewTale(w.now)
	for after := ""; ; {
		page, err := w.c.EventPage(ctx, run, client.EventQuery{After: after, Limit: narrate.EventPage})
		if err != nil {
			return nil, err
		}
		for _, e := range page.Items {
			at := e.At.UTC().Format(time.TimeOnly)
			for _, l := range tale.Tell(e) {
				lines = append(lines, append(display.Line{{Style: display.Faint, Text: fmt.Sprintf("%-*s", display.Margin, at)}}, l...))
				at = ""
			}
		}
		if after = page.Next; len(page.Items) == 0 || page.Done {
			return lines, nil
		}
	}
}

func (w *walker) edit(ctx context.Context, item wire.Approval) error {
	if err := w.restore(); err != nil {
		return err
	}
	edited, err := w.editor(ctx, item.Arguments)
	w.flush() // input that the editor did not read is not a decision
	w.board = keyboard{}
	if err := w.raw(); err != nil {
		return err
	}
	w.inbox.changed(edited, err)
	return nil
}

// draw overwrites the screen line by line, so that nothing flickers.
func (w *walker) draw() error {
	lines := w.inbox.view()
	if h := w.inbox.height; h > 0 && len(lines) > h {
		lines = lines[len(lines)-h:]
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(l.Render(w.colour) + "\x1b[K")
	}
	b.WriteString("\x1b[J")
	if _, err := io.WriteString(w.out, b.String()); err != nil {
		return err
	}
	w.inbox.drawn(w.now())
	return nil
}
