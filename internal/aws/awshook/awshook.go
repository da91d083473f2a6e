// Package awshook is the function of a stack that receives webhooks. It alone can read the secrets
// that verify them, and it can read no others.
package awshook

import (
	"context"
	"fmt"
	"io"

	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awssecret"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/hooks"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/notify/slack"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/quota"
)

// Open assembles the function. Log lines go to out. It makes no network request.
func Open(s awsenv.Settings, register awsenv.Register, out io.Writer) (awsapi.Gateway, error) {
	p, err := awsenv.NewHooks(s, register, out)
	if err != nil {
		return nil, err
	}
	secrets := awssecret.Source(s.Settings)
	app := slack.NewApp(slack.AppOptions{Messages: p.Store, Secrets: secrets, Guard: netguard.New(netguard.Options{Clock: machine.Clock{}, Private: s.Private}),
		Clock: p.Clock, API: s.SlackAPI, Agent: "dormouse/" + p.Version})
	return serve(p, secrets, app)
}

func serve(p awsenv.Hooks, secrets secret.Source, app hooks.SlackApp) (awsapi.Gateway, error) {
	receiver := &hooks.Receiver{Frontend: p.Frontend, Hooks: files{p.Store}, Secrets: secrets, Clock: p.Clock, Slack: app}
	return awsapi.Hooks(awsapi.Options{Frontend: p.Frontend, Hooks: receiver, Clock: p.Clock, Rates: p.Rates, Buckets: quota.NewBuckets(p.Units, p.Table), Version: p.Version, Logger: p.Logger})
}

// store has the deployed hook files.
type store interface {
	HookFile(ctx context.Context, name string) (engine.HookFile, error)
}

// files reads a hook for each delivery, so that a deployed file takes effect at once.
type files struct{ store store }

// Hook implements [hooks.Source].
func (f files) Hook(ctx context.Context, name string) (hookfile.Hook, error) {
	stored, err := f.store.HookFile(ctx, name)
	if err != nil {
		return hookfile.Hook{}, err
	}
	h, err := hookfile.Parse(name+".yaml", []byte(stored.Text))
	if err != nil {
		return h, fmt.Errorf("%w: %w", hooks.ErrMistake, err)
	}
	h.Tenant = stored.Tenant
	return h, nil
}
