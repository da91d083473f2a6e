package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// shownURL replaces the address of the server in the samples.
const shownURL = "http://127.0.0.1:8420"

// curls runs curl against a server whose ids and times are the same each time, and keeps the
// responses.
type curls struct {
	*server
	samples []httpapi.Sample
	last    string // answer
}

// call runs curl with these words. The header named is shown with the answer.
func (c *curls) call(call, about, words string, shown ...string) {
	c.t.Helper()
	command := "curl -sS " + strings.ReplaceAll(words, "URL", shownURL)
	headers := filepath.Join(c.t.TempDir(), "headers")
	var out, complaint bytes.Buffer
	run := exec.CommandContext(c.t.Context(), "sh", "-c", strings.ReplaceAll(command, shownURL, c.url)+" -D "+headers)
	run.Stdout, run.Stderr = &out, &complaint
	if err := run.Run(); err != nil {
		c.t.Fatalf("%s: %v\n%s", command, err, complaint.String())
	}
	status, header := readHeaders(c.t, headers)
	c.last = out.String()
	sample := httpapi.Sample{Operation: call, About: about, Command: command, Status: status, Answer: indented(c.last)}
	for _, name := range shown {
		sample.Header = name + ": " + header.Get(name)
	}
	c.samples = append(c.samples, sample)
}

func readHeaders(t *testing.T, file string) (status int, h http.Header) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\r\n")
	h = http.Header{}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	status, err = strconv.Atoi(strings.Fields(lines[0])[1])
	if err != nil {
		t.Fatal(err)
	}
	return status, h
}

func indented(answer string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(answer), "", "  ") != nil {
		return answer
	}
	return b.String()
}

var suspensionID = regexp.MustCompile(`"id": ?"(sus_[^"]+)"`)

var linkID = regexp.MustCompile(`lnk_[0-9a-z]+`)

var fingerprintIn = regexp.MustCompile(`v1:[0-9a-f]{64}`)

var linkPath = regexp.MustCompile(`/v1/approvals/[^"]+`)

// suspension is the first one in the last answer.
func (c *curls) suspension() string {
	c.t.Helper()
	found := suspensionID.FindStringSubmatch(c.last)
	if found == nil {
		c.t.Fatalf("no suspension in %s", c.last)
	}
	return found[1]
}

func (c *curls) run() (run wire.Run) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(c.last), &run); err != nil || run.ID == "" {
		c.t.Fatalf("no run: %s", c.last)
	}
	return run
}

func refundDesk(d engine.Definition) (wire.Agent, error) {
	return wire.Agent{Name: d.Name, Version: d.Digest, Description: "Looks up and refunds orders.", Model: "scripted", Tools: []wire.Tool{
		{Name: "issue_refund", Description: "Refunds an order.", Delivery: "at_most_once", Permission: "conditional",
			Parameters: json.RawMessage(`{"type":"object","required":["order","amount"],"properties":{"order":{"type":"string"},"amount":{"type":"number"}}}`)},
		{Name: "locate", Description: "Where the user is.", Client: true, Permission: "allow", Result: json.RawMessage(`{"type":"object"}`)}}}, nil
}

const asJSON = ` -H 'Content-Type: application/json' -d `

// TestOpenAPIPage sends a request for every operation with curl, and checks the samples in the
// document and docs/reference/api.md against the responses.
func TestOpenAPIPage(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not on this machine: the samples of the API are not run, and docs/reference/api.md is not checked")
	}
	c := &curls{server: newServer(t, settings{options: withLinksAndHooks, front: func(o *frontend.Options) { o.Describe = refundDesk }})}
	c.oneRun()
	c.conversation()
	c.asked()
	c.webhooks()
	c.rest()
	shown := map[string]bool{}
	for _, one := range c.samples {
		shown[one.Operation] = true
	}
	for _, rt := range httpapi.Table() {
		if !shown[rt.Name] {
			t.Errorf("%s has no example with curl", rt.Name)
		}
	}
	httpapi.CheckSamples(t, c.samples)
}

// oneRun is a run from its start to its end.
func (c *curls) oneRun() {
	c.call("startRun", "", "URL/v1/runs -H 'Idempotency-Key: order-A-17'"+asJSON+"'"+httpapi.BodyOf("startRun", "text")+"'", "Location")
	run := c.run()
	c.worker.Suspend(run.ID, frontendtest.Call{ID: "call_1", Tool: "issue_refund", Kind: core.KindApproval, Arguments: json.RawMessage(`{"order":"A-17","amount":120}`)})
	path := "URL/v1/runs/" + run.ID
	c.call("readRun", "", path+" -H 'Prefer: wait=20'", "Preference-Applied")
	c.call("readRun", "A run that does not exist or belongs to another tenant", "URL/v1/runs/run_nobody_0", "Content-Type")
	c.call("listApprovals", "", "'URL/v1/approvals?agent=desk'")
	sus, listed := c.suspension(), c.last
	for range 2 {
		c.call("makeLink", "", path+"/links"+asJSON+"'"+strings.Replace(httpapi.BodyOf("makeLink", "one"), "sus_2_qcxsnhzekczzodc7", sus, 1)+"'")
	}
	c.samples = c.samples[:len(c.samples)-1]
	link, other := "URL"+linkPath.FindString(c.samples[len(c.samples)-1].Answer), linkID.FindString(c.last)
	c.call("showLink", "", link)
	c.call("beginSignIn", "The link doesn't require it", link+"/sign-in")
	c.call("finishSignIn", "The browser that began has a cookie", "'URL/v1/signed-in?code=8f2c&state=k3qz'")
	c.call("revokeLink", "", "-X DELETE "+path+"/links/"+other)
	c.call("listLinks", "", path+"/links")
	fingerprint := fingerprintIn.FindString(listed)
	yes := strings.Replace(httpapi.BodyOf("decide", "yes"), "sus_2_qcxsnhzekczzodc7", sus, 1)
	no := strings.Replace(httpapi.BodyOf("decide", "no"), "sus_2_qcxsnhzekczzodc7", sus, 1)
	c.call("decide", "", path+"/decisions"+asJSON+"'"+yes+"'")
	c.call("decide", "A different decision after the first", path+"/decisions"+asJSON+"'"+no+"'")
	c.call("answerLink", "The call was already answered through the API", link+asJSON+"'"+httpapi.BodyOf("answerLink", "yes")+"'")
	c.call("showLink", "The outcome", link)
	c.call("readSuspension", "", "URL/v1/suspensions/"+sus)
	c.call("decideBulk", "A question that was answered differently gets no second answer", "URL/v1/decisions"+asJSON+"'"+`{"action":"cancel","questions":[{"suspension":"`+sus+`","shown":"`+fingerprint+`"}]}`+"'")
	c.call("withdrawDecision", "The decision wasn't held", "-X DELETE URL/v1/suspensions/"+sus+"/decisions/"+"anna-1")
	c.call("answerSuspension", "The same answer again", "URL/v1/suspensions/"+sus+asJSON+"'"+httpapi.BodyOf("answerSuspension", "yes")+"'")
	c.call("interruptRun", "", "-X POST "+path+"/interrupt")
	c.worker.Drain(run.ID)
	c.call("resumeRun", "", path+"/resume"+asJSON+"'"+httpapi.BodyOf("resumeRun", "reason")+"'")
	c.worker.Finish(run.ID, "Done. 120 for order A-17 is on its way back to you.")
	c.call("listCalls", "", "'"+path+"/calls?limit=1'")
	c.call("readCall", "", path+"/calls/call_1")
	c.call("listDecisions", "", "'URL/v1/decisions?agent=desk&limit=1'")
	c.call("readTenantEvents", "A page", "'URL/v1/events?types=decision.recorded' -H 'Accept: application/json'")
	c.call("readEvents", "A page", "'"+path+"/events?limit=2' -H 'Accept: application/json'")
	c.call("readEvents", "A stream", "-N "+path+"/events", "Content-Type")
	page, err := c.client.EventPage(c.t.Context(), run.ID, client.EventQuery{Limit: 100})
	if err != nil || len(page.Items) < 2 {
		c.t.Fatal(page, err)
	}
	c.call("readStream", "The last event, with a ticket", "-N 'URL/v1/streams/"+ticketFor(run.ID)+"?after="+page.Items[len(page.Items)-2].Cursor+"'", "Content-Type")
}

// asked is an ask from the question to the answer.
func (c *curls) asked() {
	c.call("ask", "", "URL/v1/asks -H 'Idempotency-Key: release-4.2'"+asJSON+"'"+httpapi.BodyOf("ask", "deploy")+"'", "Location")
	run := c.run()
	c.worker.Suspend(run.ID, frontendtest.Call{ID: ask.Call, Tool: ask.Tool, Kind: core.KindApproval, Arguments: json.RawMessage(`{"version":"4.2","hosts":3}`)})
	c.call("readAsk", "", "URL/v1/asks/"+run.ID)
	c.call("cancelAsk", "", "-X POST URL/v1/asks/"+run.ID+"/cancel")
}

// conversation is what comes after the run.
func (c *curls) conversation() {
	first, err := c.client.RunPage(c.t.Context(), client.RunFilter{Limit: 1})
	if err != nil || len(first.Items) != 1 {
		c.t.Fatal(first, err)
	}
	thread := "URL/v1/threads/" + first.Items[0].ThreadID
	c.call("sendMessage", "", thread+"/messages -H 'Idempotency-Key: message-2'"+asJSON+"'"+httpapi.BodyOf("sendMessage", "text")+"'", "Location")
	second := c.run()
	c.worker.End(second.ID, core.Reason{Kind: core.Failed, Code: "model_failed", Detail: "the model did not answer"}, "")
	c.call("retryRun", "", "-X POST URL/v1/runs/"+second.ID+"/retry", "Location")
	third := c.run()
	c.call("cancelRun", "", "-X POST URL/v1/runs/"+third.ID+"/cancel")
	c.call("startRun", "In a conversation with your own key", "URL/v1/runs"+asJSON+"'"+httpapi.BodyOf("startRun", "thread key")+"'")
	c.call("findThread", "", "'URL/v1/threads?key=chat-7'")
	c.call("readThread", "", thread)
	c.call("readMessages", "", "'"+thread+"/messages?limit=3'")
	c.call("readThreadEvents", "A page", "'"+thread+"/events?limit=1' -H 'Accept: application/json'")
	c.call("listThreadRuns", "", "'"+thread+"/runs?limit=1'")
	c.call("listRuns", "", "'URL/v1/runs?status=done&limit=1'")
	if _, err := c.client.StartRun(c.t.Context(), wire.StartRequest{Agent: "desk", Input: core.Encode("Refund order C-3"), Metadata: []byte(`{"ticket":4711}`)}, ""); err != nil {
		c.t.Fatal(err)
	}
	c.call("listRuns", "By metadata and time", "'URL/v1/runs?metadata.ticket=4711&created_after=2026-03-01T00:00:00Z&limit=1'")
}

var webhookID = regexp.MustCompile(`wh_[0-9a-z]+`)

// webhooks are the calls that manage them. A dead notice is redriven and another one forgotten.
func (c *curls) webhooks() {
	body := func(call, name string) string { return asJSON + "'" + httpapi.BodyOf(call, name) + "'" }
	c.call("addWebhook", "", "URL/v1/webhooks -H 'Idempotency-Key: pager'"+body("addWebhook", "url"), "Location")
	id := webhookID.FindString(c.last)
	c.call("listWebhooks", "", "URL/v1/webhooks")
	c.call("readWebhook", "", "URL/v1/webhooks/"+id)
	c.call("changeWebhook", "", "-X PATCH URL/v1/webhooks/"+id+body("changeWebhook", "on"))
	c.call("testWebhook", "", "-X POST URL/v1/webhooks/"+id+"/test")
	c.call("disableEndpoint", "", "URL/v1/webhooks/disable"+body("disableEndpoint", "agent"))
	c.call("listDisabled", "", "URL/v1/webhooks/disabled")
	c.call("enableEndpoint", "", "URL/v1/webhooks/enable"+body("enableEndpoint", "agent"))
	c.dead("thr_a", id, 7)
	c.dead("thr_a", id, 12)
	c.dead("thr_a", "agent/desk/pager", 12)
	c.call("listDeliveries", "", "'URL/v1/webhooks/deliveries?dead=true&limit=1'")
	c.call("redriveEndpoint", "", "URL/v1/webhooks/deliveries/redrive"+body("redriveEndpoint", "agent"))
	one := "URL/v1/webhooks/deliveries/" + c.delivery("thr_a", id, 7)
	c.call("readDelivery", "", one)
	c.call("redriveDelivery", "", "-X POST "+one+"/redrive")
	c.call("forgetDelivery", "", "-X DELETE URL/v1/webhooks/deliveries/"+c.delivery("thr_a", id, 12))
	c.call("removeWebhook", "", "-X DELETE URL/v1/webhooks/"+id)
}

// rest are the calls that are about no run.
func (c *curls) rest() {
	c.call("listAgents", "", "URL/v1/agents")
	c.call("readAgent", "", "URL/v1/agents/desk")
	event := `{"action":"opened","issue":{"number":7,"title":"Refund order A-2"}}`
	c.call("receiveHook", "", "URL/v1/hooks/github-issues -H 'X-Hub-Signature-256: "+githubSignature(hookKey, event)+"'"+asJSON+"'"+event+"'")
	child := c.worker.Delegate(c.start().ID, frontendtest.Call{ID: "c1", Tool: "review"}, "nf5yqx2w7u3kz4oa", 0)
	c.call("receivePush", "", "URL"+access.PushPath+access.Push{Tenant: access.Tenant, Run: child, Token: "nf5yqx2w7u3kz4oa"}.Text()+asJSON+`'{"statusUpdate":{"taskId":"task-81","contextId":"ctx-12","status":{"state":"TASK_STATE_COMPLETED"}}}'`)
	c.call("readMe", "", "URL/v1/me")
	c.call("readOps", "", "URL/v1/ops")
	c.call("readUsage", "", "'URL/v1/usage?day=2026-03-01'")
	c.call("health", "", "URL/healthz")
	c.call("openapi", "", "URL/openapi.json")
	last := &c.samples[len(c.samples)-1]
	last.Answer = last.Answer[:strings.Index(last.Answer, `"info"`)] + "..."
}
