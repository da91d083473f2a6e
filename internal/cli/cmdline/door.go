package cmdline

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// Refused says why the server, or a gateway in front of it, refused, and what to do about it.
func (a *App) Refused(p *client.Error) *Failure {
	f := RefusedPlainly(p)
	f.Detail += a.advice(p)
	return f
}

// tokensAdd is how the operator of a server creates a token; a stack on AWS has another issuer.
const tokensAdd = "created on the server with: dormouse tokens add NAME --roles ROLES"

// advice is what to do about a refusal that depends on the caller, or that a gateway sent.
func (a *App) advice(p *client.Error) string {
	gateway := awscli.RegionOf(a.host()) != ""
	switch {
	case p.Code == "":
		return "; " + a.gatewayAdvice(p)
	case p.Status == http.StatusUnauthorized && gateway:
		return "; " + a.unknownToken()
	case p.Status == http.StatusUnauthorized:
		return "; set $DORMOUSE_TOKEN or --token-file to a token " + tokensAdd
	case p.Code == "role_required" && gateway:
		return "; use a token with this role, from the issuer that the stack trusts"
	case p.Code == "role_required":
		return "; use a token with this role, " + tokensAdd + " (dormouse help tokens lists the roles)"
	case p.Code == "not_admitted":
		return `; ask the operator of the stack to check its claims and parameters (docs/guides/deploy-on-aws.md, "Authentication")`
	}
	return ""
}

// gatewayAdvice is what to do about the response of a gateway, which knows nothing about runs.
func (a *App) gatewayAdvice(p *client.Error) string {
	switch {
	case p.Status == http.StatusUnauthorized:
		return a.unknownToken()
	case p.Status == http.StatusForbidden:
		return a.notLetIn(strings.ToLower(p.Message))
	case p.Status == http.StatusNotFound:
		return fmt.Sprintf("%s has no such path; check the server URL", ShownAddress(a.Address()))
	case p.Status == http.StatusTooManyRequests || p.Status >= http.StatusInternalServerError:
		return "the response is from a gateway or proxy, so the request may or may not have been executed; try again " + later(p.RetryAfter)
	}
	return fmt.Sprintf("the response is not from a Dormouse server, but maybe from a gateway or proxy; check the server URL %s", ShownAddress(a.Address()))
}

func later(d time.Duration) string {
	if d == 0 {
		return "in a moment"
	}
	return "in " + d.String()
}

// unknownToken is for a 401 of a gateway, or from behind one, where tokens of dormouse tokens add
// are not accepted.
func (a *App) unknownToken() string {
	token, _ := a.token() // Connect has read it
	switch {
	case token != "":
		return "the token has expired, or has another issuer or audience; get a new one from the issuer that this server trusts"
	case a.signs():
		return "this server doesn't accept AWS signatures; remove --aws-iam (or unset DORMOUSE_AWS_IAM) " +
			"and set DORMOUSE_TOKEN to a token from the issuer that it trusts"
	}
	return "set DORMOUSE_TOKEN or --token-file to a token from the issuer that this server trusts"
}

// notLetIn is for a 403 of a gateway. said is its message in lower case.
func (a *App) notLetIn(said string) string {
	token, _ := a.token()
	switch {
	case token != "":
		return "this server doesn't accept the token; if it uses IAM authentication, remove the token (DORMOUSE_TOKEN, --token-file) and add --aws-iam"
	case !a.signs():
		return "if it is a stack on AWS, add --aws-iam to sign with AWS credentials, or set DORMOUSE_TOKEN to a token from the issuer that it trusts"
	case strings.Contains(said, "signature expired"), strings.Contains(said, "signature not yet current"):
		return "the clock of this machine is wrong; correct it, because AWS accepts a signature only for a few minutes"
	case strings.Contains(said, "expired"):
		return fmt.Sprintf("the AWS credentials have expired; get new ones, for example with aws sso login, and check %s", awscli.WhichCredentials())
	}
	return fmt.Sprintf("the AWS credentials have no access, or the region is wrong: they come from %s and the request was signed for %s; "+
		"allow execute-api:Invoke on the API, choose other credentials with AWS_PROFILE, or set the region with DORMOUSE_AWS_REGION",
		awscli.WhichCredentials(), cmp.Or(a.signedFor, "the configured region"))
}

// host is the host name in the server URL.
func (a *App) host() string {
	u, err := url.Parse(a.Address())
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// silent says that no server answers, with the network's error if there is one. A server on this
// machine can be started; for any other, the caller can check the URL and the network.
func (a *App) silent(err *url.Error) *Failure {
	todo := "start one with: dormouse dev"
	if !a.nearby() {
		todo = "check the server URL and the network"
		if err != nil {
			todo += " (" + display.OneLine(err.Err.Error()) + ")"
		}
	}
	return Fail(ExitUnreachable, "unreachable", fmt.Sprintf("no server answers at %s; %s", ShownAddress(a.Address()), todo))
}

// nearby reports whether the server URL is on this machine.
func (a *App) nearby() bool {
	host := a.host()
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	self, err := os.Hostname()
	return strings.EqualFold(host, "localhost") || err == nil && strings.EqualFold(host, self)
}
