package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
)

// stopped is a clock whose timers fire when the test says so.
type stopped struct{ timers chan func() }

func newClock() stopped { return stopped{make(chan func(), 1)} }

func (stopped) Now() time.Time { return time.Unix(0, 0) }

func (c stopped) AfterFunc(_ time.Duration, f func()) func() {
	select {
	case c.timers <- f:
	default:
	}
	return func() {}
}

// after calls the hook with a result of a call that names a file.
func after(t *testing.T, s hook.Spec, call string, out core.Outcome) (string, error) {
	t.Helper()
	h, ok := hook.Effect(s).(engine.AfterToolHook)
	if !ok {
		t.Fatal("an effect is no hook after tools")
	}
	e, err := h.AfterToolExecute(t.Context(), engine.HookRequest{Tenant: "t", Thread: "thr_1", Run: "run_1_0"},
		core.ToolCall{ID: "c1", Name: call, Arguments: json.RawMessage(`{"path":"a.txt"}`)}, out)
	return e.Append, err
}

func writes(tool string) bool { return tool == "write_file" }

func named(files ...string) func(json.RawMessage) []string {
	return func(json.RawMessage) []string { return files }
}

// workspace is a directory with two files and a link that leads out.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "-n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnEffectFollowsCallsThatSucceeded(t *testing.T) {
	done := core.Outcome{Text: "written"}
	for _, tt := range []struct {
		name, tool string
		out        core.Outcome
		want       string
	}{
		{"C228 after a tool that writes", "write_file", done, "formatted a.txt"},
		{"C228 not after a tool that reads", "read_file", done, ""},
		{"C228 not after a tool that failed", "write_file", core.Outcome{Text: "disk full", Failed: true}, ""},
		{"not after a call that has to wait", "write_file", core.Outcome{Ticket: &core.SuspendTicket{}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls := 0
			got, err := after(t, hook.Spec{Name: "format", Follows: writes, Func: func(_ context.Context, req hook.EffectRequest) (string, error) {
				calls++
				if req.Run != "run_1_0" || req.Call.ID != "c1" || req.Result != "written" {
					t.Errorf("request %+v", req)
				}
				return "  formatted a.txt\n", nil
			}}, tt.tool, tt.out)
			if err != nil || got != tt.want || calls != min(1, len(tt.want)) {
				t.Errorf("%q after %d calls, %v; want %q", got, calls, err, tt.want)
			}
		})
	}
}

func TestAnEffectWithNothingToDoSaysNothing(t *testing.T) {
	dir := workspace(t)
	for name, s := range map[string]hook.Spec{
		"C229 the command is not on this machine": {Command: []string{"no-such-program-here"}, Workspace: dir, Files: named("a.txt")},
		"C229 it is not in the workspace either":  {Command: []string{"./no-such-program"}, Workspace: dir, Files: named("a.txt")},
		"C229 there is no workspace":              {Command: []string{"echo"}, Files: named("a.txt")},
		"C229 the workspace is not there":         {Command: []string{"echo"}, Workspace: filepath.Join(dir, "gone"), Files: named("a.txt")},
		"C229 the workspace is a file":            {Command: []string{"echo"}, Workspace: filepath.Join(dir, "a.txt"), Files: named("a.txt")},
		"C229 the call names no paths":            {Command: []string{"echo"}, Workspace: dir, Files: named()},
		"C229 the file is gone":                   {Command: []string{"echo"}, Workspace: dir, Files: named("gone.txt")},
	} {
		t.Run(name, func(t *testing.T) {
			s.Follows, s.Clock = writes, newClock()
			if got, err := after(t, s, "write_file", core.Outcome{Text: "written"}); got != "" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestACommandGetsThePathsAndNoShell(t *testing.T) {
	dir := workspace(t)
	if err := os.WriteFile(filepath.Join(dir, "own.sh"), []byte("#!/bin/sh\necho own \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		command []string
		files   []string
		want    string
	}{
		{"paths are put behind", []string{"echo", "formatted"}, []string{"a.txt", "./a.txt"}, "formatted a.txt ./a.txt"},
		{"a path is never an option", []string{"echo"}, []string{"-n"}, "./-n"},
		{"no shell reads the words", []string{"echo", "$HOME;`id`"}, []string{"a.txt"}, "$HOME;`id` a.txt"},
		{"it runs in the workspace", []string{"cat"}, []string{"a.txt"}, "x"},
		{"a program of the workspace", []string{"./own.sh"}, []string{"a.txt"}, "own a.txt"},
		{"what fails says why, and is no error", []string{"sh", "-c", "echo bad $1; echo worse >&2; exit 3", "sh"}, []string{"a.txt"}, "bad a.txt\nworse"},
		{"a file that is gone is left out", []string{"echo"}, []string{"gone.txt", "a.txt"}, "a.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := hook.Spec{Follows: writes, Clock: newClock(), Workspace: dir, Command: tt.command, Files: named(tt.files...)}
			if got, err := after(t, s, "write_file", core.Outcome{}); got != tt.want || err != nil {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		})
	}
	s := hook.Spec{Follows: writes, Clock: newClock(), Workspace: dir, Command: []string{"echo", "all"}}
	if got, err := after(t, s, "write_file", core.Outcome{}); got != "all" || err != nil {
		t.Errorf("a command that takes no paths: %q, %v", got, err)
	}
}

func TestAPathThatLeavesTheWorkspaceRunsNothing(t *testing.T) {
	dir := workspace(t)
	for name, file := range map[string]string{
		"dots":                    "../a.txt",
		"dots in the middle":      "x/../../a.txt",
		"absolute":                filepath.Join(dir, "a.txt"),
		"a link that leads out":   "out",
		"behind a link":           "out/a.txt",
		"nothing":                 "",
		"a name no file can have": "a\x00b",
	} {
		t.Run(name, func(t *testing.T) {
			s := hook.Spec{Follows: writes, Clock: newClock(), Workspace: dir, Command: []string{"touch"}, Files: named("a.txt", file, "made")}
			_, err := after(t, s, "write_file", core.Outcome{})
			if err == nil || strings.Contains(err.Error(), dir) && name != "absolute" {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestTextIsBounded(t *testing.T) {
	dir := workspace(t)
	long := hook.Spec{Follows: writes, Clock: newClock(), Workspace: dir, Command: []string{"sh", "-c", "yes ä | head -c 100000"}}
	got, err := after(t, long, "write_file", core.Outcome{})
	if err != nil || len(got) > hook.MostText || len(got) < hook.MostText-10 || !strings.HasSuffix(got, "[cut off]") || strings.Contains(got, "\uFFFD") {
		t.Errorf("%d bytes, ending in %q, %v", len(got), got[max(0, len(got)-20):], err)
	}
}

// The child outlives its parent unless the whole group is killed, and holds the fifo open.
func TestACommandEndsWithItsGroup(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(c stopped, cancel context.CancelFunc)
		want string
	}{
		{"when its time is over", func(c stopped, _ context.CancelFunc) { (<-c.timers)() }, "did not finish within 30s"},
		{"when the run is cancelled", func(_ stopped, cancel context.CancelFunc) { cancel() }, "context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := workspace(t)
			clock := newClock()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			fifo := filepath.Join(dir, "alive")
			makeFifo(t, fifo)
			h := hook.Effect(hook.Spec{Follows: writes, Clock: clock, Workspace: dir, Command: []string{"sh", "-c", "(echo up; exec sleep 1000) > alive & wait"}})
			failed := make(chan error, 1)
			go func() {
				_, err := h.(engine.AfterToolHook).AfterToolExecute(ctx, engine.HookRequest{}, core.ToolCall{Name: "write_file"}, core.Outcome{})
				failed <- err
			}()
			pipe, err := os.Open(fifo) // waits until the child has opened it
			if err != nil {
				t.Fatal(err)
			}
			defer pipe.Close()
			tt.end(clock, cancel)
			if err := <-failed; err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v", err)
			}
			rest := make([]byte, 16)
			// ends when nobody has it open any more
			for err = nil; err == nil; _, err = pipe.Read(rest) {
			}
			if !errors.Is(err, os.ErrClosed) && err.Error() != "EOF" {
				t.Error(err)
			}
		})
	}
}
