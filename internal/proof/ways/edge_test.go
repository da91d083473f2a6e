package ways

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/aws/template"
)

// edge is the template of CloudFront before a stack, with and without streams.
func edge(t *testing.T, streams string) *template.Resolver {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/edge/cloudfront.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r, err := parsed(t, text).Resolver(template.Deployment{Stack: "edge", Region: "us-east-1", Account: "123456789012", Parameters: map[string]string{
		"DomainName": "desk.example.com", "CertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/c", "StreamHost": streams,
		"OriginDomainName": "d-1.execute-api.eu-central-1.amazonaws.com"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// property is a property of a resource, with references resolved.
func property(t *testing.T, r *template.Resolver, id string, path ...string) any {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/edge/cloudfront.yaml")
	if err != nil {
		t.Fatal(err)
	}
	value, err := r.Resolve(parsed(t, text).Resource(id).Get(path...))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestRedirectsToStreamsStayUnderTheDomain runs the function that CloudFront runs on each response.
func TestRedirectsToStreamsStayUnderTheDomain(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node to run the function of CloudFront")
	}
	r := edge(t, "abc.lambda-url.eu-central-1.on.aws")
	for location, want := range map[string]string{
		"https://abc.lambda-url.eu-central-1.on.aws/v1/streams/T?after=C": "https://desk.example.com/v1/streams/T?after=C",
		"https://abc.lambda-url.eu-central-1.on.aws.evil.example/":        "https://abc.lambda-url.eu-central-1.on.aws.evil.example/",
		"/v1/runs/run_1": "/v1/runs/run_1",
		"":               "",
	} {
		headers := map[string]any{"content-type": map[string]string{"value": "text/plain"}}
		if location != "" {
			headers["location"] = map[string]string{"value": location}
		}
		event, err := json.Marshal(map[string]any{"response": map[string]any{"headers": headers}})
		if err != nil {
			t.Fatal(err)
		}
		program := template.Text(property(t, r, "StreamsStayHere", "FunctionCode")) + "\nprocess.stdout.write((handler(" + string(event) + ").headers.location || {value: ''}).value);"
		out, err := exec.CommandContext(t.Context(), "node", "-e", program).Output()
		if err != nil || string(out) != want {
			t.Errorf("a redirect to %q becomes %q (%v), and should be %q", location, out, err, want)
		}
	}
}

func TestCloudFrontCachesNothingAndPassesTheHostThatCallersSign(t *testing.T) {
	const nothing, all, allButHost = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad", "216adef6-5c7f-47e4-b989-5492eafa07d3", "b689b0a8-53d0-40ab-baf2-68738e2966ac"
	for _, streams := range []string{"", "abc.lambda-url.eu-central-1.on.aws"} {
		r := edge(t, streams)
		config := func(path ...string) any {
			return property(t, r, "Distribution", append([]string{"DistributionConfig"}, path...)...)
		}
		api := func(name string) any { return config("DefaultCacheBehavior", name) }
		if api("CachePolicyId") != nothing || api("OriginRequestPolicyId") != all || api("ViewerProtocolPolicy") != "https-only" || len(template.List(api("AllowedMethods"))) != 7 {
			t.Errorf("requests to the API aren't passed on as they are")
		}
		others := template.List(config("CacheBehaviors"))
		if (len(others) == 1) != (streams != "") || len(template.List(config("Origins"))) != 1+len(others) {
			t.Fatalf("with streams at %q: %v", streams, others)
		}
		if streams == "" {
			continue
		}
		s, _ := others[0].(map[string]any)
		if s["PathPattern"] != "/v1/streams/*" || s["CachePolicyId"] != nothing || s["OriginRequestPolicyId"] != allButHost || s["TargetOriginId"] != "streams" {
			t.Errorf("streams: %v", s)
		}
	}
}

// TestTheWebACLBlocksByAddressAndCountsBodies: what people say to agents is no attack.
func TestTheWebACLBlocksByAddressAndCountsBodies(t *testing.T) {
	rules := template.Text(property(t, edge(t, ""), "WebAcl", "Rules"))
	for _, want := range []string{`"RateBasedStatement":{"AggregateKeyType":"IP","EvaluationWindowSec":300,"Limit":"2000"}`, "AWSManagedRulesAmazonIpReputationList",
		"AWSManagedRulesKnownBadInputsRuleSet", `{"ActionToUse":{"Count":{}},"Name":"CrossSiteScripting_BODY"}`} {
		if !strings.Contains(rules, want) {
			t.Errorf("the rules have no %s:\n%s", want, rules)
		}
	}
}
