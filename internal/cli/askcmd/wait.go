package askcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

func (a *app) ask(ctx context.Context, req wire.AskRequest, key string, wait bool) error {
	c, err := a.Connect()
	if err != nil {
		return err
	}
	asked, err := a.start(ctx, c, req, cmp.Or(key, "ask-"+machine.Random{}.Text(24)))
	if err != nil {
		return err
	}
	switch {
	case wait:
		a.say("asked; to answer: %s (or --deny). Waiting.", a.Command("decide "+asked.ID+" --approve"))
		return a.wait(ctx, c, asked.ID)
	case a.JSON:
		return a.PrintJSON(asked)
	}
	return a.Table([][]string{{"ask", asked.ID}, {"to answer", a.Command("decide " + asked.ID + " --approve")}, {"to wait", a.resuming(asked.ID)}})
}

// attempts is how often the question is sent while its answers are lost.
const attempts = 5

// start asks once, however often it is sent. A server that the first attempt can't reach was asked
// nothing. After any other failure without an answer it may have been asked, so the key is named.
func (a *app) start(ctx context.Context, c *client.Client, req wire.AskRequest, key string) (wire.Ask, error) {
	for attempt := 1; ; attempt++ {
		asked, err := c.Ask(ctx, req, key)
		refused, isRefusal := errors.AsType[*client.Error](err)
		_, isKey := errors.AsType[*client.KeyError](err)
		dial, isDial := errors.AsType[*net.OpError](err)
		isDial = isDial && dial.Op == "dial"
		switch {
		case err == nil:
			return asked, nil
		case isKey, isRefusal && !refused.Unanswered(), isDial && attempt == 1:
			return asked, a.unanswered(err)
		case isDial, ctx.Err() != nil, attempt == attempts:
			f := a.unanswered(err)
			f.Detail += "; it may have been asked: repeat the command with --key " + key
			return asked, f
		}
		_ = machine.Sleep(ctx, again)
	}
}

// say tells a person how far the command is. Standard output has the answer alone.
func (a *app) say(format string, args ...any) {
	if !a.JSON {
		fmt.Fprintln(a.Stderr, a.Name()+": "+display.CleanLines(fmt.Sprintf(format, args...)))
	}
}

func (a *app) resuming(id string) string { return a.Command("ask --resume " + id) }

func (a *app) resume(ctx context.Context, id string) error {
	c, err := a.Connect()
	if err != nil {
		return err
	}
	return a.wait(ctx, c, id)
}

// again is the pause after a server did not answer.
const again = 2 * time.Second

// wait waits for the answer, however often the server is away meanwhile.
func (a *app) wait(ctx context.Context, c *client.Client, id string) error {
	for told := false; ; {
		asked, err := c.WaitAsk(ctx, id)
		switch refused, ok := errors.AsType[*client.Error](err); {
		case err == nil:
			return a.answered(asked)
		case ctx.Err() != nil:
			return cmdline.Fail(cmdline.ExitUnanswered, "interrupted", "interrupted; the question stays open. To wait again: "+a.resuming(id))
		case ok && !refused.Unanswered():
			return a.unanswered(err)
		}
		if !told {
			a.Warn("unreachable", "the server doesn't answer now; still waiting")
			told = true
		}
		_ = machine.Sleep(ctx, again) // if ctx ended, the next attempt says so
	}
}

// unanswered is the failure of a command that has no answer. Its exit code is not that of a no.
func (a *app) unanswered(err error) *cmdline.Failure {
	f := *a.Failure(err)
	if f.Exit == cmdline.ExitFailed {
		f.Exit = cmdline.ExitUnanswered
	}
	return &f
}

// answered prints the answer and makes the exit code of it.
func (a *app) answered(asked wire.Ask) error {
	if a.JSON {
		if err := a.PrintJSON(asked); err != nil {
			return a.unanswered(err)
		}
	} else if err := a.Table(rows(asked)); err != nil {
		return a.unanswered(err)
	}
	why := asked.Status + display.After(" by ", asked.DecidedBy) + display.After(": ", asked.Reason)
	switch {
	case asked.Status == wire.AskDenied:
		return cmdline.Fail(cmdline.ExitFailed, asked.Status, why)
	case asked.Status != wire.AskApproved:
		return cmdline.Fail(cmdline.ExitUnanswered, asked.Status, "no answer: "+why)
	case asked.Asked != nil && !a.JSON:
		return cmdline.Fail(cmdline.ExitUnanswered, "edited", "approved with other arguments than you sent; use --json to read them")
	}
	return nil
}

func rows(asked wire.Ask) [][]string {
	rows := [][]string{{"ask", asked.ID}, {"status", asked.Status}}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, display.Spelled(value)})
		}
	}
	add("by", asked.DecidedBy)
	add("via", asked.Via)
	add("reason", asked.Reason)
	if asked.Asked != nil {
		add("arguments", string(asked.Arguments))
	}
	return rows
}
