package httpapi_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
)

// hookNow is the time of the server's clock.
var hookNow = frontendtest.NewClock().Now()

func hmacOf(key, signed string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(signed))
	return hex.EncodeToString(mac.Sum(nil))
}

// signers sign as the schemes of the hooks of the same name do, at a time.
var signers = map[string]func(at time.Time, body string) http.Header{
	"plain": func(_ time.Time, body string) http.Header {
		return http.Header{"X-Hub-Signature-256": {githubSignature(hookKey, body)}}
	},
	"standard": func(at time.Time, body string) http.Header {
		return http.Header{signature.HeaderID: {"msg_1"}, signature.HeaderTimestamp: {fmt.Sprint(at.Unix())},
			signature.HeaderSignature: {signature.Sign("msg_1", at, []byte(body), []byte(hookKey))}}
	},
	"slack": func(at time.Time, body string) http.Header {
		return http.Header{"X-Slack-Request-Timestamp": {fmt.Sprint(at.Unix())}, "X-Slack-Signature": {"v0=" + hmacOf(hookKey, fmt.Sprintf("v0:%d:%s", at.Unix(), body))}}
	},
	"stripe": func(at time.Time, body string) http.Header {
		return http.Header{"Stripe-Signature": {fmt.Sprintf("t=%d,v1=%s", at.Unix(), hmacOf(hookKey, fmt.Sprintf("%d.%s", at.Unix(), body)))}}
	},
	"discord": func(at time.Time, body string) http.Header {
		signed := ed25519.Sign(discordSigner, fmt.Appendf(nil, "%d%s", at.Unix(), body))
		return http.Header{"X-Signature-Timestamp": {fmt.Sprint(at.Unix())}, "X-Signature-Ed25519": {hex.EncodeToString(signed)}}
	},
}

// attack is a request for a hook that must not decide. It begins as a good one.
type attack struct {
	method, hook, body string
	header             http.Header
}

// try sends it, with the header exactly as it is.
func (s *server) try(a attack) answer {
	s.t.Helper()
	return s.unchecked(a.method, "/v1/hooks/"+a.hook, a.body, func(r *http.Request) {
		for name, values := range a.header {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	})
}

func questionFor(sus string) string { return fmt.Sprintf(`{"target":%q,"action":"approve"}`, sus) }

// slackForm is a press of a button as Slack sends it.
func slackForm(sus, action string) string {
	return "payload=" + url.QueryEscape(fmt.Sprintf(`{"type":"block_actions","actions":[{"action_id":%q,"value":%q}]}`, action, sus))
}

// good is a request that decides, if it is sent as it is.
func good(hook, sus string, at time.Time) attack {
	body := questionFor(sus)
	if hook == "slack" {
		body = slackForm(sus, "approve")
	}
	return attack{"POST", hook, body, signers[hook](at, body)}
}

func TestAGoodRequestOfEachSchemeDecides(t *testing.T) {
	for hook := range signers {
		s, run, sus := hooked(t, frontendtest.Call{Kind: core.KindApproval}, nil)
		for _, away := range []time.Duration{-4 * time.Minute, 0} {
			if got := s.try(good(hook, sus, hookNow.Add(away))); got.StatusCode != 200 {
				t.Errorf("%s: %d %s", hook, got.StatusCode, got.text)
			}
		}
		s.worker.Drain(run.ID)
		if rec := s.decisionOf(run.ID); rec.By != "hook:"+hook || !rec.Applied {
			t.Errorf("%s: %+v", hook, rec)
		}
	}
}

// changes are what is done to a good request. Each is for all schemes but those it leaves as they
// are.
var changes = map[string]struct {
	status int
	change func(a *attack, sus string)
	timed  bool // is of no effect on GitHub, which signs no time
}{
	"not signed": {401, func(a *attack, _ string) { a.header = http.Header{} }, false},
	"altered body": {401, func(a *attack, _ string) {
		a.body = strings.Replace(a.body, "approve", "approv3", 1)
	}, false},
	"a space behind the body": {401, func(a *attack, _ string) { a.body += " " }, false},
	"altered signature": {401, func(a *attack, _ string) {
		for name, values := range a.header {
			if strings.Contains(name, "Sign") && !strings.HasSuffix(name, "Timestamp") {
				a.header[name] = []string{flipped(values[0])}
			}
		}
	}, false},
	"each header twice": {401, func(a *attack, _ string) {
		for name, values := range a.header {
			a.header[name] = append(values, values[0])
		}
	}, false},
	"a forged signature beside ours": {401, func(a *attack, _ string) {
		for name, values := range a.header {
			a.header[name] = []string{flipped(values[0]), values[0]}
		}
	}, false},
	"a newer time": {401, func(a *attack, _ string) {
		was, now := fmt.Sprint(hookNow.Unix()), fmt.Sprint(hookNow.Unix()+1)
		for name, values := range a.header {
			a.header[name] = []string{strings.Replace(values[0], was, now, 1)}
		}
	}, true},
	"signed six minutes ago": {401, func(a *attack, sus string) { *a = good(a.hook, sus, hookNow.Add(-6*time.Minute)) }, true},
	"signed in the future":   {401, func(a *attack, sus string) { *a = good(a.hook, sus, hookNow.Add(6*time.Minute)) }, true},
	"signed in 1970":         {401, func(a *attack, sus string) { *a = good(a.hook, sus, time.Unix(0, 0)) }, true},
	"another scheme":         {401, func(a *attack, _ string) { a.header = signers[other(a.hook)](hookNow, a.body) }, false},
	"sent to another hook":   {401, func(a *attack, _ string) { a.hook = "others" }, false},
	"sent to no hook":        {404, func(a *attack, _ string) { a.hook = "nothing" }, false},
	"a path for a name":      {404, func(a *attack, _ string) { a.hook = "..%2Fhooks%2F" + a.hook }, false},
	"a hook without secret":  {503, func(a *attack, _ string) { a.hook = "keyless" }, false},
	"too large":              {413, func(a *attack, _ string) { a.body = strings.Repeat(" ", 1<<20) + a.body }, false},
	"empty body":             {401, func(a *attack, _ string) { a.body = "" }, false},
	"GET":                    {405, func(a *attack, _ string) { a.method = "GET" }, false},
	"HEAD":                   {405, func(a *attack, _ string) { a.method = "HEAD" }, false},
	"PUT":                    {405, func(a *attack, _ string) { a.method = "PUT" }, false},
}

// flipped has another hexadecimal or Base64 digit near its end.
func flipped(signature string) string {
	at := len(signature) - 3
	digit := "0"
	if signature[at] == '0' {
		digit = "1"
	}
	return signature[:at] + digit + signature[at+1:]
}

func other(hook string) string {
	if hook == "slack" {
		return "stripe"
	}
	return "slack"
}

func TestNoAlteredRequestDecides(t *testing.T) {
	tried := 0
	for hook := range signers {
		s, run, sus := hooked(t, frontendtest.Call{Kind: core.KindApproval}, nil)
		for name, c := range changes {
			if c.timed && hook == "plain" {
				continue
			}
			a := good(hook, sus, hookNow)
			c.change(&a, sus)
			got := s.try(a)
			if got.StatusCode != c.status {
				t.Errorf("%s, %s: %d %s, want %d", hook, name, got.StatusCode, got.text, c.status)
			}
			if got.StatusCode == 401 && got.problem(t).Code != "invalid_signature" {
				t.Errorf("%s, %s: %s", hook, name, got.text)
			}
			tried++
		}
		s.undecided(run, sus)
	}
	if tried < 90 {
		t.Errorf("only %d attacks", tried)
	}
}

// TestARefusalOfASignatureSaysNothing: an attacker who tries signatures can't tell how close
// they are.
func TestARefusalOfASignatureSaysNothing(t *testing.T) {
	s, _, sus := hooked(t, frontendtest.Call{Kind: core.KindApproval}, nil)
	texts := map[string]bool{}
	for hook := range signers {
		for _, name := range []string{"not signed", "altered signature", "signed six minutes ago", "each header twice", "another scheme"} {
			a := good(hook, sus, hookNow)
			changes[name].change(&a, sus)
			if got := s.try(a); got.StatusCode == 401 {
				texts[got.text+fmt.Sprint(got.Header["Www-Authenticate"])] = true
			}
		}
	}
	if len(texts) != 1 {
		t.Errorf("%d different answers: %v", len(texts), texts)
	}
	a := good("plain", sus, hookNow)
	a.header = http.Header{}
	if got := s.send("POST", "/v1/hooks/plain", a.body); got.problem(t).Code != "invalid_signature" {
		t.Error(got.text)
	}
	if got := s.send("POST", "/v1/hooks/plain", strings.Repeat("x", 1<<20+1)); got.problem(t).Code != "too_large" {
		t.Error(got.text)
	}
}

// TestNoAmbiguousBodyDecides: these are signed, so their sender has the key, or makes a holder of
// the key sign them.
func TestNoAmbiguousBodyDecides(t *testing.T) {
	s, run, sus := hooked(t, frontendtest.Call{Kind: core.KindApproval}, nil)
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"the target twice":             {fmt.Sprintf(`{"target":"sus_1_x","target":%q,"action":"approve"}`, sus), 400},
		"the action twice":             {fmt.Sprintf(`{"target":%q,"action":"deny","action":"approve"}`, sus), 400},
		"twice, once escaped":          {fmt.Sprintf(`{"target":%q,"action":"deny","\u0061ction":"approve"}`, sus), 400},
		"members of another case":      {fmt.Sprintf(`{"TARGET":%q,"Action":"approve"}`, sus), 422},
		"a prototype":                  {fmt.Sprintf(`{"__proto__":{"target":%q,"action":"approve"}}`, sus), 422},
		"a constructor":                {fmt.Sprintf(`{"constructor":{"prototype":{"target":%q}},"action":"approve"}`, sus), 422},
		"an action that is a list":     {fmt.Sprintf(`{"target":%q,"action":["approve"]}`, sus), 422},
		"an action with a space":       {fmt.Sprintf(`{"target":%q,"action":"approve "}`, sus), 422},
		"a target that is an object":   {fmt.Sprintf(`{"target":{"id":%q},"action":"approve"}`, sus), 404},
		"a target in a list":           {fmt.Sprintf(`{"target":[%q],"action":"approve"}`, sus), 404},
		"the call in place":            {`{"target":"c1","action":"approve"}`, 404},
		"the run in place":             {fmt.Sprintf(`{"target":%q,"action":"approve"}`, run.ID), 404},
		"two objects":                  {questionFor(sus) + questionFor(sus), 400},
		"a list of objects":            {"[" + questionFor(sus) + "]", 400},
		"a byte order mark":            {"\ufeff" + questionFor(sus), 400},
		"not UTF-8":                    {fmt.Sprintf(`{"target":%q,"action":"approve","x":"`, sus) + "\xff\"}", 400},
		"nested too deep":              {fmt.Sprintf(`{"target":%q,"action":"approve","x":`, sus) + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "}", 400},
		"a form with a field twice":    {"target=" + sus + "&action=deny&action=approve", 400},
		"a payload beside fields":      {"target=x&action=approve&" + "payload=" + url.QueryEscape(questionFor(sus)), 404},
		"two payloads":                 {"payload=%7B%7D&payload=" + url.QueryEscape(questionFor(sus)), 400},
		"a payload in a payload":       {"payload=" + url.QueryEscape(fmt.Sprintf(`{"payload":%q}`, questionFor(sus))), 422},
		"JSON with a form behind":      {questionFor("x") + "&target=" + sus, 400},
		"a form with a semicolon":      {"target=" + sus + ";action=approve", 400},
		"an incomplete object":         {strings.TrimSuffix(questionFor(sus), "}"), 400},
		"a number beyond all":          {fmt.Sprintf(`{"target":%q,"action":1e999999999}`, sus), 422},
		"a placeholder in a value":     {`{"target":"{action}","action":"approve"}`, 404},
		"a secret's placeholder in it": {`{"target":"{secret:KEY}","action":"approve"}`, 404},
	} {
		for _, media := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
			got := s.unchecked("POST", "/v1/hooks/plain", c.body, signedBy(hookKey, c.body), header("Content-Type", media))
			if got.StatusCode != c.status || strings.Contains(got.text, hookKey) {
				t.Errorf("%s as %s: %d %s, want %d", name, media, got.StatusCode, got.text, c.status)
			}
		}
	}
	s.undecided(run, sus)
}

// TestTheMediaTypeDoesNotChangeWhatABodyMeans: no signature covers it, so a holder of a signed
// request may change it.
func TestTheMediaTypeDoesNotChangeWhatABodyMeans(t *testing.T) {
	s, run, sus := hooked(t, frontendtest.Call{Kind: core.KindApproval}, nil)
	body := fmt.Sprintf(`{"target":%q,"action":"deny"}`, sus)
	for i, media := range []string{"application/x-www-form-urlencoded", "text/plain", "", "application/json"} {
		got := s.unchecked("POST", "/v1/hooks/plain", body, signedBy(hookKey, body), header("Content-Type", media))
		if answer := decoded[wire.HookAnswer](t, got.text); got.StatusCode != 200 || answer.Replayed != (i > 0) {
			t.Errorf("%q: %d %s", media, got.StatusCode, got.text)
		}
	}
	s.worker.Drain(run.ID)
	if rec := s.decisionOf(run.ID); rec.Action != "cancel" {
		t.Errorf("%+v", rec)
	}
}

// TestWhatAHookDoesNotMapHasNoInfluence: a body has no influence beyond the mapping.
func TestWhatAHookDoesNotMapHasNoInfluence(t *testing.T) {
	s, run, sus := hooked(t, frontendtest.Call{Kind: core.KindApproval}, nil)
	body := fmt.Sprintf(`{"target":%q,"action":"approve","arguments":{"order":"B-9"},"grant":"run","decision_id":"mine","tenant":"elsewhere","by":"token:anna","who":"anna"}`, sus)
	if got := s.hook("plain", body); got.StatusCode != 200 {
		t.Fatal(got.text)
	}
	s.worker.Drain(run.ID)
	rec := s.decisionOf(run.ID)
	if rec.Arguments != nil || rec.Grant != "" || rec.By != "hook:plain" || !strings.HasPrefix(rec.DecisionID, "hook:plain:") {
		t.Errorf("%+v", rec)
	}
}

// TestNoNameOfAPersonBecomesAnotherPrincipal: who acted is the sender's word, and stays behind the
// name of the hook.
func TestNoNameOfAPersonBecomesAnotherPrincipal(t *testing.T) {
	call := frontendtest.Call{Kind: core.KindApproval, Approvers: []string{"token:anna", "hook:decide/anna", "hook:other*"}}
	s, run, sus := hooked(t, call, func(o *frontend.Options) { o.Starters = nil })
	for who, status := range map[string]int{
		"token:anna": 403, "../token:anna": 403, "anna/../ben": 403, "*": 403, "hook:other": 403, " anna": 403, "Anna": 403, "anna\x00": 422, "anna\n": 422,
		strings.Repeat("a", 129): 422, "": 422,
	} {
		body := fmt.Sprintf(`{"target":%q,"action":"approve","who":%s}`, sus, core.Encode(who))
		if got := s.hook("decide", body); got.StatusCode != status {
			t.Errorf("%q: %d %s, want %d", who, got.StatusCode, got.text, status)
		}
	}
	s.undecided(run, sus)
	if got := s.hook("decide", fmt.Sprintf(`{"target":%q,"action":"approve","who":"anna"}`, sus)); got.StatusCode != 200 {
		t.Errorf("the approver: %s", got.text)
	}
}

func TestSendersCheckTheAddress(t *testing.T) {
	s, run, sus := hooked(t, frontendtest.Call{Kind: core.KindApproval}, nil)
	for hook, c := range map[string][2]string{
		"slack":   {`{"type":"url_verification","challenge":"3eZbrw1a"}`, `{"challenge":"3eZbrw1a"}`},
		"discord": {`{"type":1}`, `{"type":1}`},
	} {
		a := attack{"POST", hook, c[0], signers[hook](hookNow, c[0])}
		if got := s.try(a); got.StatusCode != 200 || got.text != c[1] || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", hook, got.StatusCode, got.text)
		}
		a.header = signers[hook](hookNow.Add(-time.Hour), c[0])
		if got := s.try(a); got.StatusCode != 401 {
			t.Errorf("%s, not signed now: %d %s", hook, got.StatusCode, got.text)
		}
	}
	// another sender's challenge is an event like any other
	if got := s.hook("plain", `{"type":"url_verification","challenge":"x"}`); got.StatusCode != 422 {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	s.undecided(run, sus)
	if got := s.try(good("slack", sus, hookNow)); got.StatusCode != 200 || got.text != "" {
		t.Errorf("Slack's answer: %d %q", got.StatusCode, got.text)
	}
	if got := s.try(good("discord", sus, hookNow)); got.StatusCode != 409 {
		t.Errorf("the second: %d %q", got.StatusCode, got.text)
	}
}

// TestNoCallerTakesTheKeyOfAnEvent: otherwise a caller with the role start could make the server
// treat a future event as a repeat.
func TestNoCallerTakesTheKeyOfAnEvent(t *testing.T) {
	s := newServer(t, settings{options: withHooks})
	run := s.start()
	for path, body := range map[string]string{"/v1/runs": `{"agent":"desk","input":"x"}`, "/v1/threads/" + run.ThreadID + "/messages": `{"input":"x"}`} {
		if got := s.send("POST", path, body, header("Idempotency-Key", "hook:keyed:7")); got.problem(t).Code != "invalid_request" {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
		}
	}
}

// TestADecisionWithTheIDOfAHooksIsNotTakenForIt: the id alone doesn't make a decision the hook's.
func TestADecisionWithTheIDOfAHooksIsNotTakenForIt(t *testing.T) {
	s, run, sus := hooked(t, frontendtest.Call{Kind: core.KindApproval}, nil)
	body := questionFor(sus)
	sum := sha256.Sum256([]byte(body))
	if _, err := s.client.Decide(t.Context(), run.ID, wire.Decision{Target: sus, Action: "cancel", DecisionID: "hook:plain:" + hex.EncodeToString(sum[:])}); err != nil {
		t.Fatal(err)
	}
	s.delivers(delivery{"plain", body, 409, "already_decided"})
}

func TestOfTwoDeliveriesAtOnceOneActs(t *testing.T) {
	s := newServer(t, settings{options: withHooks})
	answers := make(chan answer, 8)
	for range cap(answers) {
		go func() { answers <- s.hook("keyed", `{"input":"x","key":1}`) }()
	}
	acted, runs := 0, map[string]bool{}
	for range cap(answers) {
		got := decoded[wire.HookAnswer](t, (<-answers).text)
		if runs[got.RunID] = true; !got.Replayed {
			acted++
		}
	}
	if acted != 1 || len(runs) != 1 || runs[""] {
		t.Errorf("%d acted, on %v", acted, runs)
	}
}

func TestTheHooksOfTheseTestsAreRight(t *testing.T) {
	for name, text := range hookTexts {
		if _, err := hookfile.Parse(name+".yaml", []byte(text)); err != nil {
			t.Error(err)
		}
	}
}
