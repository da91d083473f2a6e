package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// integration is what a route leads to.
type integration struct {
	function string
	timeout  time.Duration
}

const integrationLimit = 30 * time.Second // of an HTTP API

func (b *builder) api(id string, raw []byte) error {
	var p struct {
		Body              json.RawMessage
		ProtocolType      string
		CorsConfiguration *cors
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	if p.Body != nil || p.ProtocolType != "HTTP" {
		return errors.New("this reader knows HTTP APIs whose routes are resources")
	}
	b.s.API.ID, b.s.API.CORS = strings.ToLower(id), p.CorsConfiguration.read()
	return nil
}

func (b *builder) integration(name string, raw []byte) error {
	var p struct {
		IntegrationType, IntegrationUri, PayloadFormatVersion string
		TimeoutInMillis                                       number
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	if p.IntegrationType != "AWS_PROXY" || p.PayloadFormatVersion != "2.0" {
		return fmt.Errorf("this reader knows AWS_PROXY with events of version 2.0, not %s with %q", p.IntegrationType, p.PayloadFormatVersion)
	}
	function, err := b.functionOf(p.IntegrationUri)
	limit := time.Duration(p.TimeoutInMillis) * time.Millisecond
	if limit == 0 {
		limit = integrationLimit
	}
	b.integrations[name] = integration{function: function, timeout: limit}
	return err
}

func (b *builder) authorizer(name string, raw []byte) error {
	var p struct {
		AuthorizerType   string
		IdentitySource   []string
		JwtConfiguration struct {
			Issuer   string
			Audience []string
		}
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	if p.AuthorizerType != "JWT" || !slices.Equal(p.IdentitySource, []string{"$request.header.Authorization"}) {
		return fmt.Errorf("this reader knows JWT authorizers on the Authorization header, not %s on %v", p.AuthorizerType, p.IdentitySource)
	}
	b.s.API.Authorizers[name] = Authorizer{Issuer: p.JwtConfiguration.Issuer, Audience: p.JwtConfiguration.Audience}
	return nil
}

func (b *builder) route(raw []byte) error {
	var p struct{ RouteKey, Target, AuthorizationType, AuthorizerId string }
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	target, there := b.integrations[strings.TrimPrefix(p.Target, "integrations/")]
	if !there {
		return fmt.Errorf("the target %q is no integration of this stack", p.Target)
	}
	r := Route{Function: target.function, Timeout: target.timeout}
	if p.RouteKey != "$default" {
		r.Method, r.Path, _ = strings.Cut(p.RouteKey, " ")
	}
	switch p.AuthorizationType {
	case "", "NONE":
	case "AWS_IAM":
		r.Authorizer = IAM
	case "JWT":
		if _, there := b.s.API.Authorizers[p.AuthorizerId]; !there {
			return fmt.Errorf("there is no authorizer %q", p.AuthorizerId)
		}
		r.Authorizer = p.AuthorizerId
	default:
		return fmt.Errorf("this reader does not know the authorization %s", p.AuthorizationType)
	}
	b.s.API.Routes = append(b.s.API.Routes, r)
	return nil
}
