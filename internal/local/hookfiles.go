package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/hooks"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// hookFiles are the hook files of a directory of agents. It is safe for concurrent use.
type hookFiles struct {
	dir, home string
	watch     bool // read them again when they change
	secrets   secret.Source
	log       *slog.Logger

	mu    sync.Mutex
	files map[string]hookfile.File
	seen  string // the files as they were when they were read
}

// receiver receives webhooks for the hook files of the agents directory. If strict, a mistake in
// one of them is an error, and so is a secret that is not set.
func (o Options) receiver(ctx context.Context, front *frontend.Frontend) (*hooks.Receiver, error) {
	files := &hookFiles{dir: o.Agents, home: cmp.Or(o.Tenant, access.Tenant), watch: o.Watch, secrets: o.secrets(), log: o.Logger}
	files.read(ctx)
	if o.Strict {
		var wrong []error
		for _, f := range files.files {
			wrong = append(wrong, f.Err)
			for _, name := range files.lacks(ctx, f) {
				wrong = append(wrong, fmt.Errorf("hook %s: the secret %s is not set; set %s", f.Name, name, secret.Variable(name)))
			}
		}
		if err := errors.Join(wrong...); err != nil {
			return nil, err
		}
	}
	return &hooks.Receiver{Frontend: front, Hooks: files, Secrets: files.secrets, Clock: o.clock, Slack: o.slack}, nil
}

// Hook implements hooks.Source.
func (h *hookFiles) Hook(ctx context.Context, name string) (hookfile.Hook, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watch && h.look() != h.seen {
		h.read(ctx)
	}
	f, there := h.files[name]
	switch {
	case !there:
		return hookfile.Hook{}, engine.ErrNotFound
	case f.Err != nil:
		return hookfile.Hook{}, fmt.Errorf("%w: %w", hooks.ErrMistake, f.Err)
	}
	return f.Hook, nil
}

// lacks are the secrets that a hook needs and that are not set.
func (h *hookFiles) lacks(ctx context.Context, f hookfile.File) []string {
	if f.Err != nil {
		return nil
	}
	return slices.DeleteFunc(f.Hook.Secrets(), func(name string) bool {
		_, err := h.secrets(ctx, name)
		return !errors.Is(err, secret.ErrNotSet)
	})
}

// read reads all files. Each that changed is logged.
func (h *hookFiles) read(ctx context.Context) {
	h.seen = h.look()
	loaded, err := hookfile.Load(h.dir)
	if err != nil {
		h.log.Warn("cannot read the folder of the hook files", "error", err)
		return
	}
	before := h.files
	h.files = map[string]hookfile.File{}
	for _, f := range loaded {
		f.Hook.Tenant = cmp.Or(f.Hook.Tenant, h.home)
		h.files[f.Name] = f
		switch was, known := before[f.Name]; {
		case known && string(was.Text) == string(f.Text):
		case f.Err != nil:
			h.log.Warn("a hook file has a mistake; its deliveries are refused", "hook", f.Name, "error", f.Err)
		default:
			h.log.Info("hook", "name", f.Name, "tenant", f.Hook.Tenant)
			for _, name := range h.lacks(ctx, f) {
				h.log.Warn("a hook's secret is not set; its deliveries are refused", "hook", f.Name, "secret", name, "set", secret.Variable(name))
			}
		}
	}
}

// look describes the files, so that a change can be noticed without reading them.
func (h *hookFiles) look() string {
	entries, _ := os.ReadDir(filepath.Join(h.dir, hookfile.Folder))
	var b strings.Builder
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			fmt.Fprintln(&b, e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}
