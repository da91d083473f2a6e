package hook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// argv returns the command line for a call, or nil if there is nothing to do.
func (e effect) argv(call core.ToolCall) ([]string, error) {
	if e.Workspace == "" || len(e.Command) == 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(e.Workspace)
	if err != nil {
		return nil, nil // missing, or not a directory
	}
	defer root.Close()
	program, ok := lookUp(e.Workspace, e.Command[0])
	if !ok {
		return nil, nil
	}
	argv := append([]string{program}, e.Command[1:]...)
	if e.Files == nil {
		return argv, nil
	}
	files, err := inside(root, e.Files(call.Arguments))
	if err != nil || len(files) == 0 {
		return nil, err
	}
	return append(argv, files...), nil
}

// lookUp finds a program: by its path, relative to the workspace, or in this machine's search path.
func lookUp(workspace, name string) (path string, ok bool) {
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(workspace, name)
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", false
	}
	found, err = filepath.Abs(found) // the command starts in another directory
	return found, err == nil
}

// inside returns the files that exist. A file outside the root, by its name or through a link,
// rejects all of them.
func inside(root *os.Root, files []string) ([]string, error) {
	var kept []string
	for _, file := range files {
		if !filepath.IsLocal(file) {
			return nil, fmt.Errorf("%q is outside the workspace; nothing was run", file)
		}
		_, err := root.Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("%q cannot be reached inside the workspace; nothing was run", file)
		}
		if strings.HasPrefix(file, "-") {
			file = "." + string(filepath.Separator) + file // a file, not an option
		}
		kept = append(kept, file)
	}
	return kept, nil
}

// lingering limits the wait for the output of a command's children after it has ended.
const lingering = time.Second

// environment is the only part of this process's environment that a command gets: an agent's author
// chooses the command, and the rest contains secrets and credentials. It is never nil, because
// os/exec would then pass on the entire environment.
func environment() []string {
	kept := []string{}
	for _, name := range []string{"PATH", "HOME"} {
		if value, ok := os.LookupEnv(name); ok {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}

// execute runs a program and returns its output, and whether the output is complete. It ignores the
// exit code. The error is the cause of ctx's end, or says that the program could not be started.
func execute(ctx context.Context, dir string, argv []string) (text string, whole bool, err error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	// more than is shown, so that the cut is made where the text is shortened
	out := &head{most: 2 * MostText}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, environment(), out, out, lingering
	group(cmd)
	inheritNothing()
	err = cmd.Run()
	if ctx.Err() != nil {
		return "", true, context.Cause(ctx)
	}
	if _, exited := errors.AsType[*exec.ExitError](err); exited || err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return string(out.kept), !out.cut, nil
	}
	return "", true, fmt.Errorf("%s could not be run: %w", filepath.Base(argv[0]), err)
}

// head keeps the beginning of what is written to it.
type head struct {
	most int
	kept []byte
	cut  bool
}

func (h *head) Write(b []byte) (int, error) {
	room := min(h.most-len(h.kept), len(b))
	h.kept = append(h.kept, b[:room]...)
	h.cut = h.cut || room < len(b)
	return len(b), nil
}
