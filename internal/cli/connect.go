package cli

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/client"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

const defaultURL = "http://127.0.0.1:8420"

// patience is how long one request asks the server to hold its answer; the server allows no more.
const patience = 20 * time.Second

// address is the server's: the flag, else the environment, else this machine.
func (a *app) address() string {
	return cmp.Or(a.url, a.opts.Getenv("DORMOUSE_URL"), defaultURL)
}

// connect makes the client for the server that flags and environment name. It sends nothing.
func (a *app) connect() (*client.Client, error) {
	addr := a.address()
	if u, err := url.Parse(addr); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usagef("%q is not the address of a server; it looks like %s", addr, defaultURL)
	}
	token, err := a.token()
	if err != nil {
		return nil, err
	}
	return client.New(addr, token, &http.Client{}), nil
}

func (a *app) token() (string, error) {
	if a.tokenFile == "" {
		return a.opts.Getenv("DORMOUSE_TOKEN"), nil
	}
	body, err := os.ReadFile(a.tokenFile)
	if err != nil {
		return "", usagef("the token file cannot be read: %v", err)
	}
	return strings.TrimSpace(string(body)), nil
}

// settled waits until the run waits for somebody or is done.
func settled(ctx context.Context, c *client.Client, id string) (wire.Run, error) {
	for {
		run, err := c.Run(ctx, id, patience)
		if err != nil || run.Status == "waiting" || run.Status == "done" {
			return run, err
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
