package webhook

import (
	"errors"
	"net/http"
	"slices"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/a2a"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// errNothing reports that a notice has nothing to say to an endpoint.
var errNothing = errors.New("webhook: there is nothing to send")

// Task is the body of [notice.FormatA2A]: the task as it is.
func Task(n client.Notice, to notice.Target, _ secret.Values) ([]byte, error) {
	switch {
	case to.Push == nil:
		return nil, errors.New("only a client of A2A can add an endpoint with this format")
	case n.Run == nil:
		return nil, errors.New("the task can't be read any more")
	}
	e := a2a.Pushed(*n.Run, to.Push.Context, n.Event.At.Time, slices.Contains(n.Truncated, "run.pending"))
	if e == nil {
		return nil, nil
	}
	return a2a.PushBody(e)
}

// pushHeaders are what a client of A2A wants to be sent with. The token has two names: one in the
// protocol's own SDK for Go, one in those for other languages.
func pushHeaders(header http.Header, p *notice.Push) {
	if p == nil {
		return
	}
	header.Set("Content-Type", "application/a2a+json")
	header.Set("A2A-Version", "1.0")
	if p.Token != "" {
		header.Set("X-A2A-Notification-Token", p.Token)
		header.Set("A2A-Notification-Token", p.Token)
	}
	if p.Scheme != "" {
		header.Set("Authorization", p.Authorization())
	}
}
