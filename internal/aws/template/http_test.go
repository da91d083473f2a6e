package template

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/console"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/sites"
	"github.com/dormouse-dev/dormouse/internal/api/protocols"
)

var httpChecks = []check{
	{"the routes are those of the API, each to its function, and open only where the API says so", routeWrongs, []breakage{
		{"RouteKey: POST /v1/runs/{id}/cancel", "RouteKey: POST /v1/runs/{id}/stop"},
		{"RouteKey: GET /healthz", "RouteKey: GET /v1/runs/{id}"},
		{"RouteKey: POST /mcp", "RouteKey: PUT /mcp"},
		{"RouteKey: POST /ai-sdk/{agent}\n", "RouteKey: POST /ai-sdk/{agent+}\n"},
		{"    Condition: Jwt\n    Properties:\n      ApiId: !Ref HttpApi\n      RouteKey: GET /.well-known", "    Properties:\n      ApiId: !Ref HttpApi\n      RouteKey: GET /.well-known"},
		{"Target: !Sub integrations/${DecisionIntegration}", "Target: !Sub integrations/${ApiIntegration}"},
		{"AuthorizationType: !If [Jwt, JWT, AWS_IAM]", "AuthorizationType: NONE"},
		{"AuthorizationType: NONE", "AuthorizationType: AWS_IAM"},
		{"AuthorizerId: !If [Jwt, !Ref JwtAuthorizer, !Ref AWS::NoValue]", "AuthorizerId: !Ref JwtAuthorizer"},
		{"ApiId: !Ref HttpApi\n      RouteKey: POST /v1/runs\n", "ApiId: other\n      RouteKey: POST /v1/runs\n"}}},
	{"the API calls the published version, and may", integrationWrongs, []breakage{
		{"IntegrationUri: !Ref DecisionFunction.Alias", "IntegrationUri: !GetAtt DecisionFunction.Arn"},
		{"FunctionName: !Ref ApiFunction.Alias", "FunctionName: !Ref ApiFunction"},
		{"PayloadFormatVersion: \"2.0\"", "PayloadFormatVersion: \"1.0\""},
		{"${HttpApi}/*", "${Table}/*"}}},
	{"pages of other sites may send and see what the program lets them, and what signs a request", corsWrongs, []breakage{
		{"AllowMethods: [GET, POST, PATCH, DELETE]", "AllowMethods: [GET, POST, DELETE]"},
		{", x-ai-sdk-version", ""}, {", x-amz-content-sha256", ", x-other"}, {", x-workflow-run-id", ""},
		{"AllowOrigins: !Ref Origins", "AllowOrigins: [\"*\"]"}}},
	{"requests are throttled, and logged without the paths of links", stageWrongs, []breakage{
		{`"$context.integrationStatus"`, `"$context.integrationErrorMessage"`},
		{"ThrottlingRateLimit: !Ref RequestsPerSecond, ", ""},
		{"\"route\":\"$context.routeKey\"", "\"path\":\"$context.path\""},
		{"\"bytes\":", "\"by\":\"$context.identity.sourceIp\",\"bytes\":"}}},
}

func routeWrongs(t Template) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	have := map[string]Resource{}
	for _, r := range t.All("AWS::ApiGatewayV2::Route") {
		name := fmt.Sprint(r.Get("RouteKey"))
		if have[name].ID != "" || refOf(r.Get("ApiId")) != "HttpApi" {
			say("%s: %s is there twice, or of another API", r.ID, name)
		}
		have[name] = r
	}
	for _, info := range slices.Concat(httpapi.Routes(), protocols.Routes(), console.Routes()) {
		if info.Part == httpapi.PartStreams { // served by the function's own URL
			continue
		}
		name := info.Method + " " + info.Path
		r, there := have[name]
		delete(have, name)
		if !there {
			say("there is no route %s", name)
			continue
		}
		if function := t.behind(r); function != functionOf(info) {
			say("%s goes to %s, and must to %s", name, function, functionOf(info))
		}
		if auth := authorization(r); auth != authorizationOf(info) {
			say("%s is let in by %s, and must be by %s", name, auth, authorizationOf(info))
		}
		want := any(nil)
		switch {
		case strings.Contains(name, "/.well-known/oauth-"): // clients of OAuth read it
			want = "Jwt"
		case info.Part == httpapi.PartPages:
			want = "HasConsole"
		}
		if only := member(r.Body, "Condition"); only != want {
			say("%s is there with the condition %v, and must with %v", name, only, want)
		}
	}
	for name := range have {
		say("the API has no route %s", name)
	}
	return wrong
}

// signing are the headers of a request that a page signs with AWS credentials, beside
// Authorization.
var signing = []string{"x-amz-date", "x-amz-security-token", "x-amz-content-sha256"}

// corsWrongs: API Gateway answers preflight requests itself, and leaves the program's answer out.
func corsWrongs(t Template) (wrong []string) {
	cors := List(t.Resource("HttpApi").Get("CorsConfiguration", "Fn::If"))
	if len(cors) != 3 || cors[0] != "HasOrigins" || refOf(member(cors[1], "AllowOrigins")) != "Origins" {
		return []string{"pages of other sites are let in by something else than Origins"}
	}
	for name, want := range map[string][]string{"AllowMethods": strings.Split(sites.Methods, ", "), "ExposeHeaders": strings.Split(strings.ToLower(sites.Exposed), ", "),
		"AllowHeaders": append(strings.Split(strings.ToLower(sites.Headers), ", "), signing...)} {
		var have []string
		for _, one := range List(member(cors[1], name)) {
			have = append(have, fmt.Sprint(one))
		}
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			wrong = append(wrong, fmt.Sprintf("%s is %v, and must be %v", name, have, want))
		}
	}
	return wrong
}

func functionOf(info httpapi.RouteInfo) string {
	switch info.Part {
	case httpapi.PartDecisions:
		return "DecisionFunction"
	case httpapi.PartHooks:
		return "HookFunction"
	case httpapi.PartTests:
		return "NotifyFunction"
	case httpapi.PartPages:
		return "ConsoleFunction"
	}
	return "ApiFunction"
}

func authorizationOf(info httpapi.RouteInfo) string {
	if info.Public {
		return `"NONE" null`
	}
	return `{"Fn::If":["Jwt","JWT","AWS_IAM"]} {"Fn::If":["Jwt",{"Ref":"JwtAuthorizer"},{"Ref":"AWS::NoValue"}]}`
}

func authorization(r Resource) string {
	kind, _ := json.Marshal(r.Get("AuthorizationType"))
	authorizer, _ := json.Marshal(r.Get("AuthorizerId"))
	return string(kind) + " " + string(authorizer)
}

// behind is the function that a route leads to.
func (t Template) behind(route Resource) string {
	target, _ := route.Get("Target", "Fn::Sub").(string)
	id := strings.TrimSuffix(strings.TrimPrefix(target, "integrations/${"), "}")
	return strings.TrimSuffix(refOf(t.Resource(id).Get("IntegrationUri")), ".Alias")
}

func integrationWrongs(t Template) (wrong []string) {
	allowed := map[string]bool{}
	for _, p := range t.All("AWS::Lambda::Permission") {
		from, _ := p.Get("SourceArn", "Fn::Sub").(string)
		if p.Get("Principal") == "apigateway.amazonaws.com" && strings.HasSuffix(from, "${AWS::AccountId}:${HttpApi}/*") {
			allowed[refOf(p.Get("FunctionName"))] = true
		}
	}
	for _, i := range t.All("AWS::ApiGatewayV2::Integration") {
		called := refOf(i.Get("IntegrationUri"))
		if !strings.HasSuffix(called, "Function.Alias") || !allowed[called] {
			wrong = append(wrong, fmt.Sprintf("%s calls %q; it must call an alias that the API is allowed to call", i.ID, called))
		}
		if i.Get("PayloadFormatVersion") != "2.0" || i.Get("IntegrationType") != "AWS_PROXY" {
			wrong = append(wrong, i.ID+" must send events of version 2.0 by AWS_PROXY: the functions read no others")
		}
	}
	return wrong
}

// plain are variables of an access log that have neither quotes nor line breaks, whatever is asked.
var plain = []string{"$context.requestTime", "$context.requestId", "$context.routeKey", "$context.status", "$context.responseLatency",
	"$context.integrationLatency", "$context.responseLength", "$context.error.responseType", "$context.integrationStatus"}

func stageWrongs(t Template) (wrong []string) {
	stage := t.Resource("HttpStage")
	for _, limit := range []string{"ThrottlingRateLimit", "ThrottlingBurstLimit"} {
		if refOf(stage.Get("DefaultRouteSettings", limit)) != "RequestsPerSecond" {
			wrong = append(wrong, limit+" must be what RequestsPerSecond says")
		}
	}
	format, _ := stage.Get("AccessLogSettings", "Format").(string)
	for _, secret := range []string{"path", "resourcePath", "requestUri", "sourceIp", "caller", "user", "claims"} {
		if strings.Contains(format, secret) {
			wrong = append(wrong, "the access log has "+secret+": the path of a link is the right to answer it, and who asks is nobody's business")
		}
	}
	for _, name := range regexp.MustCompile(`\$context\.[\w.]+`).FindAllString(format, -1) {
		if !slices.Contains(plain, name) {
			wrong = append(wrong, "the access log has "+name+", which API Gateway doesn't escape: a quote in it would end the JSON")
		}
	}
	if !json.Valid([]byte(format)) || !strings.Contains(format, "$context.routeKey") {
		wrong = append(wrong, "the access log must be JSON with the route")
	}
	return wrong
}
