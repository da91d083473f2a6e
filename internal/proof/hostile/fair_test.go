//go:build linux

package hostile

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
)

// stuck serves a tool that answers nobody until release is called.
type stuck struct {
	*httptest.Server
	arrived chan struct{} // one for each call
	once    sync.Once
	open    chan struct{}
}

func newStuck(t *testing.T) *stuck {
	s := &stuck{arrived: make(chan struct{}, 1000), open: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.arrived <- struct{}{}
		select {
		case <-s.open:
		case <-r.Context().Done():
		}
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(func() {
		s.release()
		s.Close()
	})
	return s
}

func (s *stuck) release() { s.once.Do(func() { close(s.open) }) }

// await returns when n calls are stuck.
func (s *stuck) await(n int) {
	for range n {
		<-s.arrived
	}
}

func (s *stuck) host() string { return strings.TrimPrefix(s.URL, "http://") }

// slowly is an agent that calls the stuck tool, and quick one that answers by itself.
func (s *stuck) agents() map[string]string {
	slow := fmt.Sprintf(`
name: slow
tenants: [acme, evil]
model: {provider: scripted, turns: [{given: {no_result: true}, calls: [{tool: wait, arguments: {}}]}, {given: {tool: wait}, say: Done.}]}
tools:
  - name: wait
    description: Waits.
    http: {url: "%s/wait", allow_private: true, retries: 0, timeout: 90s}
    parameters: {type: object, properties: {}}
permissions: {allow: [wait]}
`, s.URL)
	return map[string]string{"slow": slow, "quick": "name: quick\ntenants: [acme, evil]\nmodel: {provider: scripted, turns: [{say: Hello.}]}\n"}
}

// tenants serves the agents to the tenants acme and evil, and returns a client for each.
func tenants(t *testing.T, agents map[string]string, flags ...string) (acme, evil *client.Client) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	var lines string
	for _, tenant := range []string{"acme", "evil"} {
		p := access.Principal{Name: tenant, Tenant: tenant, Roles: []access.Role{access.Admin}}
		lines += access.Grant{Principal: p, Hash: access.HashOf(tenant)}.Line() + "\n"
	}
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, agents, append(flags, "--tokens", file)...)
	url := "http://" + s.addr
	return client.New(url, client.WithToken("acme"), client.WithRetries(0)), client.New(url, client.WithToken("evil"), client.WithRetries(0))
}

// done reads the run until it is done. The server holds each read.
func done(t *testing.T, c *client.Client, id string) wire.Run {
	t.Helper()
	for range 4 {
		run, err := c.PollRun(t.Context(), id, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if run.Status == "done" {
			return run
		}
	}
	t.Fatalf("run %s does not end", id)
	return wire.Run{}
}

func begin(t *testing.T, c *client.Client, agent string) wire.Run {
	t.Helper()
	run, err := c.StartRun(t.Context(), wire.StartRequest{Agent: agent, Input: []byte(`"go"`)}, "")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Calls of one tenant that do not end, however many, keep no run of another tenant waiting.
func TestStuckCallsOfOneTenantKeepNoOtherWaiting(t *testing.T) {
	for _, runs := range []int{40, 400} {
		t.Run(fmt.Sprint(runs, " runs"), func(t *testing.T) {
			if runs == 400 {
				effort.Long(t, "a server with hundreds of calls")
			}
			tool := newStuck(t)
			acme, evil := tenants(t, tool.agents(), "--workers", "4", "--allow-private-hosts", tool.host())
			var stuckRuns []wire.Run
			for range runs {
				stuckRuns = append(stuckRuns, begin(t, evil, "slow"))
			}
			tool.await(4) // as many as there are workers
			began := time.Now()
			for range 5 {
				run := done(t, acme, begin(t, acme, "quick").ID)
				if text, _ := run.OutputText(); text != "Hello." {
					t.Errorf("the run said %q", text)
				}
			}
			t.Logf("five runs took %v beside calls that do not end", time.Since(began).Round(time.Millisecond))
			tool.release()
			for _, run := range []wire.Run{stuckRuns[0], stuckRuns[runs-1]} {
				if got := done(t, evil, run.ID); got.Reason == nil {
					t.Errorf("%+v", got)
				}
			}
		})
	}
}

// The slow calls of a tenant do not fill the process for the tenant itself: more calls may wait
// than there are workers.
func TestMoreCallsWaitThanThereAreWorkers(t *testing.T) {
	tool := newStuck(t)
	acme, _ := tenants(t, tool.agents(), "--workers", "2", "--allow-private-hosts", tool.host())
	for range 6 {
		begin(t, acme, "slow")
	}
	tool.await(6)
	done(t, acme, begin(t, acme, "quick").ID)
}
