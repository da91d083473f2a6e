package torture_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
	"github.com/dormouse-dev/dormouse/internal/proof/torture"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// serveOwn serves the agents that WriteAgents writes for the service.
func serveOwn(t *testing.T, service string) (address string) {
	t.Helper()
	agents := filepath.Join(t.TempDir(), "agents")
	if err := torture.WriteAgents(agents, service); err != nil {
		t.Fatal(err)
	}
	private, err := netguard.ReadPrivate([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server, err := local.Start(ctx, local.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Agents: agents, Private: private,
		Tools: tool.NewRegistry(nil), Hooks: hook.NewRegistry(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + server.Addr()
}

// gateway stands before a server as the one of a cloud does: at times it did not reach it, and at
// times it did and does not know.
func gateway(t *testing.T, address string, seed uint64) (front string, failed *atomic.Int64) {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	failed = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		fails, reached, status := random.IntN(5) == 0, random.IntN(2) == 0, []int{500, 502, 503, 504, 429}[random.IntN(5)]
		mu.Unlock()
		if !fails {
			proxy.ServeHTTP(w, r)
			return
		}
		failed.Add(1)
		if reached {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"message":"`+http.StatusText(status)+`"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, failed
}

func TestAServerWithOurAgentsIsHeldToItsWordBehindAGateway(t *testing.T) {
	effort.Long(t, "it kills servers under load")
	const seed = 7
	for name, withService := range map[string]bool{"tools that ask a service": true, "tools with recorded answers": false} {
		t.Run(name, func(t *testing.T) {
			ledger, service := "", ""
			if withService {
				ledger = filepath.Join(t.TempDir(), "payments.jsonl")
				shop, err := torture.Serve(ledger)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = shop.Close() })
				service = "http://" + shop.Host()
			}
			address := serveOwn(t, service)
			direct := client.New(address, client.WithRetries(0))
			if _, err := direct.StartRun(t.Context(), wire.StartRequest{Agent: "torture-auto", Input: []byte(`"somebody else's"`)}, ""); err != nil {
				t.Fatal(err)
			}
			front, failed := gateway(t, address, seed)
			report, err := torture.Run(t.Context(), torture.Options{Client: client.New(front, client.WithRetries(0)), Own: true, Ledger: ledger, For: time.Second,
				Callers: 6, Seed: seed, Session: "s", Patience: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			var told bytes.Buffer
			_ = report.Print(&told)
			if !report.Held || report.Runs == 0 || report.Decisions == 0 || failed.Load() == 0 || (report.Effects > 0) != withService {
				t.Errorf("seed %d, %d requests failed at the gateway, %d effects\n%s", seed, failed.Load(), report.Effects, told.String())
			}
		})
	}
}

func TestAgentsForAStackNeedNothingOfThisProgram(t *testing.T) {
	for _, service := range []string{"", "http://127.0.0.1:9000/", "https://ledger.example.com/base"} {
		dir := t.TempDir()
		if err := torture.WriteAgents(dir, service); err != nil {
			t.Fatal(err)
		}
		defs, err := agentfile.Load(dir)
		if err != nil || len(defs) != len(torture.OwnAgents()) {
			t.Fatalf("%q: %d agents, %v", service, len(defs), err)
		}
		for _, d := range defs {
			if needs := d.Needs(); len(needs.Functions) > 0 {
				t.Errorf("%q: %s needs the functions %v", service, d.Name, needs.Functions)
			}
			for _, tool := range d.Tools {
				if tool.HTTP != nil && tool.HTTP.AllowPrivate != strings.HasPrefix(service, "http:") {
					t.Errorf("%q: %s may reach private addresses: %v", service, tool.Name, tool.HTTP.AllowPrivate)
				}
			}
		}
	}
	for _, service := range []string{"127.0.0.1:9000", "ftp://x", "http://", "http://x?y=1", "http://user:password@x"} {
		if err := torture.WriteAgents(t.TempDir(), service); err == nil {
			t.Errorf("%q is taken for the address of a service", service)
		}
	}
}
