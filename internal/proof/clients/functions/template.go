package functions

import (
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/aws/template"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/platform"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/servers"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/stack"
)

const authorizer = "JwtAuthorizer"

// readTemplate is what is in front of the functions, as template.yaml says it for Auth=JWT.
func readTemplate(text []byte, issuer string, origins []string) (*stack.Stack, error) {
	t, err := template.Parse(text)
	if err != nil {
		return nil, err
	}
	r, err := t.Resolver(template.Deployment{Stack: "clients", Region: servers.Region, Account: servers.Account,
		Parameters: map[string]string{"Auth": "JWT", "JwtIssuer": issuer, "JwtAudience": platform.Audience, "Origins": strings.Join(origins, ",")}})
	if err != nil {
		return nil, err
	}
	s := &stack.Stack{Functions: map[string]stack.Function{}, URLs: []stack.FunctionURL{{ID: "streams", Function: "StreamFunction", Stream: true}}}
	for _, f := range t.Functions() {
		s.Functions[f.ID] = stack.Function{ID: f.ID, Name: f.ID}
	}
	s.API = stack.API{ID: "api", Authorizers: map[string]stack.Authorizer{authorizer: {Issuer: issuer, Audience: []string{platform.Audience}}}}
	for _, route := range t.All("AWS::ApiGatewayV2::Route") {
		one := stack.Route{Function: behind(t, route), Authorizer: authorizer, Timeout: 30 * time.Second}
		one.Method, one.Path, _ = strings.Cut(fmt.Sprint(route.Get("RouteKey")), " ")
		if route.Get("AuthorizationType") == "NONE" {
			one.Authorizer = ""
		}
		s.API.Routes = append(s.API.Routes, one)
	}
	if len(origins) == 0 {
		return s, nil
	}
	cors, err := r.Resolve(t.Resource("HttpApi").Get("CorsConfiguration"))
	members, ok := cors.(map[string]any)
	if err != nil || !ok {
		return nil, fmt.Errorf("the CorsConfiguration is %v: %w", cors, err)
	}
	s.API.CORS = &stack.CORS{AllowOrigins: texts(members["AllowOrigins"]), AllowMethods: texts(members["AllowMethods"]), AllowHeaders: texts(members["AllowHeaders"]),
		ExposeHeaders: texts(members["ExposeHeaders"]), MaxAge: 600}
	return s, nil
}

// behind is the function that a route leads to.
func behind(t template.Template, route template.Resource) string {
	target, _ := route.Get("Target", "Fn::Sub").(string)
	id := strings.TrimSuffix(strings.TrimPrefix(target, "integrations/${"), "}")
	alias, _ := t.Resource(id).Get("IntegrationUri", "Ref").(string)
	return strings.TrimSuffix(alias, ".Alias")
}

func texts(v any) (all []string) {
	for _, one := range template.List(v) {
		all = append(all, fmt.Sprint(one))
	}
	return all
}
