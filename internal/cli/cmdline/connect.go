package cmdline

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

const defaultURL = "http://127.0.0.1:8420"

// patience is how long one request asks the server to hold its answer; the server allows no more.
const patience = 20 * time.Second

// Address is the server's: the flag, else the environment, else this machine.
func (a *App) Address() string {
	return cmp.Or(a.URL, a.Opts.Getenv("DORMOUSE_URL"), defaultURL)
}

// Connect makes the client for the server that flags and environment name. It sends that server
// nothing.
func (a *App) Connect() (*client.Client, error) {
	addr := a.Address()
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
	opts := []client.Option{client.WithToken(token), client.WithRetries(0)}
	if signs {
		sign, err := a.signing(addr)
		if err != nil {
			return nil, err
		}
		opts = append(opts, client.WithSigner(sign))
	}
	return client.New(addr, opts...), nil
}

// signs says whether requests are signed with AWS credentials: the flag, else the environment. A
// file of a token that is named is a flag as well, and goes before the variable.
func (a *App) signs() bool {
	if a.Flags.Changed("aws-iam") {
		return a.AWSIAM
	}
	return a.TokenFile == "" && a.Opts.Getenv("DORMOUSE_AWS_IAM") == "1"
}

// twoWaysIn names the token and the wish for signatures that stand beside each other: one of them
// would be passed over without a word.
func (a *App) twoWaysIn() error {
	token, signature := "DORMOUSE_TOKEN", "DORMOUSE_AWS_IAM=1"
	if a.TokenFile != "" {
		token = "--token-file"
	}
	if a.AWSIAM {
		signature = "--aws-iam"
	}
	return Usagef("%s gives a token, and %s signs with AWS credentials; a request has one of them, so take one away", token, signature)
}

// signing returns the function that signs requests to a server that authenticates callers with IAM.
func (a *App) signing(addr string) (client.SignFunc, error) {
	u, err := url.Parse(addr)
	if err != nil {
		return nil, err // it was looked at before
	}
	if u.User != nil {
		return nil, Usagef("the address holds a name and a password, and --aws-iam signs with AWS credentials; leave one of them out")
	}
	region := cmp.Or(a.Opts.Getenv("DORMOUSE_AWS_REGION"), awscli.RegionOf(u.Hostname()))
	signer, err := awscli.NewSigner(context.Background(), region, a.Opts.Now)
	if err != nil {
		return nil, err
	}
	a.signedFor = signer.Region()
	return signer.Sign, nil
}

// oneAddress refuses what requests cannot be sent below. It repeats neither a password nor a query,
// which may be as secret.
func oneAddress(addr string) error {
	u, err := url.Parse(addr)
	switch {
	case strings.ContainsAny(addr, "?#"):
		return Usagef("the address of a server has no query and no fragment; leave out what begins with ? or #, so that it looks like %s", defaultURL)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return Usagef("%q is not the address of a server; it looks like %s", ShownAddress(addr), defaultURL)
	case strings.Contains(u.EscapedPath(), "@"):
		return Usagef("the address of a server has no @ in its path; in a password write / as %%2F, in a path write @ as %%40")
	}
	return nil
}

// ShownAddress is an address without the name and password in it.
func ShownAddress(addr string) string {
	u, err := url.Parse(addr)
	if err == nil && u.Host != "" && u.User != nil {
		u.User = nil
		return u.String()
	}
	// what is before an @ may be meant as a password, wherever it stands
	return addr[strings.LastIndex(addr, "@")+1:]
}

func (a *App) token() (string, error) {
	if a.TokenFile == "" {
		token := strings.TrimSpace(a.Opts.Getenv("DORMOUSE_TOKEN"))
		return token, oneToken("$DORMOUSE_TOKEN", token)
	}
	body, err := os.ReadFile(a.TokenFile)
	if err != nil {
		return "", Usagef("the token file cannot be read: %v", err)
	}
	token := strings.TrimSpace(string(body))
	if token == "" {
		return "", Usagef("the token file %s is empty; write into it what dormouse tokens add printed", a.TokenFile)
	}
	return token, oneToken("the file "+a.TokenFile, token)
}

// oneToken refuses what cannot be sent as a token, before it is taken for a server that does not
// answer. It does not repeat it.
func oneToken(place, token string) error {
	cannot := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case strings.Contains(token, "\n"):
		return Usagef("%s does not hold one token (it has %d lines; is it the server's file of tokens?); a token is what dormouse tokens add printed",
			place, strings.Count(token, "\n")+1)
	case strings.ContainsFunc(token, cannot):
		return Usagef("%s does not hold one token (a blank or a character that no token has is in it; is it the server's file of tokens?); "+
			"a token is what dormouse tokens add printed", place)
	}
	return nil
}

// Settled waits until the run is waiting or done. Meanwhile it warns when the run's model does not
// answer; the first requests are short, so that the warning comes soon.
func (a *App) Settled(ctx context.Context, c *client.Client, id string) (wire.Run, error) {
	var warned time.Time // about this next attempt
	for wait := 2 * time.Second; ; wait = min(2*wait, patience) {
		run, err := c.PollRun(ctx, id, wait)
		if err != nil || run.Status == "waiting" || run.Status == "done" {
			return run, err
		}
		if next := run.NextAttemptAt; run.WaitingOn != "" && next != nil && !next.Equal(warned) {
			warned = next.Time
			a.Warn(run.Code, fmt.Sprintf("%s waits for its %s: %s; next attempt in %s", id, run.WaitingOn, display.OneLine(run.Detail), display.Lasting(max(next.Sub(a.Now()), time.Second))))
		}
	}
}

// Ended turns a run that ended in error into a failure; nil for every other run.
func Ended(run wire.Run) error {
	if run.Error == nil {
		return nil
	}
	return Fail(ExitFailed, run.Error.Code, "the run ended in error: "+cmp.Or(run.Error.Detail, run.Error.Code))
}
