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
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// MostText is how much of an effect's text the model is shown, in bytes.
const MostText = 8 << 10

// EffectRequest is a call that succeeded.
type EffectRequest struct {
	Tenant, Thread, Run string
	Call                core.ToolCall // with the arguments that ran
	Result              string
	State               *engine.Pad
}

// EffectFunc is an effect as a Go function. Its text is shown to the model behind the result; ""
// for nothing. It may be called twice for one call, after a crash. An error is journaled and
// neither the call nor the run fails for it.
type EffectFunc func(ctx context.Context, req EffectRequest) (text string, err error)

// Spec is one effect of a definition, with what it needs to run here.
type Spec struct {
	Name    string
	Follows func(tool string) bool // whether it follows calls of the tool

	// Func is the effect itself if it is a Go function; else it is Command.
	Func EffectFunc

	// Command is a program and its arguments, run in Workspace. No shell reads it.
	Command   []string
	Workspace string

	// Detect are the kinds of commands that are looked for in Workspace each time, in place of
	// Command; see [Detect].
	Detect []string

	// Refuses is why a program may not run, and becomes the error of the effect; empty if it
	// may run. Nil refuses none.
	Refuses func(program string) string

	// Files are the paths that a call's arguments name, relative to Workspace; they are put
	// behind the command. Nil if the command takes none.
	Files func(arguments json.RawMessage) []string

	Clock   engine.Clock
	Timeout time.Duration // of a command; 30 s if zero

	// Hidden are the secrets of this process. They are taken out of the effect's text and of
	// its errors. Nil for none.
	Hidden func() secret.Values
}

// Effect is the hook that runs an effect after the results of tools: of calls that succeeded, and
// no others.
//
// A command that finds nothing to do does nothing and says nothing: its program is not on this
// machine, its workspace is not there, or the call names no file in it. A path that leads out of
// the workspace is an error and nothing is run. What the command prints is its text, whatever its
// exit code, and of a formatter nothing; it has no input, and ends with its process group when ctx
// or its time does. Of this process it has the user, but neither the environment, other than PATH
// and HOME, nor open files.
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
	if err != nil { // of one of several commands
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

// withoutSecrets is an error whose text can be journaled. That of a context that ended stays what
// it is: it says who ended it.
func (e effect) withoutSecrets(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if shown := e.hidden().Redact(err.Error()); shown != err.Error() {
		return errors.New(shown)
	}
	return err
}

// text is what the effect says, and whether that is all of it. With several commands there may be a
// text and an error.
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

// detected runs what the workspace has: the formatter says nothing, and what the linter says is
// shown with its name.
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

// run executes a command for as long as it may take.
func (e effect) run(ctx context.Context, argv []string) (text string, whole bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer e.Clock.AfterFunc(e.Timeout, func() { cancel(errTimeout) })()
	text, whole, err = execute(ctx, e.Workspace, argv)
	if errors.Is(err, errTimeout) {
		err = fmt.Errorf("%s did not end within %s", argv[0], e.Timeout)
	}
	return text, whole, err
}

var errTimeout = errors.New("hook: the time of the command is over")

const cut = "\n[cut off]"

// tidy makes text fit to be shown.
func tidy(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= MostText {
		return text
	}
	return clip.Bytes(text, MostText-len(cut), cut)
}
