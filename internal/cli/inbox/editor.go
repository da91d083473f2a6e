package inbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// editor lets a person edit JSON with the program of $VISUAL or $EDITOR, on the terminal in. What
// does not show is written as an escape there, too.
func (a *app) editor(in *os.File) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, before json.RawMessage) (json.RawMessage, error) {
		dir, err := os.MkdirTemp("", "dormouse-edit") // only this user can read it
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "arguments.json")
		if err := os.WriteFile(file, []byte(strings.Join(display.CleanJSONLines(before), "\n")+"\n"), 0o600); err != nil {
			return nil, err
		}
		program := cmp.Or(a.Opts.Getenv("VISUAL"), a.Opts.Getenv("EDITOR"), "vi")
		// The variable may hold arguments of the program, too; a shell takes it apart as it
		// does elsewhere.
		cmd := exec.CommandContext(ctx, "sh", "-c", program+` "$1"`, "sh", file)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, a.Stdout, a.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w; set $EDITOR to the editor you like", program, err)
		}
		after, err := os.ReadFile(file)
		return bytes.TrimSpace(after), err
	}
}
