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

// patience is how long one request may wait on the server, which allows no more.
const patience = 20 * time.Second

// Address is the server URL: the flag, else the environment, else this machine.
func (a *App) Address() string {
	return cmp.Or(a.URL, a.Opts.Getenv("DORMOUSE_URL"), defaultURL)
}

// Connect makes the client for the server that flags and environment name. It sends no request.
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

// signs reports whether requests are signed with AWS credentials: by the flag, else by the
// environment. The flag --token-file takes precedence over the variable.
func (a *App) signs() bool {
	if a.Flags.Changed("aws-iam") {
		return a.AWSIAM
	}
	return a.TokenFile == "" && a.Opts.Getenv("DORMOUSE_AWS_IAM") == "1"
}

// twoWaysIn names the token and the signature option that were both set: one of them would be
// silently ignored.
func (a *App) twoWaysIn() error {
	token, signature := "DORMOUSE_TOKEN", "DORMOUSE_AWS_IAM=1"
	if a.TokenFile != "" {
		token = "--token-file"
	}
	if a.AWSIAM {
		signature = "--aws-iam"
	}
	return Usagef("%s sets a token and %s signs with AWS credentials, but a request can use only one; remove one of them", token, signature)
}

// signing returns the function that signs requests to a server that authenticates callers with IAM.
func (a *App) signing(addr string) (client.SignFunc, error) {
	u, err := url.Parse(addr)
	if err != nil {
		return nil, err // oneAddress has checked it
	}
	if u.User != nil {
		return nil, Usagef("the server URL contains a password and --aws-iam signs with AWS credentials, but a request can use only one; remove one of them")
	}
	region := cmp.Or(a.Opts.Getenv("DORMOUSE_AWS_REGION"), awscli.RegionOf(u.Hostname()))
	signer, err := awscli.NewSigner(context.Background(), region, a.Opts.Now)
	if err != nil {
		return nil, err
	}
	a.signedFor = signer.Region()
	return signer.Sign, nil
}

// oneAddress refuses a URL that can't be the base of requests. The error contains neither a
// password nor a query, which may be secret too.
func oneAddress(addr string) error {
	u, err := url.Parse(addr)
	switch {
	case strings.ContainsAny(addr, "?#"):
		return Usagef("the server URL has a query or a fragment; remove everything from ? or # on, as in %s", defaultURL)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return Usagef("%q is not a server URL; use one such as %s", ShownAddress(addr), defaultURL)
	case strings.Contains(u.EscapedPath(), "@"):
		return Usagef("the server URL has an @ in its path; write / in a password as %%2F, and @ in a path as %%40")
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
	// text before an @ may be meant as a password
	return addr[strings.LastIndex(addr, "@")+1:]
}

func (a *App) token() (string, error) {
	if a.TokenFile == "" {
		token := strings.TrimSpace(a.Opts.Getenv("DORMOUSE_TOKEN"))
		return token, oneToken("$DORMOUSE_TOKEN", token)
	}
	body, err := os.ReadFile(a.TokenFile)
	if err != nil {
		return "", Usagef("cannot read the token file: %v", err)
	}
	token := strings.TrimSpace(string(body))
	if token == "" {
		return "", Usagef("the token file %s is empty; write the token printed by dormouse tokens add into it", a.TokenFile)
	}
	return token, oneToken("the file "+a.TokenFile, token)
}

// oneToken refuses text that can't be sent as a token. Otherwise sending it would fail as if the
// server didn't answer. The error doesn't contain the text.
func oneToken(place, token string) error {
	cannot := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case strings.Contains(token, "\n"):
		return Usagef("%s is not a token: it has %d lines (is it the server's tokens file?); use the token printed by dormouse tokens add",
			place, strings.Count(token, "\n")+1)
	case strings.ContainsFunc(token, cannot):
		return Usagef("%s is not a token: it contains a space or a character that tokens never have (is it the server's tokens file?); "+
			"use the token printed by dormouse tokens add", place)
	}
	return nil
}

// Settled waits until the run needs an answer or is done. It warns while the run's model doesn't
// answer; the first requests are short so that the warning comes early.
func (a *App) Settled(ctx context.Context, c *client.Client, id string) (wire.Run, error) {
	var warned time.Time // about this next attempt
	for wait := 2 * time.Second; ; wait = min(2*wait, patience) {
		run, err := c.PollRun(ctx, id, wait)
		if err != nil || Rests(run) {
			return run, err
		}
		if next := run.NextAttemptAt; run.WaitingOn != "" && next != nil && !next.Equal(warned) {
			warned = next.Time
			a.Warn(run.Code, fmt.Sprintf("%s is waiting for its %s: %s; next attempt in %s", id, run.WaitingOn, display.OneLine(run.Detail), display.Lasting(max(next.Sub(a.Now()), time.Second))))
		}
	}
}

// Ended turns a run that ended in error into a failure; nil for every other run.
func Ended(run wire.Run) error {
	if run.Error == nil {
		return nil
	}
	return Fail(ExitFailed, run.Error.Code, "the run failed: "+cmp.Or(run.Error.Detail, run.Error.Code))
}
