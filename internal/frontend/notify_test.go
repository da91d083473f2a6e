package frontend_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/quota"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func pipeline(change func(*wire.NotifyTarget)) wire.NotifyTarget {
	t := wire.NotifyTarget{Name: "ci", On: []string{"done", "failed"}, URL: "https://ci.example.com/hook", Secret: "CALLBACK_CI"}
	if change != nil {
		change(&t)
	}
	return t
}

func templated(template string) func(*wire.NotifyTarget) {
	return func(t *wire.NotifyTarget) {
		t.Name, t.Format, t.Template = "own", "template", json.RawMessage(template)
	}
}

func notifying(targets ...wire.NotifyTarget) wire.StartRequest {
	req := request("refund A-17")
	req.Notify = targets
	return req
}

// targets are those that a record or a head refers to.
func (x *fixture) targets(thread, digest string) (targets []notice.Target) {
	x.t.Helper()
	body, err := x.store.Payload(x.t.Context(), anna.Tenant, thread, digest)
	if err == nil {
		err = json.Unmarshal(body, &targets)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	return targets
}

func TestARunKeepsTheTargetsItsStartNames(t *testing.T) {
	x := newFixture(t, nil)
	want := []notice.Target{{Name: "ci", On: notice.Set{notice.Done, notice.Failed}, URL: "https://ci.example.com/hook", Secret: "CALLBACK_CI"}}
	s, err := x.Start(t.Context(), anna, "", notifying(pipeline(nil)))
	if err != nil {
		t.Fatal(err)
	}
	thread := s.Run.ThreadID
	h := x.head(thread)
	if diff := cmp.Diff(want, x.targets(thread, h.Notify)); diff != "" {
		t.Errorf("the first run (-want +got):\n%s", diff)
	}
	x.worker.End(s.Run.ID, crashed, "")
	retry, err := x.Retry(t.Context(), anna, s.Run.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, x.targets(thread, x.head(thread).Notify)); diff != "" {
		t.Errorf("its retry (-want +got):\n%s", diff)
	}
	if r, err := x.store.Archived(t.Context(), anna.Tenant, s.Run.ID); err != nil || r.Notify != h.Notify {
		t.Errorf("the archive has %q, %v", r.Notify, err)
	}
	x.worker.End(retry.Run.ID, core.Reason{Kind: core.NaturalEnd}, "")
	if _, err := x.say(thread, "", "and B-02?", ""); err != nil {
		t.Fatal(err)
	}
	if h := x.head(thread); h.Notify != "" {
		t.Errorf("the next run of the thread is reported to %q", h.Notify)
	}
}

func TestTargetsAreOnTheNextRunOfAThread(t *testing.T) {
	x := newFixture(t, nil)
	req := notifying(pipeline(nil))
	run := x.start()
	req.ThreadID, req.OnPending = run.ThreadID, "queue"
	_, err := x.Start(t.Context(), anna, "", req)
	x.wantCode(err, refusal.CodeRunOpen) // a message has no targets
	x.worker.End(run.ID, core.Reason{Kind: core.NaturalEnd}, "")
	if _, err := x.Start(t.Context(), anna, "", req); err != nil {
		t.Fatal(err)
	}
	if h := x.head(run.ThreadID); len(x.targets(run.ThreadID, h.Notify)) != 1 {
		t.Errorf("targets %q", h.Notify)
	}
}

func TestTargetsArePartOfAStartsIdentity(t *testing.T) {
	x := newFixture(t, nil)
	first, err := x.Start(t.Context(), anna, "k", notifying(pipeline(nil)))
	if err != nil {
		t.Fatal(err)
	}
	again, err := x.Start(t.Context(), anna, "k", notifying(pipeline(nil)))
	if err != nil || again.New || again.Run.ID != first.Run.ID {
		t.Errorf("%+v, %v", again, err)
	}
	for _, req := range []wire.StartRequest{request("refund A-17"), notifying(pipeline(func(t *wire.NotifyTarget) { t.URL += "/b" }))} {
		_, err := x.Start(t.Context(), anna, "k", req)
		x.wantCode(err, refusal.CodeIdempotencyMismatch)
	}
}

func TestTargetsThatAStartCannotName(t *testing.T) {
	x := newFixture(t, nil)
	for want, target := range map[string]wire.NotifyTarget{
		"notify[1].name: missing":                               pipeline(func(t *wire.NotifyTarget) { t.Name = "" }),
		`notify[1].name: "ci" is used twice`:                    pipeline(nil),
		`notify[1].on: cannot be "ended"; it is one of`:         pipeline(func(t *wire.NotifyTarget) { t.On = []string{"ended"} }),
		"notify[1].url: http is not encrypted; use https":       pipeline(func(t *wire.NotifyTarget) { t.URL = "HTTP://10.0.0.8/" }),
		"notify[1].secret: missing; format standard needs the":  pipeline(func(t *wire.NotifyTarget) { t.Secret = "" }),
		"notify[1].template: a brace belongs to no placeholder": pipeline(templated(`{"text":["{run"]}`)),
		"notify[1].template: {a b} is not a placeholder":        pipeline(templated(`{"text":"{a b}"}`)),
		"notify[1].template: only an agent file can put a":      pipeline(templated(`{"text":"\u007bsecret:CRM_TOKEN\u007d"}`)),
		// it would sign, for a starter, what another receiver trusts
		"notify[1].secret: a start can only name a secret that begins with CALLBACK_":            pipeline(func(t *wire.NotifyTarget) { t.Secret = "PAGER_KEY" }),
		"notify[1].url: the host is an address in an unusual form; write it as in 93.184.216.34": pipeline(func(t *wire.NotifyTarget) { t.Name, t.URL = "b", "https://0x7f.1./" }),
		"notify[1].url: the host is this machine or a private address; use a public one":         pipeline(func(t *wire.NotifyTarget) { t.Name, t.URL = "b", "https://10.0.0.8/" }),
	} {
		_, err := x.Start(t.Context(), anna, "", notifying(pipeline(nil), target))
		if e := x.wantCode(err, refusal.CodeInvalid); !strings.HasPrefix(e.Detail, want) {
			t.Errorf("%q, want %q", e.Detail, want)
		}
	}
	_, err := x.Start(t.Context(), anna, "", notifying(make([]wire.NotifyTarget, 6)...))
	if e := x.wantCode(err, refusal.CodeInvalid); e.Detail != "notify: 6 targets are too many; name at most 5" {
		t.Errorf("%q", e.Detail)
	}
	if runs, _, err := x.store.Runs(t.Context(), anna.Tenant, "", "", 1); err != nil || len(runs) > 0 {
		t.Errorf("refused starts stored %v, %v", runs, err)
	}
}

// puts is a store that counts the payloads which it is given.
type puts struct {
	frontend.Store
	count *int
}

func (s puts) PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error {
	*s.count++
	return s.Store.PutPayload(ctx, tenant, thread, digest, body)
}

func TestARefusedStartStoresNoTargets(t *testing.T) {
	count := 0
	refused := errors.New("no")
	x := newFixtureOver(t, func(s frontend.Store) frontend.Store {
		return puts{priced{s, &core.Counters{Step: 1, Cost: 9, Priced: true}}, &count}
	}, func(o *frontend.Options) {
		o.DayBudget = func(context.Context, engine.Definition) (core.USD, error) { return 5, nil }
		o.Starters = func(context.Context, engine.Definition) ([]string, error) { return nil, refused }
	})
	if _, err := x.Start(t.Context(), anna, "", notifying(pipeline(nil))); !errors.Is(err, refused) || count != 0 {
		t.Errorf("not a starter: %v, %d payloads", err, count)
	}
	refused = nil
	if _, err := x.Start(t.Context(), anna, "", notifying(pipeline(nil))); err != nil || count != 1 {
		t.Fatalf("%v, %d payloads", err, count)
	}
	x.clock.AfterFunc(time.Minute, func() {})
	_, err := x.Start(t.Context(), anna, "", notifying(pipeline(nil)))
	if x.wantCode(err, refusal.CodeBudgetExceeded); count != 1 {
		t.Errorf("beyond the budget of the day: %d payloads", count)
	}
}

func TestTargetsCountForTheQuota(t *testing.T) {
	x := newFixture(t, nil)
	x.held(quota.Bounds{Bytes: 1000})
	large := pipeline(func(n *wire.NotifyTarget) { n.URL += "?" + strings.Repeat("a", 1000) })
	_, err := x.Start(t.Context(), anna, "", notifying(large))
	x.wantCode(err, refusal.CodeTenantFull)
	if _, err := x.Start(t.Context(), anna, "", notifying(pipeline(nil))); err != nil {
		t.Error(err)
	}
}
