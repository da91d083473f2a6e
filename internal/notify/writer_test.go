package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/sqlitetest"
)

// desk is the API over a real store, and a writer of notices beside it. Its callers need tokens.
type desk struct {
	*testing.T
	clock  *frontendtest.Clock
	store  *sqlite.DB
	worker frontendtest.Worker
	reads  *query.Reader
	writer notify.Writer
	// one of a server that sends one-time codes
	withCodes notify.Writer
	api       *httptest.Server
	broken    func() error // of the store of the writer
}

// flaky is a store that fails when a test says so.
type flaky struct {
	*sqlite.DB
	d *desk
}

func (f flaky) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	if err := f.d.broken(); err != nil {
		return nil, err
	}
	return f.DB.Segments(ctx, tenant, thread, from, to)
}

const publicURL = "https://desk.example.com/dormouse"

var anna = frontend.Caller{Tenant: "default", By: "token:anna", Via: "api"}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, clock: frontendtest.NewClock(), broken: func() error { return nil }}
	random := &frontendtest.Random{}
	d.store, _ = sqlitetest.Open(t, d.clock, random)
	d.worker = frontendtest.Worker{Test: t, Store: d.store, Clock: d.clock, Random: random, Tenant: "default", Who: true}
	front := frontend.New(frontend.Options{Store: flaky{d.store, d}, Links: d.store, Catalog: frontendtest.NewCatalog("desk"), Waker: &frontendtest.Waker{}, Clock: d.clock, Random: random})
	d.reads = query.New(front)
	keys := access.LinkKeys{bytes.Repeat([]byte{7}, 32)}
	public, err := access.ParsePublicURL(publicURL)
	if err != nil {
		t.Fatal(err)
	}
	tokens := access.NewKeys(access.Grant{Principal: access.Principal{Name: "anna", Tenant: "default", Roles: []access.Role{access.Admin}}, Hash: access.HashOf("secret")})
	api, err := httpapi.New(httpapi.Options{Frontend: front, Clock: d.clock, Links: keys, Keys: fixed{tokens}, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	d.api = httptest.NewServer(api)
	t.Cleanup(d.api.Close)
	links := notify.Links{Keys: func(context.Context) (access.LinkKeys, error) { return keys, nil }, Public: public}
	d.writer = notify.NewWriter(notify.WriterOptions{Frontend: front, Links: links})
	links.Codes = true
	d.withCodes = notify.NewWriter(notify.WriterOptions{Frontend: front, Links: links})
	return d
}

type fixed struct{ access.Keys }

func (k fixed) Find(_ context.Context, token string) (access.Principal, bool, error) {
	p, ok := k.Keys.Find(token)
	return p, ok, nil
}

func (k fixed) Named(_ context.Context, name string) (access.Principal, bool, error) {
	p, ok := k.Keys.Named(name)
	return p, ok, nil
}

func (d *desk) start() wire.Run {
	d.Helper()
	s, err := d.reads.Start(d.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: []byte(`"refund A-17"`)})
	if err != nil {
		d.Fatal(err)
	}
	return s.Run
}

// asks is a run with one call that waits.
func (d *desk) asks(call frontendtest.Call) (run wire.Run, n delivery.Notice) {
	d.Helper()
	run = d.start()
	call.ID, call.Tool = "c1", "refund"
	d.worker.Suspend(run.ID, call)
	return run, d.notice(run, core.EventCallSuspended, notice.Suspended)
}

// notice is the notice of the newest event of a type.
func (d *desk) notice(run wire.Run, of core.EventType, kind notice.Kind) delivery.Notice {
	d.Helper()
	thread := run.ThreadID
	head, err := d.store.Load(d.Context(), "default", thread)
	if err != nil {
		d.Fatal(err)
	}
	segments, err := d.store.Segments(d.Context(), "default", thread, 1, head.Seq)
	if err != nil {
		d.Fatal(err)
	}
	for _, s := range slices.Backward(segments) {
		for _, e := range slices.Backward(s.Events) {
			if e.Type == of && e.RunID == run.ID {
				return delivery.Notice{Key: notice.Key{Tenant: "default", Thread: thread, Endpoint: "agent/desk/ops"}, Kind: kind, Event: e, Seq: s.Seq}
			}
		}
	}
	d.Fatalf("no %s in %s", of, run.ID)
	return delivery.Notice{}
}

var ops = notice.Target{Name: "ops", URL: "https://hooks.example.com/in"}

func (d *desk) write(n delivery.Notice) client.Notice {
	d.Helper()
	out, err := d.writer.Notice(d.Context(), n, ops)
	if err != nil {
		d.Fatal(err)
	}
	return out
}

// open sends a request to a link as the bearer of it does.
func (d *desk) open(method, link, accept, body string) (int, string) {
	d.Helper()
	link = d.api.URL + strings.TrimPrefix(link, publicURL)
	req, err := http.NewRequestWithContext(d.Context(), method, link, strings.NewReader(body))
	if err != nil {
		d.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.api.Client().Do(req)
	if err != nil {
		d.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	_, _ = text.ReadFrom(resp.Body)
	return resp.StatusCode, text.String()
}

func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func TestANoticeShowsWhatTheAPIShows(t *testing.T) {
	d := newDesk(t)
	run, n := d.asks(frontendtest.Call{Kind: core.KindApproval, Said: "I refund it", Preview: &core.Preview{Text: "refund $120"}})
	got := d.write(n)
	if got.ID != run.ID+":"+itoa(n.Event.Seq) || got.Type != "suspended" || got.Tenant != "default" || got.Timestamp != wire.Millis(n.Event.At) || got.Error != nil {
		t.Errorf("%+v", got)
	}
	inbox, err := d.reads.Approvals(t.Context(), anna, query.List{})
	if err != nil || len(inbox.Items) != 1 || !same(got.Approval, inbox.Items[0]) {
		t.Errorf("approval %+v, the inbox has %+v, %v", got.Approval, inbox.Items, err)
	}
	if a := got.Approval; a.Said != "I refund it" || a.Preview.Text != "refund $120" || len(a.Requests) != 1 || a.StartedBy.By != "token:anna" {
		t.Errorf("%+v", a)
	}
	if now, err := d.reads.Run(t.Context(), anna, run.ID); err != nil || !same(got.Run, now) {
		t.Errorf("run %+v, the API has %+v, %v", got.Run, now, err)
	}
	page, err := d.reads.Events(t.Context(), anna, run.ID, query.EventQuery{})
	i := slices.IndexFunc(page.Items, func(e wire.Event) bool { return e.Seq == n.Event.Seq })
	if err != nil || i < 0 || !reflect.DeepEqual(got.Event, page.Items[i]) {
		t.Errorf("event %+v, the API has %+v, %v", got.Event, page.Items, err)
	}
}

func TestACallThatNoLongerWaitsHasNoApproval(t *testing.T) {
	d := newDesk(t)
	run, n := d.asks(frontendtest.Call{Kind: core.KindApproval})
	if _, err := d.reads.Decide(t.Context(), anna, run.ID, wire.Decision{Target: "c1", Action: "cancel", Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	if got := d.write(n); got.Approval != nil || got.Links != nil || got.Run == nil {
		t.Errorf("%+v", got)
	}
	d.worker.Drain(run.ID)
	got := d.write(d.notice(run, core.EventDecisionRecorded, notice.Decided))
	var who wire.DecisionRecordedData
	if err := json.Unmarshal(got.Event.Data, &who); err != nil || who.By != "token:anna" || who.Reason != "no" || got.Approval != nil || got.Type != "decided" {
		t.Errorf("%s: %+v, %v", got.Event.Data, got, err)
	}
}

func TestTheEndOfARunHasItsOwnOutput(t *testing.T) {
	d := newDesk(t)
	run := d.start()
	d.worker.Drain(run.ID)
	d.worker.Finish(run.ID, "refunded")
	n := d.notice(run, core.EventRunStatus, notice.Done)
	if _, err := d.reads.Message(t.Context(), anna, run.ThreadID, "", wire.MessageRequest{Input: []byte(`"and now?"`)}); err != nil {
		t.Fatal(err)
	}
	later, err := d.reads.Thread(t.Context(), anna, run.ThreadID)
	if err != nil || later.RunID == run.ID {
		t.Fatalf("%+v, %v", later, err)
	}
	if got := d.write(n); got.Run == nil || got.Run.ID != run.ID || string(got.Run.Output) != `"refunded"` {
		t.Errorf("%+v", got.Run)
	}
}

// The notice is handed over before the run is given up.
func TestARunThatHasEndedIsDone(t *testing.T) {
	d := newDesk(t)
	run := d.start()
	d.worker.Drain(run.ID)
	d.worker.Ending(run.ID, "refunded")
	if got := d.write(d.notice(run, core.EventRunEnded, notice.Done)); got.Run == nil || got.Run.Status != "done" || string(got.Run.Output) != `"refunded"` {
		t.Errorf("%+v", got.Run)
	}
}

func TestWhatIsGoneOrUnreadableIsLeftOut(t *testing.T) {
	d := newDesk(t)
	_, n := d.asks(frontendtest.Call{Kind: core.KindApproval})
	d.broken = func() error { return errors.Join(engine.ErrUnavailable, engine.ErrUnreadable) }
	if got := d.write(n); got.ID == "" || got.Event.Seq != n.Event.Seq || got.Error == nil || got.Error.Code != "unreadable" || got.Run != nil {
		t.Errorf("unreadable: %+v", got)
	}
	d.broken = func() error { return nil }
	gone := n
	gone.Thread, gone.Event.RunID = "thr_gone", "run_gone_0"
	gone.Event.Data = []byte(`{"call_id":"c1","kind":"approval","suspension":{"id":"sus_1_abcdefgh_gone"}}`)
	if got := d.write(gone); got.Run != nil || got.Approval != nil || got.Error != nil || got.Event.Type != "call.suspended" {
		t.Errorf("gone: %+v", got)
	}
}

func TestAStoreThatDoesNotAnswerIsAskedLater(t *testing.T) {
	d := newDesk(t)
	_, n := d.asks(frontendtest.Call{Kind: core.KindApproval})
	d.broken = func() error { return engine.ErrUnavailable }
	if got, err := d.writer.Notice(t.Context(), n, ops); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLinksOfANoticeDecideOnceAndOnlyByPost(t *testing.T) {
	d := newDesk(t)
	run, n := d.asks(frontendtest.Call{Kind: core.KindApproval})
	links := d.write(n).Links
	if links == nil || links.Approve != links.Show+"?answer=approve" || links.Deny != links.Show+"?answer=deny" || !strings.HasPrefix(links.Show, publicURL+"/v1/approvals/") {
		t.Fatalf("%+v", links)
	}
	for _, method := range []string{"GET", "HEAD"} {
		for _, link := range []string{links.Show, links.Approve, links.Deny, links.Show + "?answer=resume", links.Show + "?action=resume"} {
			for _, accept := range []string{"*/*", "text/html"} {
				if code, text := d.open(method, link, accept, ""); code != 200 {
					t.Errorf("%s %s: %d %s", method, link, code, text)
				}
			}
		}
	}
	if now, err := d.reads.Run(t.Context(), anna, run.ID); err != nil || len(now.Pending) != 1 {
		t.Fatalf("looking decided: %+v, %v", now, err)
	}
	if _, page := d.open("GET", links.Approve, "text/html", ""); !strings.Contains(page, "Nothing is decided yet") || !strings.Contains(page, `href="#yes"`) {
		t.Error(page)
	}
	if _, page := d.open("GET", links.Show+"?answer=%3Cscript%3E", "text/html", ""); strings.Contains(page, "script>") || strings.Contains(page, "Nothing is decided yet") {
		t.Error(page)
	}
	if code, text := d.open("POST", links.Deny, "application/json", `{"action":"resume"}`); code != 202 {
		t.Errorf("the answer is that of the body: %d %s", code, text)
	}
	if code, text := d.open("POST", links.Approve, "application/json", `{"action":"cancel"}`); code != 409 {
		t.Errorf("%d %s", code, text)
	}
	_, o, err := d.reads.Suspension(t.Context(), anna, d.sus(n))
	if err != nil || o.Decision.By != "link:webhook ops" || o.Decision.Action != "resume" {
		t.Errorf("%+v, %v", o, err)
	}
}

func (d *desk) sus(n delivery.Notice) string {
	var call core.SuspendedCall
	if err := json.Unmarshal(n.Event.Data, &call); err != nil {
		d.Fatal(err)
	}
	return call.Suspension.ID
}

func TestEachAttemptSendsTheSameLink(t *testing.T) {
	d := newDesk(t)
	run, n := d.asks(frontendtest.Call{Kind: core.KindApproval})
	first := d.write(n)
	d.clock.AfterFunc(time.Hour, func() {})
	if again := d.write(n); !same(again.Links, first.Links) {
		t.Errorf("%+v, then %+v", first.Links, again.Links)
	}
	later := n
	later.Event.At = d.clock.Now().UnixMilli()
	if again := d.write(later); !same(again.Links, first.Links) {
		t.Errorf("a later notice has another link: %+v", again.Links)
	}
	other := n
	other.Endpoint = "agent/desk/chat"
	if got := d.write(other); got.Links.Show == first.Links.Show {
		t.Error("two endpoints share a link")
	}
	list, err := d.store.Links(t.Context(), "default", run.ID)
	if err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	d.clock.AfterFunc(4*24*time.Hour, func() {})
	later.Event.At = d.clock.Now().UnixMilli()
	if late := d.write(later).Links; late.Show == first.Links.Show || late.ExpiresAt.Sub(d.clock.Now()) < 3*24*time.Hour {
		t.Errorf("%+v", late)
	}
}

func TestALinkThatWasRevokedIsNotSentAgain(t *testing.T) {
	d := newDesk(t)
	run, n := d.asks(frontendtest.Call{Kind: core.KindApproval})
	links := d.write(n).Links
	list, err := d.store.Links(t.Context(), "default", run.ID)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := d.store.RevokeLink(t.Context(), "default", run.ID, list[0].ID, d.clock.Now().UnixMilli(), "token:anna"); err != nil {
		t.Fatal(err)
	}
	if got := d.write(n); got.Links != nil || got.Approval == nil {
		t.Errorf("%+v", got)
	}
	if code, _ := d.open("POST", links.Show, "application/json", `{"action":"resume"}`); code < 400 {
		t.Errorf("a revoked link answers %d", code)
	}
}

func TestWhoMayOnlyDenyGetsNoLinkToApprove(t *testing.T) {
	for name, call := range map[string]frontendtest.Call{
		"approvers": {Kind: core.KindApproval, Approvers: []string{"token:kim", "role:admin"}},
		"not_by":    {Kind: core.KindApproval, NotBy: core.NotByStarter},
	} {
		d := newDesk(t)
		_, n := d.asks(call)
		links := d.write(n).Links
		if links == nil || links.Approve != "" || links.Deny == "" {
			t.Errorf("%s: %+v", name, links)
			continue
		}
		if code, text := d.open("POST", links.Show, "application/json", `{"action":"resume"}`); code != 403 {
			t.Errorf("%s: %d %s", name, code, text)
		}
		if code, text := d.open("POST", links.Show, "application/json", `{"action":"cancel"}`); code != 202 {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	d := newDesk(t)
	_, n := d.asks(frontendtest.Call{Kind: core.KindApproval, Approvers: []string{"link:webhook ops"}})
	if links := d.write(n).Links; links == nil || links.Approve == "" {
		t.Errorf("the list names the endpoint: %+v", links)
	}
}

// Who may add a webhook chooses its name and its addresses. Neither makes its links approve.
func TestLinksOfATenantsWebhookApproveOnlyIfListed(t *testing.T) {
	named, mailed := ops, notice.Target{Name: "ops", Mail: []string{"anna@example.com"}}
	unnamed := notice.Target{URL: "https://hooks.example.com/in"}
	for name, c := range map[string]struct {
		approvers []string
		to        notice.Target
		may       bool
	}{
		"no list":                 {nil, named, false},
		"no list and no name":     {nil, unnamed, false},
		"a target of the agent":   {[]string{"link:webhook ops"}, named, false},
		"an empty name":           {[]string{"link:webhook "}, unnamed, false},
		"the address of another":  {[]string{"link:anna@example.com"}, mailed, false},
		"all links":               {[]string{"link:*"}, named, false},
		"all webhooks":            {[]string{"link:webhook wh_*"}, named, false},
		"another webhook":         {[]string{"link:webhook wh_2"}, named, false},
		"the webhook":             {[]string{"link:webhook wh_1"}, named, true},
		"the webhook, by mail":    {[]string{"link:webhook wh_1"}, mailed, true},
		"the webhook, of no name": {[]string{"token:kim", "link:webhook wh_1"}, unnamed, true},
	} {
		d := newDesk(t)
		_, n := d.asks(frontendtest.Call{Kind: core.KindApproval, Approvers: c.approvers})
		n.Endpoint = "wh_1"
		got, err := d.writer.Notice(t.Context(), n, c.to)
		if err != nil || got.Links == nil || got.Links.Deny == "" || (got.Links.Approve != "") != c.may {
			t.Errorf("%s: %+v, %v", name, got.Links, err)
			continue
		}
		want := map[bool]int{false: 403, true: 202}[c.may]
		if code, text := d.open("POST", got.Links.Show, "application/json", `{"action":"resume"}`); code != want {
			t.Errorf("%s: %d %s", name, code, text)
		}
		if code, text := d.open("POST", got.Links.Show, "application/json", `{"action":"cancel"}`); code != map[bool]int{false: 202, true: 409}[c.may] {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
}

func TestLinksOfATargetThatRequiresCodesAskForThem(t *testing.T) {
	to := notice.Target{Name: "boss", Mail: []string{"boss@example.com"}, Require: notice.RequireCode}
	d := newDesk(t)
	_, n := d.asks(frontendtest.Call{Kind: core.KindApproval})
	if got, err := d.writer.Notice(t.Context(), n, to); err != nil || got.Links != nil {
		t.Errorf("a server that sends no codes makes a link: %+v, %v", got.Links, err)
	}
	d.writer = d.withCodes
	got, err := d.writer.Notice(t.Context(), n, to)
	if err != nil || got.Links == nil {
		t.Fatalf("%+v, %v", got.Links, err)
	}
	if code, text := d.open("POST", got.Links.Show, "application/json", `{"action":"resume"}`); code != 403 || !strings.Contains(text, "code_required") {
		t.Errorf("%d %s", code, text)
	}
	plain := to
	plain.Require = ""
	if other, err := d.writer.Notice(t.Context(), n, plain); err != nil || other.Links.Show == got.Links.Show {
		t.Errorf("a link without a code is the same: %v", err)
	}
}

func TestWhatCannotBeAnsweredByALinkHasNone(t *testing.T) {
	d := newDesk(t)
	_, n := d.asks(frontendtest.Call{Kind: core.KindUnknownOutcome})
	if got := d.write(n); got.Approval == nil || got.Links != nil {
		t.Errorf("%+v", got)
	}
	d = newDesk(t)
	_, n = d.asks(frontendtest.Call{Kind: core.KindApproval})
	n.Endpoint = notice.RunEndpoint(n.Event.RunID, "ops") // its starter may not decide
	if got := d.write(n); got.Approval == nil || got.Links != nil {
		t.Errorf("an endpoint of the start: %+v", got.Links)
	}
	n.Endpoint = "wh_1"
	for name, links := range map[string]notify.Links{"no public URL": {Keys: func(context.Context) (access.LinkKeys, error) { return nil, nil }}, "no keys": {}} {
		w := notify.NewWriter(notify.WriterOptions{Frontend: d.reads.Frontend, Links: links})
		if got, err := w.Notice(t.Context(), n, ops); err != nil || got.Links != nil || got.Approval == nil {
			t.Errorf("%s: %+v, %v", name, got.Links, err)
		}
	}
}

func TestAQuestionHasALinkToAnswerIt(t *testing.T) {
	for _, kind := range []core.Kind{core.KindInput, core.KindClient} {
		d := newDesk(t)
		_, n := d.asks(frontendtest.Call{Kind: kind, Schema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"number"}}}`)})
		links := d.write(n).Links
		if links == nil || links.Show == "" || links.Deny == "" || links.Approve != "" {
			t.Fatalf("%s: %+v", kind, links)
		}
		if code, page := d.open("GET", links.Show, "text/html", ""); code != 200 || !strings.Contains(page, `name="f0"`) {
			t.Errorf("%s: %d %s", kind, code, page)
		}
		if code, text := d.open("POST", links.Show, "application/json", `{"action":"resume","result":{"size":"large"}}`); code != 422 {
			t.Errorf("%s: %d %s", kind, code, text)
		}
		if code, text := d.open("POST", links.Show, "application/json", `{"action":"resume","result":{"size":4}}`); code != 202 {
			t.Errorf("%s: %d %s", kind, code, text)
		}
	}
}

func TestALinkEndsWithTheDeadlineOfItsCall(t *testing.T) {
	d := newDesk(t)
	deadline := d.clock.Now().Add(time.Hour).UnixMilli()
	_, n := d.asks(frontendtest.Call{Kind: core.KindApproval, Deadline: deadline})
	if links := d.write(n).Links; links.ExpiresAt != wire.Millis(deadline) {
		t.Errorf("%+v", links)
	}
	d.clock.AfterFunc(2*time.Hour, func() {})
	if got := d.write(n); got.Links != nil {
		t.Errorf("%+v", got.Links)
	}
}

func TestALongNoticeIsShortened(t *testing.T) {
	d := newDesk(t)
	long := `{"order":"` + strings.Repeat("A-17 ", 60_000) + `"}`
	_, n := d.asks(frontendtest.Call{Kind: core.KindApproval, Arguments: json.RawMessage(long), Said: "I refund it"})
	got := d.write(n)
	text, err := json.Marshal(got)
	if err != nil || len(text) > 256<<10 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	want := []string{"run.pending", "event.data.arguments", "approval.arguments"}
	if !slices.Equal(got.Truncated, want) {
		t.Errorf("left out %q, want %q", got.Truncated, want)
	}
	if string(got.Approval.Arguments) != "" || got.Approval.Said != "I refund it" || got.Approval.Fingerprint == "" || got.Links == nil {
		t.Errorf("%+v", got.Approval)
	}
	if _, err := url.Parse(got.Links.Show); err != nil {
		t.Error(err)
	}
}

func itoa(n int64) string { b, _ := json.Marshal(n); return string(b) }
