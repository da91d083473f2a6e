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

// Refused says why the server, or a gateway before it, said no, and what to do about it.
func (a *App) Refused(p *client.Error) *Failure {
	f := RefusedPlainly(p)
	f.Detail += a.advice(p)
	return f
}

// tokensAdd is how a token of a server of one's own is made; a stack's tokens are somebody else's.
const tokensAdd = "made beside the server with: dormouse tokens add NAME --roles ROLES"

// advice is what to do about a refusal that is about who asks, and about every one that is not the
// server's own word.
func (a *App) advice(p *client.Error) string {
	gateway := awscli.RegionOf(a.host()) != ""
	switch {
	case p.Code == "":
		return "; " + a.gatewayAdvice(p)
	case p.Status == http.StatusUnauthorized && gateway:
		return "; " + a.unknownToken()
	case p.Status == http.StatusUnauthorized:
		return "; give a token with $DORMOUSE_TOKEN or --token-file, " + tokensAdd
	case p.Code == "role_required" && gateway:
		return "; use a token that has the role, from the issuer that the stack trusts"
	case p.Code == "role_required":
		return "; use a token that has the role, " + tokensAdd + " (dormouse help tokens lists them)"
	case p.Code == "not_admitted":
		return `; that is for whoever operates the stack to mend, who sets claims and parameters: docs/guides/deploy-on-aws.md, "Authentication"`
	}
	return ""
}

// gatewayAdvice is what to do about the answer of a gateway, which knows nothing of runs.
func (a *App) gatewayAdvice(p *client.Error) string {
	switch {
	case p.Status == http.StatusUnauthorized:
		return a.unknownToken()
	case p.Status == http.StatusForbidden:
		return a.notLetIn(strings.ToLower(p.Message))
	case p.Status == http.StatusNotFound:
		return fmt.Sprintf("there is no such path at %s; look at the address", ShownAddress(a.Address()))
	case p.Status == http.StatusTooManyRequests || p.Status >= http.StatusInternalServerError:
		return "it comes from what stands before the server, and what was asked may be done or not; try again " + later(p.RetryAfter)
	}
	return fmt.Sprintf("it comes from what stands before the server, if there is one; look at the address %s", ShownAddress(a.Address()))
}

func later(d time.Duration) string {
	if d == 0 {
		return "in a moment"
	}
	return "in " + d.String()
}

// unknownToken is for a 401: of a gateway, or behind one, where dormouse tokens add makes nothing
// that it takes.
func (a *App) unknownToken() string {
	token, _ := a.token() // that it can be read was seen before
	switch {
	case token != "":
		return "the token has expired, or is of another issuer or for another audience; get a new one from the issuer that this address trusts"
	case a.signs():
		return "this address takes no AWS signatures; leave --aws-iam out (or DORMOUSE_AWS_IAM unset), " +
			"and set DORMOUSE_TOKEN to a token of the issuer that it trusts"
	}
	return "set DORMOUSE_TOKEN, or name with --token-file, a token of the issuer that this address trusts"
}

// notLetIn is for a 403 of a gateway. said is its message in small letters.
func (a *App) notLetIn(said string) string {
	token, _ := a.token()
	switch {
	case token != "":
		return "this address does not take the token; if it lets callers in by IAM, give no token (DORMOUSE_TOKEN, --token-file) and say --aws-iam"
	case !a.signs():
		return "if it is a stack on AWS, add --aws-iam to sign with AWS credentials, or set DORMOUSE_TOKEN to a token of the issuer that it trusts"
	case strings.Contains(said, "signature expired"), strings.Contains(said, "signature not yet current"):
		return "the clock of this machine is wrong; set it, since AWS takes signatures for a few minutes"
	case strings.Contains(said, "expired"):
		return fmt.Sprintf("the AWS credentials have expired; get new ones, as with aws sso login, and look at %s", awscli.WhichCredentials())
	}
	return fmt.Sprintf("the AWS credentials are not let in, or the region is not that of the API: they are those of %s, signed for %s; "+
		"allow them execute-api:Invoke on the API, take others with AWS_PROFILE, or say the region with DORMOUSE_AWS_REGION",
		awscli.WhichCredentials(), cmp.Or(a.signedFor, "the configured region"))
}

// host is the name in the server's address.
func (a *App) host() string {
	u, err := url.Parse(a.Address())
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// silent says that nobody answers, with what the network said if it did. A server on this machine
// can be started; for any other the address is all there is to look at.
func (a *App) silent(err *url.Error) *Failure {
	todo := "start one with: dormouse dev"
	if !a.nearby() {
		todo = "look at the address and at the network"
		if err != nil {
			todo += " (" + display.OneLine(err.Err.Error()) + ")"
		}
	}
	return Fail(ExitUnreachable, "unreachable", fmt.Sprintf("no server answers at %s; %s", ShownAddress(a.Address()), todo))
}

// nearby says whether the address is of this machine.
func (a *App) nearby() bool {
	host := a.host()
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	self, err := os.Hostname()
	return strings.EqualFold(host, "localhost") || err == nil && strings.EqualFold(host, self)
}
