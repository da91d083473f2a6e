// Package examples tests the agents of the examples folder against a real server. The tests in that
// folder use only public packages, so that an example can be copied out of the project; the tests
// here also use internal ones.
package examples

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// example is the folder of an example, or a file in it.
func example(elem ...string) string {
	return filepath.Join(append([]string{"..", "..", "..", "examples"}, elem...)...)
}

// serve starts a server with these options until the test ends. A program's tools and hooks are
// added by [have].
func serve(t *testing.T, o local.Options) *client.Client {
	t.Helper()
	var log bytes.Buffer
	o.Addr, o.Data = "127.0.0.1:0", cmp.Or(o.Data, t.TempDir())
	if o.Tools == nil {
		o.Tools = tool.NewRegistry(nil)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	s, err := local.Start(ctx, o)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := s.Wait(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return client.New("http://"+s.Addr(), client.WithRetries(0))
}

// have are the registries with the tools and hooks of a program in them.
func have(t *testing.T, p dormouse.Program, data string) (*tool.Registry, *hook.Registry) {
	t.Helper()
	tools, hooks, bound := tool.NewRegistry(nil), hook.NewRegistry(), binding.New(p)
	if err := bound.Tools(tools, data); err != nil {
		t.Fatal(err)
	}
	if err := bound.Hooks(hooks, data); err != nil {
		t.Fatal(err)
	}
	return tools, hooks
}

// settled reads the run once it waits or is done; each read is held by the server until then.
func settled(t *testing.T, c *client.Client, id string) wire.Run {
	t.Helper()
	for range 10 {
		run, err := c.PollRun(t.Context(), id, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if run.Status == "waiting" || run.Status == "done" {
			return run
		}
	}
	t.Fatalf("run %s does not settle", id)
	return wire.Run{}
}
