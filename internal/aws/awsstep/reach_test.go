package awsstep

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

const planted = "planted-secret-4711"

// beyond is what the function reaches, on the loopback: models of Bedrock, functions, parameters
// and a shop that wants a token. Function and shop say back what they know.
type beyond struct {
	mu    sync.Mutex
	asked []modeldouble.Asked
	did   []string
	urls  map[string]string
}

func newBeyond(t *testing.T) *beyond {
	b := &beyond{urls: map[string]string{}}
	for name, handler := range map[string]http.Handler{"BEDROCK_RUNTIME": modeldouble.Bedrock(b.answer), "LAMBDA": http.HandlerFunc(b.invoke),
		"SSM": http.HandlerFunc(b.parameter), "shop": http.HandlerFunc(b.shop)} {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		b.urls[name] = server.URL
	}
	return b
}

func (b *beyond) environment() map[string]string {
	return map[string]string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": b.urls["BEDROCK_RUNTIME"], "AWS_ENDPOINT_URL_LAMBDA": b.urls["LAMBDA"],
		"AWS_ENDPOINT_URL_SSM": b.urls["SSM"], "DORMOUSE_SECRETS_PATH": "/dormouse/test", "DORMOUSE_PRIVATE_HOSTS": strings.TrimPrefix(b.urls["shop"], "http://")}
}

func (b *beyond) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.did = append(b.did, fmt.Sprintf(format, args...))
}

// answer asks the shop, then pays, then is done.
func (b *beyond) answer(a modeldouble.Asked) modeldouble.Said {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, a)
	switch len(b.asked) {
	case 1:
		return modeldouble.Said{Turn: core.Turn{Calls: []core.ToolCall{{ID: "c1", Name: "look", Arguments: json.RawMessage(`{"order":"A-2"}`)}}}}
	case 2:
		return modeldouble.Said{Turn: core.Turn{Calls: []core.ToolCall{{ID: "c2", Name: "pay", Arguments: json.RawMessage(`{"amount":9007199254740993}`)}}}}
	}
	return modeldouble.Said{Turn: core.Turn{Text: "Paid."}}
}

func (b *beyond) invoke(w http.ResponseWriter, r *http.Request) {
	event, _ := io.ReadAll(r.Body)
	told, _ := base64.StdEncoding.DecodeString(r.Header.Get("X-Amz-Client-Context"))
	b.note("invoke %s %s, key given: %t", r.URL.Path, event, strings.Contains(string(told), `"idempotency_key":"run_`))
	_, _ = fmt.Fprintf(w, `{"paid": true, "env": %q, "role": "s3cret-of-the-role"}`, planted)
}

func (b *beyond) parameter(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.note("parameter %t", strings.Contains(string(body), `"/dormouse/test/SHOP"`))
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_, _ = fmt.Fprintf(w, `{"Parameter": {"Name": "/dormouse/test/SHOP", "Type": "SecureString", "Value": %q}}`, planted)
}

func (b *beyond) shop(w http.ResponseWriter, r *http.Request) {
	b.note("shop %t", r.Header.Get("Authorization") == "Bearer "+planted)
	_, _ = fmt.Fprintf(w, "you said %s", r.Header.Get("Authorization"))
}

const clerk = `
model: {provider: bedrock, model: eu.anthropic.claude-sonnet-4-5-20250929-v1:0}
tools:
  - name: look
    http: {url: "%s/orders/{order}", allow_private: true, headers: {Authorization: "Bearer {secret:SHOP}"}}
    parameters: {type: object, properties: {order: {type: string}}, required: [order]}
  - name: pay
    lambda: {function: payments, qualifier: live}
    parameters: {type: object, properties: {amount: {type: integer}}, required: [amount]}
permissions: {allow: [look, pay]}
`

func (d *deployed) deployText(name, text string) {
	d.Helper()
	def, err := agentfile.Parse(name+".yaml", []byte(text), nil)
	d.must(err)
	d.must(d.parts.Store.PutDefinition(d.Context(), engine.Definition{Tenant: "acme", Name: name, Digest: def.Digest(), Body: def.Encode()}))
	d.must(d.parts.Store.Deploy(d.Context(), "acme", name, def.Digest()))
}

// kept is what is stored of a run, unpacked.
func (d *deployed) kept(thread string) string {
	d.Helper()
	head, err := d.parts.Store.Load(d.Context(), "acme", thread)
	d.must(err)
	segments, err := d.parts.Store.Segments(d.Context(), "acme", thread, 0, head.Seq)
	d.must(err)
	if len(segments) == 0 {
		d.Fatal("nothing is stored")
	}
	return string(core.Encode(head)) + string(core.Encode(segments))
}

// A run that asks a model of Bedrock, calls a service with a secret of the Parameter Store, and
// invokes a function. The secret is in none of what is kept.
func TestARunReachesModelFunctionAndSecrets(t *testing.T) {
	b := newBeyond(t)
	d := newDeployedWith(t, b.environment())
	d.deployText("clerk", fmt.Sprintf(clerk, b.urls["shop"]))
	_, err := d.starter.Start(t.Context(), d.caller, "k", wire.StartRequest{Agent: "clerk", Input: core.Encode("Pay A-2")})
	d.must(err)
	d.pump()
	run := d.one("done")
	want := []string{"parameter true", "shop true", `invoke /2015-03-31/functions/payments/invocations {"amount":9007199254740993}, key given: true`}
	if got := strings.Join(b.did, "\n"); got != strings.Join(want, "\n") || len(b.asked) != 3 || b.asked[0].Model != "eu.anthropic.claude-sonnet-4-5-20250929-v1:0" {
		t.Errorf("%d questions to the model; what was done:\n%s\nthe log:\n%s", len(b.asked), got, d.out.String())
	}
	shown := fmt.Sprintf("%+v", b.asked)
	events, err := query.New(d.starter).Events(t.Context(), d.caller, run.ID, query.EventQuery{})
	d.must(err)
	for where, text := range map[string]string{"the journal": d.kept(run.ThreadID), "the log": d.out.String(), "what the model is shown": shown, "the events": string(core.Encode(events))} {
		if strings.Contains(text, planted) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(planted))) {
			t.Errorf("the secret is in %s: %s", where, text)
		}
	}
	if !strings.Contains(shown, "[secret SHOP]") {
		t.Errorf("nothing is hidden from the model; the test sees nothing: %s", shown)
	}
}
