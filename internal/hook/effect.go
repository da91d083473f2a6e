package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// MostText limits how much of an effect's text the model sees, in bytes.
const MostText = 8 << 10

// EffectRequest is a successful call.
type EffectRequest struct {
	Tenant, Thread, Run string
	Call                core.ToolCall // with the arguments that the tool ran with
	Result              string
	State               *pad.Pad
}

// EffectFunc is an effect as a Go function. The model sees its text after the result; an empty text
// adds nothing. After a crash it may be called twice for one call. An error is journaled and fails
// neither the call nor the run.
type EffectFunc func(ctx context.Context, req EffectRequest) (text string, err error)

// Spec is one effect of a definition, with its dependencies.
type Spec struct {
	Name    string
	Follows func(tool string) bool // reports whether it follows calls of the tool

	// Func is the effect if it is a Go function; otherwise it is Command.
	Func EffectFunc

	// Command is a program and its arguments, run in Workspace without a shell.
	Command   []string
	Workspace string

	// Detect lists the kinds of commands to detect in Workspace each time, instead of Command;
	// see [Detect].
	Detect []string

	// Refuses returns why a program must not run, as the error of the effect, or an empty text
	// if it may run. Nil allows all.
	Refuses func(program string) string

	// Files returns the paths in a call's arguments, relative to Workspace, which are appended
	// to the command. Nil if the command takes none.
	Files func(arguments json.RawMessage) []string

	Clock   engine.Clock
	Timeout time.Duration // of a command; 30 s if zero

	// Hidden returns the secrets of this process, which are removed from the effect's text and
	// errors. Nil for none.
	Hidden func() secret.Values
}

// Effect returns the hook that runs an effect after the results of successful calls.
//
// A command does nothing if its program does not exist on this machine, if its workspace is
// missing, or if the call names no file in it. A path outside the workspace is an error and nothing
// runs. The output of the command is its text, with any exit code; the output of a formatter is
// dropped. A command has no input, and ends with its process group when ctx ends or its time is up.
// It runs as the user of this process, but with no environment except PATH and HOME, and without
// open files.
func Effect(s Spec) engine.Hook {
	if s.Timeout <= 0 {
		s.Timeout = 30 * time.Second
	}
	return effect{s}
}

type effect struct{ Spec }

var _ engine.AfterToolHook = effect{}

func (e effect) Name() string { return "effect " + e.Spec.Name }

// AfterToolExecute implements [engine.AfterToolHook].
func (e effect) AfterToolExecute(ctx context.Context, req engine.HookRequest, call core.ToolCall, out core.Outcome) (core.Effects, error) {
	if out.Status() != core.CallSucceeded || !e.Follows(call.Name) {
		return core.Effects{}, nil
	}
	text, whole, err := e.text(ctx, EffectRequest{Tenant: req.Tenant, Thread: req.Thread, Run: req.Run, Call: call, Result: out.Text, State: req.State})
	if err != nil {
		err = e.withoutSecrets(ctx, err)
	}
	if err != nil && text == "" {
		return core.Effects{}, err
	}
	values := e.hidden()
	if !whole {
		text = values.CutEnd(text)
	}
	shown := core.Effects{Append: tidy(values.Redact(text))}
	if err != nil { // one of several commands failed
		shown.Notes = []string{fmt.Sprintf("hook %s, %s: %v", e.Name(), core.AfterToolExecute, err)}
	}
	return shown, nil
}

func (e effect) hidden() secret.Values {
	if e.Hidden == nil {
		return nil
	}
	return e.Hidden()
}

// withoutSecrets returns an error whose text can be journaled. The error of an ended context stays
// as it is, because it says who ended it.
func (e effect) withoutSecrets(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if shown := e.hidden().Redact(err.Error()); shown != err.Error() {
		return errors.New(shown)
	}
	return err
}

// text returns the text of the effect, and whether it is complete. With several commands there may
// be a text and an error.
func (e effect) text(ctx context.Context, req EffectRequest) (text string, whole bool, err error) {
	if e.Func != nil {
		text, err = e.Func(ctx, req)
		return text, true, err
	}
	if len(e.Detect) > 0 {
		return e.detected(ctx)
	}
	if len(e.Command) > 0 {
		if err := e.refused(e.Command[0]); err != nil {
			return "", true, err
		}
	}
	argv, err := e.argv(req.Call)
	if err != nil || len(argv) == 0 {
		return "", true, err
	}
	return e.run(ctx, argv)
}

// detected runs the commands of the workspace: the formatter's output is dropped, and the linter's
// is shown with its name.
func (e effect) detected(ctx context.Context) (text string, whole bool, err error) {
	var wrong []error
	whole = true
	for _, d := range Detect(e.Workspace, e.Detect) {
		program, ok := lookUp(e.Workspace, d.Argv[0])
		if !ok {
			continue
		}
		if err := e.refused(d.Argv[0]); err != nil {
			wrong = append(wrong, err)
			continue
		}
		said, all, err := e.run(ctx, append([]string{program}, d.Argv[1:]...))
		wrong = append(wrong, err)
		if said = strings.TrimSpace(said); err == nil && d.Kind == Lint && said != "" {
			text, whole = d.Kind+" ("+d.String()+"):\n"+said, all
		}
	}
	return text, whole, errors.Join(wrong...)
}

// refused is the error of a command that a rule forbids.
func (e effect) refused(program string) error {
	if e.Refuses == nil {
		return nil
	}
	if why := e.Refuses(program); why != "" {
		return fmt.Errorf("the command %s was not run: %s", program, why)
	}
	return nil
}

// run executes a command within its time limit.
func (e effect) run(ctx context.Context, argv []string) (text string, whole bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer e.Clock.AfterFunc(e.Timeout, func() { cancel(errTimeout) })()
	text, whole, err = execute(ctx, e.Workspace, argv)
	if errors.Is(err, errTimeout) {
		err = fmt.Errorf("%s did not finish within %s", argv[0], e.Timeout)
	}
	return text, whole, err
}

var errTimeout = errors.New("hook: the command exceeded its time limit")

const cut = "\n[cut off]"

// tidy prepares text to be shown.
func tidy(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= MostText {
		return text
	}
	return clip.Bytes(text, MostText-len(cut), cut)
}
