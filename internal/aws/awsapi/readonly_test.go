package awsapi_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
)

// signedBy is a request that was signed by a caller of this ARN.
func signedBy(arn string) func(*asked) {
	return func(e *asked) {
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: arn}}
	}
}

const (
	dashboard = "arn:aws:sts::123456789012:assumed-role/inbox-dashboard-readonly/x"
	approver  = "arn:aws:sts::123456789012:assumed-role/approver/anna"
	mailer    = "arn:aws:sts::123456789012:assumed-role/mailer/i-1"
)

// The hole that this closes: every caller who signed with IAM was an admin, and found links that
// approve in the inbox. So a role that was allowed nothing but GET /v1/approvals could approve.
func TestACallerWhoMayReadTheInboxCannotApprove(t *testing.T) {
	rules, err := access.ParseIAMRoles("arn:aws:sts::123456789012:assumed-role/approver/*=decide,start; arn:aws:sts::123456789012:assumed-role/mailer/*=link")
	if err != nil {
		t.Fatal(err)
	}
	d := deploy(t, stack.Access{Auth: stack.IAM, Tenant: "acme", IAMRoles: rules})
	run := decoded[wire.Run](t, d.ask(d.runs, "POST", "/v1/runs", `{"agent":"refund-desk","input":"Refund order A-17"}`, signedBy(approver)), 202)
	d.work()
	list := d.ask(d.decisions, "GET", "/v1/approvals", "", signedBy(dashboard))
	inbox := decoded[wire.Page[wire.Approval]](t, list, 200)
	if len(inbox.Items) != 1 || strings.Contains(list.Body, `"link"`) || strings.Contains(list.Body, "/v1/approvals/") {
		t.Fatalf("what a reader of the inbox sees: %s", list.Body)
	}
	sus := inbox.Items[0].Suspension.ID
	bodies := map[string]string{"/decisions": `{"target":"` + sus + `","action":"resume"}`, "/links": `{"target":"` + sus + `","for":"me"}`}
	for _, rt := range httpapi.Routes() {
		if rt.Method == "GET" || rt.Public || !strings.HasPrefix(rt.Path, "/v1/runs/{id}/") {
			continue
		}
		rest := strings.TrimPrefix(rt.Path, "/v1/runs/{id}")
		to := d.runs
		if rt.Part == httpapi.PartDecisions {
			to = d.decisions
		}
		if got := d.ask(to, rt.Method, "/v1/runs/"+run.ID+rest, bodies[rest], signedBy(dashboard)); got.StatusCode != 403 || !strings.Contains(got.Body, "role_required") {
			t.Errorf("%s %s: %d %s", rt.Method, rest, got.StatusCode, got.Body)
		}
	}
	// to decide is not to hand on the right to
	for _, arn := range []string{dashboard, approver} {
		if got := d.ask(d.decisions, "POST", "/v1/runs/"+run.ID+"/links", bodies["/links"], signedBy(arn)); got.StatusCode != 403 {
			t.Errorf("%s made a link: %d %s", arn, got.StatusCode, got.Body)
		}
	}
	if got := d.ask(d.decisions, "POST", "/v1/runs/"+run.ID+"/links", bodies["/links"], signedBy(mailer)); got.StatusCode != 201 {
		t.Errorf("the mailer makes no link: %d %s", got.StatusCode, got.Body)
	}
	if got := d.ask(d.decisions, "POST", "/v1/runs/"+run.ID+"/decisions", bodies["/decisions"], signedBy(approver)); got.StatusCode != 202 {
		t.Errorf("the approver decides: %d %s", got.StatusCode, got.Body)
	}
}
