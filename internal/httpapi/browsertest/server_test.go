package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/dormouse-dev/dormouse/internal/access"
	"github.com/dormouse-dev/dormouse/internal/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/httpapi"
	"github.com/dormouse-dev/dormouse/internal/sqlite"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// server is the API over a real store, with calls that wait.
type server struct {
	t      *testing.T
	url    string
	client *client.Client
	worker frontendtest.Worker
	clock  *frontendtest.Clock
	keys   access.LinkKeys
	posted chan struct{} // one for each form that was answered
}

func serve(t *testing.T) *server {
	t.Helper()
	clock, random := frontendtest.NewClock(), &frontendtest.Random{}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "dormouse.db"), sqlite.Options{Clock: clock, Random: random, Sync: sqlite.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	keys := access.LinkKeys{bytes.Repeat([]byte{7}, 32)}
	front := frontend.New(frontend.Options{Store: db, Links: db, Catalog: frontendtest.NewCatalog("desk"), Waker: &frontendtest.Waker{}, Clock: clock, Random: random})
	api, err := httpapi.New(httpapi.Options{Frontend: front, Clock: clock, Version: "v1.2.3", Links: keys})
	if err != nil {
		t.Fatal(err)
	}
	posted := make(chan struct{}, 100)
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r)
		if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
			posted <- struct{}{}
		}
	}))
	t.Cleanup(listener.Close)
	return &server{t: t, posted: posted, url: listener.URL, client: client.New(listener.URL, "", listener.Client()), clock: clock, keys: keys,
		worker: frontendtest.Worker{Test: t, Store: db, Clock: clock, Random: random, Tenant: access.Tenant}}
}

// ask lets a run wait for the approval of a call, and returns the address of the page that asks for
// it.
func (s *server) ask(tool, reason, arguments string) string {
	s.t.Helper()
	return s.url + s.link(s.waits(frontendtest.Call{Tool: tool, Message: reason, Arguments: json.RawMessage(arguments)}))
}

// waits is a run with a call that waits for an approval.
func (s *server) waits(call frontendtest.Call) wire.Run {
	s.t.Helper()
	run, err := s.client.StartRun(s.t.Context(), wire.StartRequest{Agent: "desk", Input: json.RawMessage(`"please"`)}, "")
	if err != nil {
		s.t.Fatal(err)
	}
	call.ID, call.Kind = "c1", core.KindApproval
	s.worker.Suspend(run.ID, call)
	if run, err = s.client.Run(s.t.Context(), run.ID, 0); err != nil {
		s.t.Fatal(err)
	}
	return run
}

// link is the path of the page for the call that a run waits for.
func (s *server) link(run wire.Run) string {
	s.t.Helper()
	made, err := s.client.MakeLink(s.t.Context(), run.ID, wire.LinkRequest{Target: run.Pending[0].Suspension.ID, For: "anna"})
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

// browser is a tab of a Chromium of its own. A dialog that a page opens fails the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv("DORMOUSE_BROWSER") == "" {
		t.Skip("needs Chromium: .ci/browser runs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(os.Getenv("DORMOUSE_BROWSER")), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, end := context.WithTimeout(t.Context(), patience)
	t.Cleanup(end)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, leave := chromedp.NewContext(ctx)
	t.Cleanup(leave)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(390, 844)); err != nil {
		t.Fatal(err)
	}
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
	return ctx
}
