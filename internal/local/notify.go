package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"os"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/notify/slack"
	"github.com/dormouse-dev/dormouse/internal/notify/smtp"
	"github.com/dormouse-dev/dormouse/internal/notify/teams"
	"github.com/dormouse-dev/dormouse/internal/notify/template"
	"github.com/dormouse-dev/dormouse/internal/notify/webhook"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// endpoints send notices to the targets of agent files, starts and tenants. addr is where the
// server listens: links lead there if no public URL is configured.
func (o Options) endpoints(front *frontend.Frontend, targets notify.Targets, keys access.LinkKeys, addr string) (*notify.Endpoints, error) {
	public := o.PublicURL
	if host, _, _ := net.SplitHostPort(addr); public.String() == "" && IsLoopback(host) {
		var err error
		if public, err = access.ParsePublicURL("http://" + addr); err != nil {
			return nil, err
		}
	}
	o.Secrets = o.secrets()
	over := webhook.Options{Secrets: o.Secrets, Guard: o.guard(), Clock: o.clock, Agent: "dormouse/" + o.Version}
	urls := map[notice.Format]notify.Sender{}
	for format, body := range map[notice.Format]webhook.Body{
		notice.FormatStandard: webhook.Standard,
		notice.FormatSlack:    slack.Message,
		notice.FormatTeams:    teams.Card,
		notice.FormatTemplate: template.Body,
		notice.FormatA2A:      webhook.Task,
	} {
		urls[format] = webhook.New(over, body)
	}
	links := notify.Links{Keys: func(context.Context) (access.LinkKeys, error) { return keys, nil }, Public: public, Codes: o.Mail.From.Address != ""}
	e := &notify.Endpoints{Targets: targets, Writer: notify.NewWriter(notify.WriterOptions{Frontend: front, Links: links, Logger: o.Logger}), URL: urls, Slack: o.slack,
		Clock: o.clock, Random: machine.Random{}, Logger: o.Logger}
	if o.Mail.From.Address != "" {
		e.Mail = smtp.New(smtp.Options{Server: o.Mail.Server, From: o.Mail.From, Secrets: o.Secrets, Clock: o.clock})
	}
	return e, nil
}

// guard lets requests reach public addresses, and the private ones that the operator allows.
func (o Options) guard() *netguard.Guard {
	return netguard.New(netguard.Options{Clock: machine.Clock{}, Private: o.Private, Lookup: o.lookup, Dial: o.dial})
}

// lacks says why deliveries to a webhook can't work on this server.
func (o Options) lacks(ctx context.Context, w notice.Webhook) (why []string) {
	for _, named := range w.Target.SecretsBy() {
		if _, err := o.secrets()(ctx, named.Name); errors.Is(err, secret.ErrNotSet) {
			why = append(why, fmt.Sprintf("%s: the secret %s is not set on this server; set %s", named.Field, named.Name, secret.Variable(named.Name)))
		}
	}
	if at, err := url.Parse(w.Target.URL); err == nil && w.Target.AllowPrivate && netguard.Inside(at.Host) && !o.Private.MayHold(at.Scheme, at.Host) {
		why = append(why, fmt.Sprintf("url: the operator does not allow the private address %s; allow it with --allow-private-hosts", at.Host))
	}
	return why
}

// secrets are those that were brought along, or those in the environment.
func (o Options) secrets() secret.Source {
	if o.Secrets != nil {
		return o.Secrets
	}
	return secret.Environment(os.Getenv)
}

// slackAPI is for tests of the whole program, which build it with the address of a double of Slack
// (-ldflags -X). Every other build has no such address, and an operator can't set one.
var slackAPI string

// slackApp posts to channels and answers buttons.
func (o Options) slackApp(messages slack.Messages) *slack.App {
	return slack.NewApp(slack.AppOptions{Messages: messages, Secrets: o.secrets(), Guard: o.guard(),
		Clock: o.clock, API: cmp.Or(o.SlackAPI, slackAPI), Agent: "dormouse/" + o.Version})
}

// Mail is how notices are sent as mail; the zero value sends none.
type Mail struct {
	Server smtp.Server
	From   mail.Address
}
