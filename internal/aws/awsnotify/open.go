package awsnotify

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/awsmail"
	"github.com/dormouse-dev/dormouse/internal/aws/awssecret"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/notify"
	sinkbus "github.com/dormouse-dev/dormouse/internal/notify/sink/eventbridge"
	sinktopic "github.com/dormouse-dev/dormouse/internal/notify/sink/sns"
	"github.com/dormouse-dev/dormouse/internal/notify/slack"
	"github.com/dormouse-dev/dormouse/internal/notify/teams"
	"github.com/dormouse-dev/dormouse/internal/notify/template"
	"github.com/dormouse-dev/dormouse/internal/notify/webhook"
)

// Open assembles the function that delivers notices, and test notices for the HTTP API. Log lines
// and metrics go to out. It makes no network request. chance returns a number from 0 to 1, for
// jitter.
func Open(s awsenv.Settings, register awsenv.Register, chance func() float64, out io.Writer) (lambda.Handler, error) {
	p, err := awsenv.NewNotify(s, register, out)
	if err != nil {
		return nil, err
	}
	to := endpoints(p)
	tests, err := tests(p, to)
	if err != nil {
		return nil, err
	}
	return function{lines: lambda.NewHandler(New(p, to, chance).Handle), tests: lambda.NewHandler(tests)}, nil
}

// New returns a handler with the parts of p.
func New(p awsenv.Notify, to *notify.Endpoints, chance func() float64) *Handler {
	return &Handler{Batch: stack.Batch{Metrics: p.Metrics, Units: p.Units, Logger: p.Logger, Chance: chance, Panics: emf.NoticeFailures},
		deliverer: func(log *slog.Logger) deliverer { return p.Deliverer(to, log) }, lines: p.Lines}
}

// keysAge is how long the keys of links are used before they are read again, as in the API.
const keysAge = time.Minute

func endpoints(p awsenv.Notify) *notify.Endpoints {
	secrets := awssecret.Source(p.Settings)
	ring := access.NewRing(p.LinkKeys, p.Clock.Now)
	links := notify.Links{Keys: func(ctx context.Context) (access.LinkKeys, error) { return ring.Keys(ctx, keysAge) }, Public: p.Public, Codes: p.MailFrom != ""}
	hooks := webhook.Options{Secrets: secrets, Guard: p.Guard, Clock: p.Clock, Agent: "dormouse/" + p.Version}
	app := slack.NewApp(slack.AppOptions{Messages: p.Store, Secrets: secrets, Guard: p.Guard, Clock: p.Clock, API: p.SlackAPI, Agent: "dormouse/" + p.Version})
	return &notify.Endpoints{Targets: p.Subscribers, Writer: notify.NewWriter(notify.WriterOptions{Frontend: p.Frontend, Links: links, Logger: p.Logger}),
		URL: map[notice.Format]notify.Sender{notice.FormatStandard: webhook.New(hooks, webhook.Standard), notice.FormatSlack: webhook.New(hooks, slack.Message),
			notice.FormatTeams: webhook.New(hooks, teams.Card), notice.FormatTemplate: webhook.New(hooks, template.Body), notice.FormatA2A: webhook.New(hooks, webhook.Task)},
		Mail: mail(p), Slack: app, Sinks: sinks(p.Settings), Clock: p.Clock, Random: p.Random, Logger: p.Logger}
}

// sinks are those that the stack has, by their endpoints. Their clients don't retry: the line does,
// and records each attempt.
func sinks(s stack.Settings) map[string]notify.Sender {
	config, all := s.Config(), map[string]notify.Sender{}
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	if s.Sinks.EventBus != "" {
		all[stack.EventBusEndpoint] = sinkbus.Sender{Bus: s.Sinks.EventBus, Source: s.Sinks.Source, API: eventbridge.NewFromConfig(config,
			func(o *eventbridge.Options) { o.BaseEndpoint = stack.Endpoint(s.Endpoints.EventBridge, o.BaseEndpoint) })}
	}
	if s.Sinks.Topic != "" {
		all[stack.TopicEndpoint] = sinktopic.Sender{Topic: s.Sinks.Topic, API: sns.NewFromConfig(config,
			func(o *sns.Options) { o.BaseEndpoint = stack.Endpoint(s.Endpoints.SNS, o.BaseEndpoint) })}
	}
	return all
}

// mail sends through SES, if the stack has a sender.
func mail(p awsenv.Notify) notify.Sender {
	if by := awsmail.Sender(p.Settings, p.Clock); by != nil {
		return by
	}
	return nil
}
