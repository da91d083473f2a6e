package httpapi_test

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/hooks"
	"github.com/dormouse-dev/dormouse/internal/frontend/quota"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

const hookKey = "a secret of this hook, and of no other"

var (
	discordSigner = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	discordKey    = hex.EncodeToString(discordSigner.Public().(ed25519.PublicKey))
)

// hookTexts are the hook files of the tests, by name.
var hookTexts = map[string]string{
	"desk":          "{verify: {scheme: github, secret: KEY}, start: {agent: desk, input: '{input}'}}",
	"github-issues": "{verify: {scheme: github, secret: KEY}, when: [{path: action, equals: opened}], start: {agent: desk, input: 'Issue {issue.number}: {issue.title}'}}",
	"stranger":      "{verify: {scheme: github, secret: KEY}, start: {agent: stranger, input: '{input}'}}",
	"broken":        "{verify: {scheme: github, secret: KEY}, start: {agent: broken, input: '{input}'}}",
	"keyed":         "{verify: {scheme: github, secret: KEY}, start: {agent: desk, input: '{input}', thread_key: 't-{key}', on_pending: queue}}",
	"message":       "{verify: {scheme: github, secret: KEY}, message: {thread: '{thread}', text: '{text}'}}",
	"keyless":       "{verify: {scheme: github, secret: NOT_SET}, start: {agent: desk, input: '{input}'}}",
	"others":        "{verify: {scheme: github, secret: OTHER_KEY}, decision: {target: '{target}', action: resume}}",
	"elsewhere":     "{tenant: elsewhere, verify: {scheme: github, secret: KEY}, decision: {target: '{target}', action: resume}}",
	"limited":       "{verify: {scheme: github, secret: KEY}, agents: [billing], decision: {target: '{target}', action: resume}}",
	"plain":         "{verify: {scheme: github, secret: KEY}, decision: {target: '{target}', action: {path: action, values: {approve: resume, deny: cancel}}}}",
	"decide": "{verify: {scheme: github, secret: KEY}, by: who, decision: {target: '{target}', action: {path: action, values: {approve: resume, deny: cancel}}, " +
		"reason: '{reason}', arguments: arguments, result: result}}",
	"shown":    "{verify: {scheme: github, secret: KEY}, decision: {target: '{target}', action: resume, shown: '{shown}'}}",
	"standard": "{verify: {scheme: standard, secret: KEY}, decision: {target: '{target}', action: resume}}",
	"slack":    "{verify: {scheme: slack, secret: KEY}, decision: {target: '{actions.0.value}', action: {path: actions.0.action_id, values: {approve: resume, deny: cancel}}}}",
	"stripe":   "{verify: {scheme: stripe, secret: KEY}, decision: {target: '{target}', action: resume}}",
	"discord":  "{verify: {scheme: discord, public_key: " + discordKey + "}, decision: {target: '{target}', action: resume}}",
}

// hookSource is those hooks, of the tenant default unless they say otherwise.
type hookSource struct{ err error }

func (s hookSource) Hook(_ context.Context, name string) (hookfile.Hook, error) {
	text, there := hookTexts[name]
	if s.err != nil || !there {
		return hookfile.Hook{}, cmp.Or(s.err, engine.ErrNotFound)
	}
	h, err := hookfile.Parse(name+".yaml", []byte(text))
	if h.Tenant == "" {
		h.Tenant = access.Tenant
	}
	return h, err
}

func withHooks(o *httpapi.Options) {
	o.Hooks = &hooks.Receiver{Frontend: o.Frontend, Hooks: hookSource{}, Clock: o.Clock, Secrets: func(_ context.Context, name string) (string, error) {
		switch name {
		case "KEY":
			return hookKey, nil
		case "OTHER_KEY":
			return "a secret of another hook, and not of this one", nil
		}
		return "", secret.ErrNotSet
	}}
}

func withLinksAndHooks(o *httpapi.Options) {
	withLinks(o)
	withHooks(o)
}

func githubSignature(key, body string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// signedBy signs a request as GitHub does.
func signedBy(key, body string) func(*http.Request) {
	return header("X-Hub-Signature-256", githubSignature(key, body))
}

// hook delivers a body as GitHub signs it.
func (s *server) hook(name, body string) answer {
	s.t.Helper()
	return s.send("POST", "/v1/hooks/"+name, body, signedBy(hookKey, body))
}

// hooked is a server whose hooks reach a run that waits for an approval.
func hooked(t *testing.T, call frontendtest.Call, change func(*frontend.Options)) (s *server, run wire.Run, sus string) {
	t.Helper()
	s = newServer(t, settings{options: withHooks, front: change})
	s.worker.Who = true
	run = s.start()
	call.ID, call.Tool = "c1", "refund"
	return s, run, s.worker.Suspend(run.ID, call)["c1"]
}

func TestAWebhookDecidesOnceInTheNameOfWhoActed(t *testing.T) {
	s, run, sus := hooked(t, frontendtest.Call{Kind: core.KindApproval}, nil)
	body := fmt.Sprintf(`{"target":%q,"action":"deny","reason":"duplicate order","who":"U07ANNA"}`, sus)
	first := s.hook("decide", body)
	if got := decoded[wire.HookAnswer](t, first.text); first.StatusCode != 200 || got.DecisionID == "" || got.Replayed {
		t.Fatalf("%d %s", first.StatusCode, first.text)
	}
	for range 2 {
		again := s.hook("decide", body)
		if got := decoded[wire.HookAnswer](t, again.text); again.StatusCode != 200 || !got.Replayed {
			t.Errorf("a repeat: %d %s", again.StatusCode, again.text)
		}
		s.worker.Drain(run.ID)
	}
	rec := s.decisionOf(run.ID)
	if rec.By != "hook:decide/U07ANNA" || rec.Via != "hook" || rec.Action != "cancel" || rec.Reason != "duplicate order" {
		t.Errorf("%+v", rec)
	}
}

func TestWebhooksStartMessageAndIgnore(t *testing.T) {
	s := newServer(t, settings{options: withHooks})
	run := s.start()
	s.worker.Finish(run.ID, "done")
	for _, c := range []struct{ hook, body string }{
		{"desk", `{"input":"hello"}`}, {"keyed", `{"input":"hello","key":7}`}, {"message", fmt.Sprintf(`{"thread":%q,"text":"more"}`, run.ThreadID)},
	} {
		first, again := s.hook(c.hook, c.body), s.hook(c.hook, c.body)
		did, repeated := decoded[wire.HookAnswer](t, first.text), decoded[wire.HookAnswer](t, again.text)
		if first.StatusCode != 200 || did.RunID == "" || did.Replayed || repeated.RunID != did.RunID || !repeated.Replayed {
			t.Errorf("%s: %s, then %s", c.hook, first.text, again.text)
		}
	}
	got := s.hook("github-issues", `{"action":"closed"}`)
	if answer := decoded[wire.HookAnswer](t, got.text); got.StatusCode != 200 || !strings.Contains(answer.Ignored, "action") || answer.RunID != "" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

// delivery is a signed body, and how it is refused.
type delivery struct {
	hook, body string
	status     int
	code       string
}

func (s *server) delivers(all ...delivery) {
	s.t.Helper()
	for _, d := range all {
		if got := s.hook(d.hook, d.body); got.StatusCode != d.status || got.problem(s.t).Code != d.code {
			s.t.Errorf("%s %s: got %d %s, want %d %s", d.hook, d.body, got.StatusCode, got.text, d.status, d.code)
		}
	}
}

func TestWhatAWebhookCannotStart(t *testing.T) {
	s := newServer(t, settings{options: withHooks, front: func(o *frontend.Options) {
		o.Catalog = frontendtest.NewCatalog("desk", "broken")
		o.Limits.Messages = 1
		o.Unavailable = func() map[string]string { return map[string]string{"broken": "a secret is missing"} }
	}})
	waiting := s.start()
	s.worker.Suspend(waiting.ID, frontendtest.Call{ID: "c1", Tool: "ask", Kind: core.KindInput, Schema: json.RawMessage(`{"type":"object"}`)})
	text := func(said string) string { return fmt.Sprintf(`{"thread":%q,"text":%q}`, waiting.ThreadID, said) }
	s.delivers(
		delivery{"nothing", `{}`, 404, "hook_not_found"},
		delivery{"keyless", `{"input":"x"}`, 503, "hook_unavailable"},
		delivery{"desk", `[]`, 400, "malformed_body"},
		delivery{"desk", `{}`, 422, "hook_mismatch"},
		delivery{"desk", `{"input":" "}`, 422, "hook_mismatch"},
		delivery{"stranger", `{"input":"x"}`, 404, "agent_not_found"},
		delivery{"broken", `{"input":"x"}`, 503, "agent_unavailable"},
		delivery{"keyed", `{"input":"x","key":"` + strings.Repeat("k", 300) + `"}`, 400, "invalid_request"},
		delivery{"message", `{"thread":"thr_nobody","text":"x"}`, 404, "thread_not_found"},
		delivery{"message", text("x"), 422, "schema_mismatch"},
	)
	busy := s.start()
	s.worker.Suspend(busy.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	s.delivers(delivery{"message", fmt.Sprintf(`{"thread":%q,"text":"x"}`, busy.ThreadID), 409, "run_open"})
	if got := s.hook("keyed", `{"input":"1","key":"a"}`); got.StatusCode != 200 {
		t.Fatal(got.text)
	}
	s.delivers(delivery{"keyed", `{"input":"2","key":"a"}`, 429, "inbox_full"})
}

func TestAWebhookIsHeldToStartersQuotaAndRate(t *testing.T) {
	stored := quota.Stored{}
	s := newServer(t, settings{options: withHooks, front: func(o *frontend.Options) {
		o.Quota = quota.Bounds{Bytes: 1 << 20, Runs: 10, Stored: func(context.Context, string) (quota.Stored, error) { return stored, nil }}
	}})
	stored = quota.Stored{Runs: 10}
	s.delivers(delivery{"desk", `{"input":"x"}`, 429, "tenant_too_many_open_runs"})
	stored = quota.Stored{Bytes: 1 << 20}
	s.delivers(delivery{"desk", `{"input":"x"}`, 507, "tenant_storage_full"})
	stored = quota.Stored{}
	if got := s.hook("desk", `{"input":"x"}`); got.StatusCode != 200 {
		t.Errorf("the refused delivery, sent again: %d %s", got.StatusCode, got.text)
	}
	s = newServer(t, settings{options: withHooks, front: func(o *frontend.Options) {
		o.Starters = func(context.Context, engine.Definition) ([]string, error) {
			return []string{"role:start", "hook:keyed"}, nil
		}
	}})
	s.delivers(delivery{"desk", `{"input":"x"}`, 403, "not_a_starter"})
	if got := s.hook("keyed", `{"input":"x","key":1}`); got.StatusCode != 200 {
		t.Errorf("a hook among the starters: %s", got.text)
	}
	s = newServer(t, settings{options: func(o *httpapi.Options) { withHooks(o); o.Limits.StartsPerSecond = 0.1 }})
	if got := s.hook("desk", `{"input":"x"}`); got.StatusCode != 200 {
		t.Error(got.text)
	}
	s.delivers(delivery{"desk", `{"input":"y"}`, 429, "rate_limited"})
}

func TestWhatAWebhookCannotDecide(t *testing.T) {
	refusing := func(ctx context.Context, _ engine.Pin, call core.ToolCall) (string, error) {
		if strings.Contains(string(call.Arguments), "1e6") {
			return "", fmt.Errorf("amount is above the limit")
		}
		return "", nil
	}
	for name, c := range map[string]struct {
		call        frontendtest.Call
		hook, extra string
		status      int
		code        string
	}{
		"no approval among the words": {frontendtest.Call{Kind: core.KindApproval}, "decide", `"action":"maybe"`, 422, "hook_mismatch"},
		"nobody acted":                {frontendtest.Call{Kind: core.KindApproval}, "decide", `"action":"approve","who":null`, 422, "hook_mismatch"},
		"a bare yes for a client":     {frontendtest.Call{Kind: core.KindClient}, "decide", `"action":"approve"`, 400, "wrong_kind"},
		"a result that says no":       {frontendtest.Call{Kind: core.KindApproval}, "decide", `"action":"approve","result":"denied"`, 400, "contradictory"},
		"an unclear result":           {frontendtest.Call{Kind: core.KindApproval}, "decide", `"action":"approve","result":{"approved":0}`, 400, "unclear_decision"},
		"a result of another type":    {frontendtest.Call{Kind: core.KindClient, Schema: json.RawMessage(`{"type":"number"}`)}, "decide", `"action":"approve","result":"x"`, 422, "schema_mismatch"},
		"no result":                   {frontendtest.Call{Kind: core.KindApproval, Mode: core.UseDecisionAsToolResult}, "decide", `"action":"approve"`, 422, "result_required"},
		"arguments that are a list":   {frontendtest.Call{Kind: core.KindApproval}, "decide", `"action":"approve","arguments":[1]`, 422, "invalid_arguments"},
		"arguments beyond the rules":  {frontendtest.Call{Kind: core.KindApproval}, "decide", `"action":"approve","arguments":{"amount":1e6}`, 422, "invalid_arguments"},
		"not an approver":             {frontendtest.Call{Kind: core.KindApproval, Approvers: []string{"token:anna", "hook:decide/ben", "role:decide"}}, "decide", `"action":"approve"`, 403, "not_an_approver"},
		"a requester without a name":  {frontendtest.Call{Kind: core.KindApproval, NotBy: core.NotByStarter}, "decide", `"action":"approve"`, 403, "separation_of_duties"},
		"another question was shown":  {frontendtest.Call{Kind: core.KindApproval}, "shown", `"shown":"fp_1"`, 409, "changed"},
		"an agent out of reach":       {frontendtest.Call{Kind: core.KindApproval}, "limited", `"action":"approve"`, 404, "call_not_found"},
		"another tenant's hook":       {frontendtest.Call{Kind: core.KindApproval}, "elsewhere", `"action":"approve"`, 404, "call_not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			s, run, sus := hooked(t, c.call, func(o *frontend.Options) { o.Check = refusing })
			s.t = t
			body := fmt.Sprintf(`{"target":%q,%s}`, sus, c.extra)
			if !strings.Contains(c.extra, `"who"`) {
				body = fmt.Sprintf(`{"target":%q,"who":"anna",%s}`, sus, c.extra)
			}
			s.delivers(delivery{c.hook, body, c.status, c.code})
			s.undecided(run, sus)
		})
	}
}

// undecided fails if a decision on the suspension was stored.
func (s *server) undecided(run wire.Run, sus string) {
	s.t.Helper()
	h, err := s.worker.Store.Load(s.t.Context(), access.Tenant, run.ThreadID)
	if _, taken := h.Inbox[sus]; err != nil || taken || h.Status != core.RunWaiting || h.Calls["c1"].Status != core.CallSuspended {
		s.t.Errorf("a decision was stored: %+v, %v", h.Inbox, err)
	}
}

func TestAWebhookComesTooLateOrSecond(t *testing.T) {
	approve := func(sus string) string { return fmt.Sprintf(`{"target":%q,"action":"approve","who":"anna"}`, sus) }
	s, run, sus := hooked(t, frontendtest.Call{Kind: core.KindApproval}, nil)
	if _, err := s.client.Decide(t.Context(), run.ID, wire.Decision{Target: sus, Action: "cancel", Reason: "confidential"}); err != nil {
		t.Fatal(err)
	}
	got := s.hook("decide", approve(sus))
	if p := got.problem(t); p.Code != "already_decided" || strings.Contains(got.text, "confidential") {
		t.Errorf("second: %s", got.text)
	}
	run, other := s.start(), s.start()
	again, due := frontendtest.Call{ID: "again", Tool: "refund", Kind: core.KindApproval}, frontendtest.Call{ID: "due", Tool: "refund", Kind: core.KindApproval, Deadline: 1}
	late, waits := s.worker.Suspend(other.ID, due)["due"], s.worker.Suspend(run.ID, again, due)
	s.worker.TimeOut(other.ID, "due")
	s.worker.Resuspend(run.ID, again)
	s.delivers(delivery{"decide", approve(late), 409, "late_decision"}, delivery{"decide", approve(waits["again"]), 409, "stale_suspension"})
	s, run, sus = hooked(t, frontendtest.Call{Kind: core.KindApproval}, nil)
	if _, err := s.client.Cancel(t.Context(), run.ID); err != nil { // which makes it due
		t.Fatal(err)
	}
	s.worker.End(run.ID, core.Reason{Kind: core.Cancelled}, "")
	s.delivers(delivery{"decide", approve(sus), 409, "run_done"})
}
