package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// server is the API over a real store, with calls that wait.
type server struct {
	t      *testing.T
	url    string
	client *client.Client
	worker frontendtest.Worker
	clock  engine.Clock
	keys   access.LinkKeys
	posted chan struct{} // one for each form that was answered
	codes  []string      // that were sent

	details wire.ToolDetails // of every tool
	agents  []wire.Agent     // that are deployed; nil: one

	away atomic.Bool // the server doesn't answer
	mute atomic.Bool // it does what forms say, and their answers are lost
	deaf atomic.Bool // forms are lost
	ill  atomic.Bool // it does what forms say, and a gateway says that it failed
	drop func()      // ends all connections
}

func serve(t *testing.T, change ...func(*httpapi.Options)) *server {
	t.Helper()
	return serveAt(t, frontendtest.NewClock(), change...)
}

func serveAt(t *testing.T, clock engine.Clock, change ...func(*httpapi.Options)) *server {
	t.Helper()
	listener := httptest.NewUnstartedServer(nil)
	address := "http://" + listener.Listener.Addr().String()
	random := &frontendtest.Random{}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "dormouse.db"), sqlite.Options{Clock: clock, Random: random, Sync: dbfile.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	keys := access.LinkKeys{bytes.Repeat([]byte{7}, 32)}
	s := &server{t: t, clock: clock, keys: keys}
	front := frontend.New(frontend.Options{Store: db, Links: db, Catalog: anyAgent{of: s}, Describe: s.describes, Waker: &frontendtest.Waker{}, Clock: clock, Random: random,
		Tool: func(context.Context, string, core.Record, string) (wire.ToolDetails, error) { return s.details, nil }})
	hooks := webhooks.New(webhooks.Options{Store: db, Deliveries: db, Waker: &frontendtest.Waker{}, Clock: clock, Random: random})
	options := httpapi.Options{Frontend: front, Webhooks: hooks, Clock: clock, Version: "v1.2.3", Links: keys, Codes: func(_ context.Context, _, code string) error {
		s.codes = append(s.codes, code)
		return nil
	}}
	if options.PublicURL, err = access.ParsePublicURL(address); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&options)
	}
	api, err := httpapi.New(options)
	if err != nil {
		t.Fatal(err)
	}
	posted := make(chan struct{}, 100)
	listener.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.away.Load() {
			panic(http.ErrAbortHandler)
		}
		if mute, ill := s.mute.Load(), s.ill.Load(); r.Method == http.MethodPost && (mute || ill || s.deaf.Load()) {
			if mute || ill {
				api.ServeHTTP(httptest.NewRecorder(), r)
			}
			posted <- struct{}{}
			if ill {
				http.Error(w, "gateway timeout", http.StatusGatewayTimeout)
				return
			}
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(w, r)
		if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
			posted <- struct{}{}
		}
	})
	listener.Start()
	t.Cleanup(listener.Close)
	s.drop = listener.CloseClientConnections
	s.posted, s.url, s.client = posted, listener.URL, client.New(listener.URL, client.WithHTTPClient(listener.Client()), client.WithRetries(0))
	s.worker = frontendtest.Worker{Test: t, Store: db, Clock: clock, Random: random, Tenant: access.Tenant, Who: true}
	return s
}

// anyAgent has every agent that is asked for: what is named as one is not checked here.
type anyAgent struct {
	frontend.Catalog
	of *server
}

func (anyAgent) Current(_ context.Context, tenant, name string) (engine.Definition, error) {
	return engine.Definition{Tenant: tenant, Name: name, Digest: "sha256:x"}, nil
}

func (a anyAgent) Deployed(_ context.Context, tenant string) (all []engine.Definition, err error) {
	for _, one := range a.of.agents {
		all = append(all, engine.Definition{Tenant: tenant, Name: one.Name, Digest: "sha256:x"})
	}
	if all == nil {
		all = []engine.Definition{{Tenant: tenant, Name: "desk", Digest: "sha256:x"}}
	}
	return all, nil
}

func (s *server) describes(d engine.Definition) (wire.Agent, error) {
	for _, one := range s.agents {
		if one.Name == d.Name {
			return one, nil
		}
	}
	return wire.Agent{Name: d.Name, Version: d.Digest, Tools: []wire.Tool{}}, nil
}

// ask lets a run wait for the approval of a call, and returns the address of the page that asks for
// it. The text stands in every place where the page shows text of others, as far as it fits there.
func (s *server) ask(tool, text, arguments string) string {
	s.t.Helper()
	short := shortened(text)
	s.details = wire.ToolDetails{Description: short, Kind: "http", Target: short}
	return s.link(s.waitsFor(wire.StartRequest{Agent: agentOf(text), Input: core.Encode(requestOf(text)), Metadata: metadataOf(text)},
		frontendtest.Call{Tool: tool, Message: text, Said: short, Preview: &core.Preview{Text: short, Tool: "get"}, Arguments: json.RawMessage(arguments)}))
}

// shortened is a text that no place cuts off.
func shortened(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// requestOf is never blank.
func requestOf(text string) string {
	if strings.TrimSpace(text) == "" {
		return "please"
	}
	return shortened(text)
}

func agentOf(text string) string { return requestOf(text) }

func metadataOf(text string) json.RawMessage {
	return core.Encode(map[string]string{"note": shortened(text)})
}

// waits is a run with a call that waits for an approval.
func (s *server) waits(call frontendtest.Call) wire.Run {
	s.t.Helper()
	return s.waitsFor(wire.StartRequest{Agent: "desk", Input: json.RawMessage(`"please"`)}, call)
}

func (s *server) waitsFor(start wire.StartRequest, call frontendtest.Call) wire.Run {
	s.t.Helper()
	run, err := s.client.StartRun(s.t.Context(), start, "")
	if err != nil {
		s.t.Fatal(err)
	}
	if call.ID = "c1"; call.Kind == 0 {
		call.Kind = core.KindApproval
	}
	s.worker.Suspend(run.ID, call)
	if run, err = s.client.Run(s.t.Context(), run.ID); err != nil {
		s.t.Fatal(err)
	}
	return run
}

// link is the address of the page for the call that a run waits for.
func (s *server) link(run wire.Run, require ...string) string {
	s.t.Helper()
	made, err := s.client.MakeLink(s.t.Context(), run.ID, wire.LinkRequest{Target: run.Pending[0].Suspension.ID, For: "anna", Require: strings.Join(require, "")})
	if err != nil {
		s.t.Fatal(err)
	}
	return made.Link
}

func (s *server) open(ctx context.Context, address string) error {
	return chromedp.Do(ctx, chromedp.Navigate(address))
}

// patience bounds a test whose browser does not answer any more.
const patience = 10 * time.Minute

// waits is how long a test waits for what must come; with a mutant, it comes never.
var waits = func() time.Duration {
	if os.Getenv("DORMOUSE_MUTANT") != "" {
		return 20 * time.Second
	}
	return time.Minute
}()

// browser is a tab of a Chromium of its own. A dialog that a page opens fails the test, and so does
// an error of its script.
func browser(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv("DORMOUSE_BROWSER") == "" {
		t.Skip("needs Chromium: .ci/browser runs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(os.Getenv("DORMOUSE_BROWSER")), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Env("FONTCONFIG_FILE="+fonts(t)), chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("disable-lcd-text", true), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("hide-scrollbars", true), chromedp.UserDataDir(t.TempDir()), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, end := context.WithTimeout(t.Context(), patience)
	t.Cleanup(end)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, leave := tab(t, ctx)
	t.Cleanup(leave)
	return ctx
}

// tab is another tab of a browser, or its first one.
func tab(t *testing.T, of context.Context) (ctx context.Context, leave context.CancelFunc) {
	t.Helper()
	ctx, leave = chromedp.NewContext(of)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(390, 844)); err != nil {
		t.Fatal(err)
	}
	thrown := chromedp.Events(ctx, runtime.ExceptionThrown)
	go func() {
		for e, err := range thrown {
			if err != nil {
				return
			}
			t.Errorf("a script failed: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.Exception.Description)
		}
	}()
	dialogs := chromedp.Events(ctx, page.JavascriptDialogOpening)
	go func() {
		for dialog, err := range dialogs {
			if err != nil {
				return
			}
			t.Errorf("a dialog was opened: %s", dialog.Message)
			_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
		}
	}()
	return ctx, leave
}
