package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
)

// operations are the calls of this client, by the operations of the OpenAPI document that they
// send.
var operations = map[string][]func(ctx context.Context, c *client.Client){
	"ask": {func(ctx context.Context, c *client.Client) { c.Ask(ctx, client.AskRequest{}, "") }},
	"readAsk": {
		func(ctx context.Context, c *client.Client) { c.PollAsk(ctx, "x", 1) },
		func(ctx context.Context, c *client.Client) { c.WaitAsk(ctx, "x") }},
	"cancelAsk":  {func(ctx context.Context, c *client.Client) { c.CancelAsk(ctx, "x") }},
	"health":     {func(ctx context.Context, c *client.Client) { c.Health(ctx) }},
	"listAgents": {func(ctx context.Context, c *client.Client) { c.Agents(ctx) }},
	"readAgent":  {func(ctx context.Context, c *client.Client) { c.Agent(ctx, "x") }},
	"listApprovals": {
		func(ctx context.Context, c *client.Client) { client.Collect(c.Approvals(ctx, client.ApprovalFilter{})) },
		func(ctx context.Context, c *client.Client) { c.ApprovalPage(ctx, client.ApprovalFilter{}) },
		func(ctx context.Context, c *client.Client) { c.Inbox(ctx, client.ApprovalFilter{}) }},
	"listDecisions": {
		func(ctx context.Context, c *client.Client) { client.Collect(c.Decisions(ctx, client.DecisionFilter{})) },
		func(ctx context.Context, c *client.Client) { c.DecisionPage(ctx, client.DecisionFilter{}) }},
	"readTenantEvents": {
		func(ctx context.Context, c *client.Client) { client.Collect(c.Feed(ctx, client.FeedOptions{})) },
		func(ctx context.Context, c *client.Client) { c.FeedPage(ctx, client.FeedOptions{}, 0, 0) }},
	"listRuns": {
		func(ctx context.Context, c *client.Client) { client.Collect(c.Runs(ctx, client.RunFilter{})) },
		func(ctx context.Context, c *client.Client) { c.RunPage(ctx, client.RunFilter{}) }},
	"startRun": {func(ctx context.Context, c *client.Client) { c.StartRun(ctx, client.StartRequest{}, "") }},
	"readRun": {
		func(ctx context.Context, c *client.Client) { c.Run(ctx, "x") },
		func(ctx context.Context, c *client.Client) { c.PollRun(ctx, "x", 1) },
		func(ctx context.Context, c *client.Client) { c.WaitRun(ctx, "x") }},
	"listCalls": {func(ctx context.Context, c *client.Client) { client.Collect(c.Calls(ctx, "x")) }},
	"readCall":  {func(ctx context.Context, c *client.Client) { c.Call(ctx, "x", "y") }},
	"cancelRun": {func(ctx context.Context, c *client.Client) { c.Cancel(ctx, "x") }},
	"decide": {
		func(ctx context.Context, c *client.Client) { c.Decide(ctx, "x", client.Decision{}) },
		func(ctx context.Context, c *client.Client) { c.DecideAll(ctx, "x", client.Decisions{}) }},
	"readEvents": {
		func(ctx context.Context, c *client.Client) { client.Collect(c.Events(ctx, "x", client.EventOptions{})) },
		func(ctx context.Context, c *client.Client) { c.EventPage(ctx, "x", client.EventQuery{}) }},
	"interruptRun":     {func(ctx context.Context, c *client.Client) { c.Interrupt(ctx, "x", "") }},
	"listLinks":        {func(ctx context.Context, c *client.Client) { c.Links(ctx, "x") }},
	"makeLink":         {func(ctx context.Context, c *client.Client) { c.MakeLink(ctx, "x", client.LinkRequest{}) }},
	"revokeLink":       {func(ctx context.Context, c *client.Client) { c.RevokeLink(ctx, "x", "y") }},
	"resumeRun":        {func(ctx context.Context, c *client.Client) { c.Resume(ctx, "x", client.ResumeRequest{}) }},
	"retryRun":         {func(ctx context.Context, c *client.Client) { c.Retry(ctx, "x", "") }},
	"decideBulk":       {func(ctx context.Context, c *client.Client) { c.DecideBulk(ctx, client.Bulk{}) }},
	"readSuspension":   {func(ctx context.Context, c *client.Client) { c.Suspension(ctx, "x") }},
	"answerSuspension": {func(ctx context.Context, c *client.Client) { c.DecideSuspension(ctx, client.Decision{Target: "x"}) }},
	"withdrawDecision": {func(ctx context.Context, c *client.Client) { c.Withdraw(ctx, "x", "y") }},
	"findThread":       {func(ctx context.Context, c *client.Client) { c.FindThread(ctx, "x") }},
	"readThread":       {func(ctx context.Context, c *client.Client) { c.Thread(ctx, "x") }},
	"readThreadEvents": {
		func(ctx context.Context, c *client.Client) {
			client.Collect(c.ThreadEvents(ctx, "x", client.EventOptions{}))
		},
		func(ctx context.Context, c *client.Client) { c.ThreadEventPage(ctx, "x", client.EventQuery{}) }},
	"readMessages": {
		func(ctx context.Context, c *client.Client) {
			client.Collect(c.Messages(ctx, "x", client.MessageOptions{}))
		},
		func(ctx context.Context, c *client.Client) { c.MessagePage(ctx, "x", client.MessageOptions{}) }},
	"sendMessage": {func(ctx context.Context, c *client.Client) { c.SendMessage(ctx, "x", client.MessageRequest{}, "") }},
	"readMe":      {func(ctx context.Context, c *client.Client) { c.Me(ctx) }},
	"readOps":     {func(ctx context.Context, c *client.Client) { c.Ops(ctx) }},
	"readUsage":   {func(ctx context.Context, c *client.Client) { c.Usage(ctx, time.Now()) }},
	"listThreadRuns": {
		func(ctx context.Context, c *client.Client) {
			client.Collect(c.ThreadRuns(ctx, "x", client.RunFilter{}))
		},
		func(ctx context.Context, c *client.Client) { c.ThreadRunPage(ctx, "x", client.RunFilter{}) }},
	"addWebhook":      {func(ctx context.Context, c *client.Client) { c.AddWebhook(ctx, client.WebhookRequest{}, "") }},
	"listWebhooks":    {func(ctx context.Context, c *client.Client) { c.Webhooks(ctx) }},
	"readWebhook":     {func(ctx context.Context, c *client.Client) { c.Webhook(ctx, "x") }},
	"changeWebhook":   {func(ctx context.Context, c *client.Client) { c.ChangeWebhook(ctx, "x", client.WebhookChange{}) }},
	"removeWebhook":   {func(ctx context.Context, c *client.Client) { c.RemoveWebhook(ctx, "x") }},
	"testWebhook":     {func(ctx context.Context, c *client.Client) { c.TestWebhook(ctx, "x") }},
	"disableEndpoint": {func(ctx context.Context, c *client.Client) { c.DisableEndpoint(ctx, client.EndpointRequest{}) }},
	"enableEndpoint":  {func(ctx context.Context, c *client.Client) { c.EnableEndpoint(ctx, "x") }},
	"listDisabled":    {func(ctx context.Context, c *client.Client) { client.Collect(c.DisabledEndpoints(ctx)) }},
	"readDelivery":    {func(ctx context.Context, c *client.Client) { c.Delivery(ctx, "x") }},
	"redriveDelivery": {func(ctx context.Context, c *client.Client) { c.RedriveDelivery(ctx, "x") }},
	"redriveEndpoint": {func(ctx context.Context, c *client.Client) { c.RedriveEndpoint(ctx, "x") }},
	"forgetDelivery":  {func(ctx context.Context, c *client.Client) { c.ForgetDelivery(ctx, "x") }},
	"listDeliveries": {
		func(ctx context.Context, c *client.Client) {
			client.Collect(c.Deliveries(ctx, client.DeliveryFilter{}))
		},
		func(ctx context.Context, c *client.Client) { c.DeliveryPage(ctx, client.DeliveryFilter{}) }},
}

// without are the operations that this client has no method for, and why.
var without = map[string]string{
	"receiveHook": "for services that send webhooks of their own, signed in their own way",
	"receivePush": "for remote agents, which get the address with the task",
	"openapi":     "a document for tools, which read it with any HTTP client",
	"readStream":  "the server redirects readers of events there, with a ticket; the client follows",
	"showLink":    "the page of an approval link, for its recipient",
	"answerLink":  "the page of an approval link, for its recipient",

	"beginSignIn":  "for a browser, on its way to an identity provider",
	"finishSignIn": "for a browser, on its way back",
}

// The client has a method for each operation of the API, which sends the operation's request.
func TestTheClientHasEveryOperation(t *testing.T) {
	raw, err := os.ReadFile("../internal/api/httpapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for path, methods := range document.Paths {
		for method, o := range methods {
			id := o.OperationID
			known[id] = true
			switch calls, reason := operations[id], without[id]; {
			case len(calls) == 0 && reason == "", len(calls) > 0 && reason != "":
				t.Errorf("%s %s: %s needs either a method or a reason for having none", method, path, id)
			default:
				for i, call := range calls {
					if got := requestOf(t, call); !matches(got, method, path) {
						t.Errorf("%s, call %d: the request is %s, want %s %s", id, i, got, method, path)
					}
				}
			}
		}
	}
	for id := range operations {
		if !known[id] {
			t.Errorf("the API has no operation %s", id)
		}
	}
	for id := range without {
		if !known[id] {
			t.Errorf("the API has no operation %s", id)
		}
	}
}

// requestOf is the first request of a call, which is refused.
func requestOf(t *testing.T, call func(context.Context, *client.Client)) (first string) {
	t.Helper()
	network := client.WithTransport(func(http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if first == "" {
				first = r.Method + " " + r.URL.Path
			}
			return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
		})
	})
	call(t.Context(), client.New("http://127.0.0.1:1", network))
	return first
}

var parameter = regexp.MustCompile(`\\\{[^}]*\\\}`)

func matches(request, method, template string) bool {
	pattern := "^" + strings.ToUpper(method) + " " + parameter.ReplaceAllString(regexp.QuoteMeta(template), "[^/]+") + "$"
	return regexp.MustCompile(pattern).MatchString(request)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
