package notify_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/notify/webhook"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
)

// one implements [notify.Targets] with one target for all.
type one struct {
	target notice.Target
	err    error
}

func (o one) Target(context.Context, delivery.Notice) (notice.Target, error) { return o.target, o.err }

func (o one) Disable(context.Context, notice.Key, string) error { return nil }

func TestANoticeGoesFromTheJournalToAReceiver(t *testing.T) {
	d := newDesk(t)
	const key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	var got client.Notice
	var body []byte
	var header http.Header
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		header = r.Header
		if err := json.Unmarshal(body, &got); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(receiver.Close)
	private, err := netguard.ReadPrivate([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	guard := netguard.New(netguard.Options{Clock: machine.Clock{}, Private: private})
	secrets := func(context.Context, string) (string, error) { return key, nil }
	to := notice.Target{Name: "ops", URL: receiver.URL, Secret: "HOOK_KEY", AllowPrivate: true}
	e := &notify.Endpoints{Targets: one{target: to}, Writer: d.writer, Logger: slog.New(slog.DiscardHandler),
		URL: map[notice.Format]notify.Sender{notice.FormatStandard: webhook.New(webhook.Options{Secrets: secrets, Guard: guard, Clock: stopped{d.clock}}, webhook.Standard)}}
	run, n := d.asks(frontendtest.Call{Kind: core.KindApproval})
	if r := e.Send(t.Context(), n); r.Outcome != notice.Delivered {
		t.Fatalf("%+v", r)
	}
	read, err := signature.Key(signature.Standard, key)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := signature.Verify(signature.Standard, header.Get, body, d.clock.Now(), read); err != nil || id != got.ID || got.Run.ID != run.ID || got.Approval.Tool != "refund" {
		t.Errorf("%q, %v: %s", id, err, body)
	}
	if strings.Contains(string(body), key) {
		t.Error("the notice has the key")
	}
	if code, text := d.open("POST", got.Links.Show, "application/json", `{"action":"resume"}`); code != 202 {
		t.Errorf("%d %s", code, text)
	}
}

// A test is about no run, so it must not look like an event of one.
func TestATestNoticeHasNoEvent(t *testing.T) {
	d := newDesk(t)
	var got map[string]any
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(receiver.Close)
	private, err := netguard.ReadPrivate([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	o := webhook.Options{Guard: netguard.New(netguard.Options{Clock: machine.Clock{}, Private: private}), Clock: stopped{d.clock},
		Secrets: func(context.Context, string) (string, error) { return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", nil }}
	e := &notify.Endpoints{Clock: stopped{d.clock}, Random: machine.Random{}, URL: map[notice.Format]notify.Sender{notice.FormatStandard: webhook.New(o, webhook.Standard)}}
	w := notice.Webhook{ID: "wh_1", Tenant: "acme", Target: notice.Target{URL: receiver.URL, Secret: "HOOK_KEY", AllowPrivate: true}}
	if a, err := e.Test(t.Context(), w); err != nil || a.Error != "" {
		t.Fatalf("%+v, %v", a, err)
	}
	id, _ := got["id"].(string)
	if want := map[string]any{"id": id, "type": "test", "tenant": "acme", "timestamp": got["timestamp"]}; !strings.HasPrefix(id, "test_") || got["timestamp"] == nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the notice is %v", got)
	}
}

// stopped is a clock of a desk whose limits never pass.
type stopped struct{ *frontendtest.Clock }

func (stopped) AfterFunc(time.Duration, func()) (stop func()) { return func() {} }

func TestWhatCannotBeSentSaysWhy(t *testing.T) {
	d := newDesk(t)
	_, n := d.asks(frontendtest.Call{Kind: core.KindApproval})
	n.Endpoint = notice.RunEndpoint("run_1", "ops")
	for name, c := range map[string]struct {
		targets notify.Targets
		want    notice.Outcome
		says    string
	}{
		"gone":       {one{err: notify.ErrNoTarget}, notice.Hopeless, "was removed"},
		"disabled":   {one{err: notify.ErrDisabled}, notice.Hopeless, "is disabled"},
		"not asked":  {one{err: notify.ErrNotAsked}, notice.Hopeless, "doesn't ask for this notice"},
		"unreadable": {one{err: engine.ErrUnavailable}, notice.Refused, "could not be looked up"},
		"no format":  {one{target: notice.Target{URL: "https://x", Format: "fax"}}, notice.Refused, "in the format fax"},
		"a secret":   {one{target: notice.Target{URL: "https://x/{secret:KEY}"}}, notice.Refused, "a start can't put secrets"},
		"no mail":    {one{target: notice.Target{Mail: []string{"a@example.com"}}}, notice.Refused, "sends no mail"},
		"a channel":  {one{target: notice.Target{Slack: &notice.SlackChannel{Channel: "C0DESK", Token: "T"}}}, notice.Refused, "only an agent file can name a channel"},
	} {
		e := &notify.Endpoints{Targets: c.targets, Writer: d.writer, Logger: slog.New(slog.DiscardHandler)}
		if r := e.Send(t.Context(), n); r.Outcome != c.want || !strings.Contains(r.Error, c.says) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
