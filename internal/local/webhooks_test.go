package local

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
)

const hookKey = "whsec_bm90IGEgcmVhbCBrZXksIG9ubHkgb25lIG9mIGEgdGVzdA=="

// inboxOf is a real receiver: it takes notices whose signatures it has verified.
type inboxOf struct {
	*httptest.Server
	got      chan client.Notice
	ids      chan string
	redirect *atomic.Value // where requests are sent on, as a string; "" for nowhere
}

func newInbox(t *testing.T) inboxOf {
	t.Helper()
	in := inboxOf{got: make(chan client.Notice, 100), ids: make(chan string, 100), redirect: &atomic.Value{}}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to, _ := in.redirect.Load().(string); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		keys, err := signature.Keys(signature.Standard, hookKey)
		if err != nil {
			t.Error(err)
		}
		id, err := signature.Verify(signature.Standard, r.Header.Get, body, time.Now(), keys...)
		if err != nil {
			t.Errorf("the signature of %s: %v", r.Header.Get("webhook-id"), err)
		}
		var n client.Notice
		if err := json.Unmarshal(body, &n); err != nil {
			t.Error(err)
		}
		in.ids <- id
		in.got <- n
	}))
	t.Cleanup(in.Close)
	return in
}

// signing are options of a server that has the key, and may reach the receiver.
func (r *rig) signing(in inboxOf) Options {
	r.t.Helper()
	o := r.options()
	o.Secrets = func(_ context.Context, name string) (string, error) {
		if name == "HOOK" || name == "WEBHOOK_OPS" {
			return hookKey, nil
		}
		return "", secret.ErrNotSet
	}
	var err error
	if o.Private, err = netguard.ReadPrivate([]string{strings.TrimPrefix(in.URL, "http://")}); err != nil {
		r.t.Fatal(err)
	}
	return o
}

// A run of an agent whose file names a webhook asks, is approved by the link in the notice, and
// says how it ended.
func TestAWebhookAsksAndIsToldTheEnd(t *testing.T) {
	r, paid := countingRig(t)
	in := newInbox(t)
	r.deploy(asked + "notify:\n  - {name: ops, on: [suspended, decided, done], url: '" + in.URL + "/hook', secret: HOOK, allow_private: true}\n")
	s := r.startWith(r.signing(in))
	run := s.begin(t)

	n := <-in.got
	if id := <-in.ids; id != n.ID || !strings.HasPrefix(id, run.ID+":") {
		t.Errorf("the notice %s came under the id %s", n.ID, id)
	}
	if n.Type != "suspended" || n.Approval == nil || n.Approval.Tool != "pay" || n.Links == nil {
		t.Fatalf("%+v", n)
	}
	// a scanner opens every link
	for _, link := range []string{n.Links.Show, n.Links.Approve, n.Links.Deny} {
		if resp, err := http.Get(link); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", link, resp, err)
		}
	}
	if now := s.await(t, run.ID, "waiting"); len(now.Pending) != 1 || paid.Load() != 0 {
		t.Fatalf("a link that was opened decided: %+v", now)
	}
	resp, err := http.Post(n.Links.Show, "application/json", strings.NewReader(`{"action":"resume"}`))
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatalf("%v, %v", resp, err)
	}
	decided := <-in.got
	var d wire.DecisionRecordedData
	if err := json.Unmarshal(decided.Event.Data, &d); err != nil || decided.Type != "decided" || d.Action != "resume" || d.Via != "link" {
		t.Errorf("%+v, %+v, %v", decided, d, err)
	}
	done := <-in.got
	if done.Type != "done" || done.Run == nil || done.Run.ID != run.ID || done.Run.Status != "done" {
		t.Errorf("%+v", done)
	}
	if text, ok := done.Run.OutputText(); !ok || text != "Done." || paid.Load() != 1 {
		t.Errorf("the run said %q and paid %d times", text, paid.Load())
	}
}

// A tenant's own webhook is tested, and then gets what the agent file's webhook gets.
func TestATenantsWebhookIsTestedAndNotified(t *testing.T) {
	r, _ := countingRig(t)
	in := newInbox(t)
	r.deploy(asked)
	s := r.startWith(r.signing(in))
	w, err := s.AddWebhook(t.Context(), client.WebhookRequest{Name: "ops", On: []string{"suspended"}, URL: in.URL, Secret: "WEBHOOK_OPS", AllowPrivate: true}, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Warnings) > 0 {
		t.Errorf("a webhook that works: %q", w.Warnings)
	}
	bad, err := s.AddWebhook(t.Context(), client.WebhookRequest{On: []string{"done"}, URL: "http://127.0.0.1:9/", Secret: "WEBHOOK_PAGER", AllowPrivate: true}, "")
	if err != nil || len(bad.Warnings) != 2 || !strings.Contains(bad.Warnings[0], "the secret WEBHOOK_PAGER is not set on this server; set DORMOUSE_SECRET_WEBHOOK_PAGER") ||
		!strings.Contains(bad.Warnings[1], "127.0.0.1:9; allow it with --allow-private-hosts") {
		t.Errorf("a webhook that can't work: %q, %v", bad.Warnings, err)
	}
	tested, err := s.TestWebhook(t.Context(), w.ID)
	if err != nil || !tested.Delivered {
		t.Fatalf("%+v, %v", tested, err)
	}
	if n := <-in.got; n.Type != "test" || !strings.HasPrefix(n.ID, "test_") {
		t.Errorf("%+v", n)
	}
	run := s.begin(t)
	if n := <-in.got; n.Type != "suspended" || n.Event.RunID != run.ID {
		t.Errorf("%+v", n)
	}
}
