package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
)

const defaultURL = "http://127.0.0.1:8420"

// patience is how long one request asks the server to hold its answer; the server allows no more.
const patience = 20 * time.Second

// address is the server's: the flag, else the environment, else this machine.
func (a *app) address() string {
	return cmp.Or(a.url, a.opts.Getenv("DORMOUSE_URL"), defaultURL)
}

// connect makes the client for the server that flags and environment name. It sends that server nothing.
func (a *app) connect() (*client.Client, error) {
	addr := a.address()
	if err := oneAddress(addr); err != nil {
		return nil, err
	}
	token, err := a.token()
	if err != nil {
		return nil, err
	}
	signs := a.signs()
	if signs && token != "" {
		return nil, a.twoWaysIn()
	}
	network := &http.Client{}
	if signs {
		if network.Transport, err = a.signing(addr); err != nil {
			return nil, err
		}
	}
	return client.New(addr, token, network), nil
}

// signs says whether requests are signed with AWS credentials: the flag, else the environment. A file of a token that is named is a flag as well,
// and goes before the variable.
func (a *app) signs() bool {
	if a.flags.Changed("aws-iam") {
		return a.awsIAM
	}
	return a.tokenFile == "" && a.opts.Getenv("DORMOUSE_AWS_IAM") == "1"
}

// twoWaysIn names the token and the wish for signatures that stand beside each other: one of them would be passed over without a word.
func (a *app) twoWaysIn() error {
	token, signature := "DORMOUSE_TOKEN", "DORMOUSE_AWS_IAM=1"
	if a.tokenFile != "" {
		token = "--token-file"
	}
	if a.awsIAM {
		signature = "--aws-iam"
	}
	return usagef("%s gives a token, and %s signs with AWS credentials; a request has one of them, so take one away", token, signature)
}

// signing is the network to a server that lets callers in by IAM.
func (a *app) signing(addr string) (http.RoundTripper, error) {
	u, err := url.Parse(addr)
	if err != nil {
		return nil, err // it was looked at before
	}
	if u.User != nil {
		return nil, usagef("the address holds a name and a password, and --aws-iam signs with AWS credentials; leave one of them out")
	}
	region := cmp.Or(a.opts.Getenv("DORMOUSE_AWS_REGION"), awscli.RegionOf(u.Hostname()))
	signer, err := awscli.NewSigner(context.Background(), region, a.opts.Now)
	if err != nil {
		return nil, err
	}
	a.signedFor = signer.Region()
	return signer.Sign(u.Host, http.DefaultTransport), nil
}

// oneAddress refuses what requests cannot be sent below. It repeats neither a password nor a query, which may be as secret.
func oneAddress(addr string) error {
	u, err := url.Parse(addr)
	switch {
	case strings.ContainsAny(addr, "?#"):
		return usagef("the address of a server has no query and no fragment; leave out what begins with ? or #, so that it looks like %s", defaultURL)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return usagef("%q is not the address of a server; it looks like %s", shownAddress(addr), defaultURL)
	case strings.Contains(u.EscapedPath(), "@"):
		return usagef("the address of a server has no @ in its path; in a password write / as %%2F, in a path write @ as %%40")
	}
	return nil
}

// shownAddress is an address without the name and password in it.
func shownAddress(addr string) string {
	u, err := url.Parse(addr)
	if err == nil && u.Host != "" && u.User != nil {
		u.User = nil
		return u.String()
	}
	return addr[strings.LastIndex(addr, "@")+1:] // what is before an @ may be meant as a password, wherever it stands
}

func (a *app) token() (string, error) {
	if a.tokenFile == "" {
		token := strings.TrimSpace(a.opts.Getenv("DORMOUSE_TOKEN"))
		return token, oneToken("$DORMOUSE_TOKEN", token)
	}
	body, err := os.ReadFile(a.tokenFile)
	if err != nil {
		return "", usagef("the token file cannot be read: %v", err)
	}
	token := strings.TrimSpace(string(body))
	if token == "" {
		return "", usagef("the token file %s is empty; write into it what dormouse tokens add printed", a.tokenFile)
	}
	return token, oneToken("the file "+a.tokenFile, token)
}

// oneToken refuses what cannot be sent as a token, before it is taken for a server that does not answer. It does not repeat it.
func oneToken(place, token string) error {
	cannot := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case strings.Contains(token, "\n"):
		return usagef("%s does not hold one token (it has %d lines; is it the server's file of tokens?); a token is what dormouse tokens add printed",
			place, strings.Count(token, "\n")+1)
	case strings.ContainsFunc(token, cannot):
		return usagef("%s does not hold one token (a blank or a character that no token has is in it; is it the server's file of tokens?); "+
			"a token is what dormouse tokens add printed", place)
	}
	return nil
}

// settled waits until the run is waiting or done. Meanwhile it warns when the run's model does not answer; the first requests are
// short, so that the warning comes soon.
func (a *app) settled(ctx context.Context, c *client.Client, id string) (wire.Run, error) {
	var warned time.Time // about this next attempt
	for wait := 2 * time.Second; ; wait = min(2*wait, patience) {
		run, err := c.Run(ctx, id, wait)
		if err != nil || run.Status == "waiting" || run.Status == "done" {
			return run, err
		}
		if next := run.NextAttemptAt; run.WaitingOn != "" && next != nil && !next.Equal(warned) {
			warned = next.Time
			a.warn(run.Code, fmt.Sprintf("%s waits for its %s: %s; next attempt in %s", id, run.WaitingOn, oneLine(run.Detail), lasting(max(next.Sub(a.now()), time.Second))))
		}
	}
}

// ended turns a run that ended in error into a failure; nil for every other run.
func ended(run wire.Run) error {
	if run.Error == nil {
		return nil
	}
	return &failure{ExitFailed, run.Error.Code, "the run ended in error: " + cmp.Or(run.Error.Detail, run.Error.Code)}
}
