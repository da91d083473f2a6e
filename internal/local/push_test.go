package local

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// trusts says that the process of the test trusts the certificate of tests.
const trusts = "DORMOUSE_TEST_TRUSTS"

// TestAServerPushesToAServer: one server gives another a task over A2A, and hears of its end by a
// push notification. They come over HTTPS alone, so the test runs in a process that trusts the
// certificate of tests.
func TestAServerPushesToAServer(t *testing.T) {
	front := httptest.NewUnstartedServer(nil)
	var caller *httputil.ReverseProxy
	pushed := make(chan int, 10) // the status of each push
	front.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller.ServeHTTP(w, r)
	})
	front.StartTLS()
	defer front.Close()
	if os.Getenv(trusts) == "" {
		trusting(t, front)
		return
	}
	goOn := make(chan struct{})
	desk := newRig(t, func(ctx context.Context) error {
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return nil
	})
	desk.deploy(allowed)
	worker := desk.startWith(desk.reaching(t, strings.TrimPrefix(front.URL, "https://")))

	boss, _ := countingRig(t)
	boss.deploy(`name: desk
model:
  provider: scripted
  turns:
    - {given: {no_result: true}, calls: [{tool: delegate, arguments: {text: "pay"}}]}
    - {given: {tool: delegate}, say: Delegated.}
tools:
  - {name: delegate, description: Has a desk pay., a2a: {url: "http://` + worker.Addr() + `/a2a/desk", allow_private: true}, input: "{text}"}
permissions: {allow: [delegate]}
`)
	o := boss.reaching(t, worker.Addr())
	var err error
	if o.PublicURL, err = access.ParsePublicURL(front.URL); err != nil {
		t.Fatal(err)
	}
	s := boss.startWith(o)
	caller = httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.Addr()})
	caller.ModifyResponse = func(r *http.Response) error {
		if strings.HasPrefix(r.Request.URL.Path, access.PushPath) {
			pushed <- r.StatusCode
		}
		return nil
	}
	run := s.begin(t)
	for taken := false; !taken; { // by the other server
		if run = s.read(t, run.ID); len(run.Children) > 0 {
			child, err := s.Run(t.Context(), run.Children[0].RunID)
			taken = err == nil && child.Remote != nil && child.Remote.TaskID != ""
		}
	}
	close(goOn)
	if status := <-pushed; status != http.StatusNoContent {
		t.Errorf("the push is answered with %d", status)
	}
	if run = s.await(t, run.ID, "done"); string(run.Output) != `"Delegated."` {
		t.Errorf("the output is %s, %+v", run.Output, run)
	}
}

// trusting runs the test again, in a process that trusts the server.
func trusting(t *testing.T, server *httptest.Server) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	again := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.timeout=40s")
	again.Env = append(os.Environ(), "SSL_CERT_FILE="+file, trusts+"=yes")
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
