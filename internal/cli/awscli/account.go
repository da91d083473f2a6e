//go:build !noaws

package awscli

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/model/bedrock"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/lambdatool"
)

// Account is AWS as this machine's user has it, for models of Bedrock and tools that are Lambda
// functions. Credentials and region are looked for at the first call: a server starts without any,
// and one that finds none looks again at the next call. Safe for concurrent use.
type Account struct {
	log    *slog.Logger
	caller func(region string) *lambdatool.Caller

	looking chan struct{} // holds one token while a call loads a configuration
	// by requested region; only the call that holds the token uses it
	configs map[string]aws.Config

	mu  sync.Mutex
	own secret.Values // credentials that were found
}

// NewAccount looks for nothing yet. hidden are values that no result of a Lambda function may show
// beside the credentials; nil for none.
func NewAccount(log *slog.Logger, hidden func() secret.Values) *Account {
	a := &Account{log: log, looking: make(chan struct{}, 1), configs: map[string]aws.Config{}, own: secret.Values{}}
	all := func() secret.Values { return a.hidden(hidden) }
	a.caller = func(region string) *lambdatool.Caller {
		return lambdatool.New(&functions{account: a, region: region},
			lambdatool.Options{Clock: machine.Clock{}, Random: machine.Random{}, Hidden: all})
	}
	return a
}

func (a *Account) hidden(more func() secret.Values) secret.Values {
	values := secret.Values{}
	if more != nil {
		maps.Copy(values, more())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.Copy(values, a.own)
	return values
}

// config finds credentials and a region, once for each region that is asked for.
func (a *Account) config(ctx context.Context, region string) (aws.Config, error) {
	select {
	case a.looking <- struct{}{}:
	case <-ctx.Done():
		return aws.Config{}, context.Cause(ctx)
	}
	defer func() { <-a.looking }()
	if found, ok := a.configs[region]; ok {
		return found, nil
	}
	c, err := load(ctx, region)
	if err != nil {
		return c, err
	}
	if c.Region == "" {
		return c, &Problem{"no_region", "say in which AWS region to call; set AWS_REGION, or region in the profile or the agent file", nil}
	}
	if credentials, err := c.Credentials.Retrieve(ctx); err == nil { // load has just had them
		a.keep(credentials)
	}
	a.configs[region] = c
	return c, nil
}

func (a *Account) keep(c aws.Credentials) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, value := range map[string]string{"AWS_SECRET_ACCESS_KEY": c.SecretAccessKey, "AWS_SESSION_TOKEN": c.SessionToken} {
		if value != "" {
			a.own[name] = value
		}
	}
}

// shown is the part of err that callers may see: why AWS cannot be called, and what to do. All
// other errors of the SDK go to the log.
func (a *Account) shown(err error) string {
	p, ok := errors.AsType[*Problem](err)
	if ok && (p.Kind == "no_credentials" || p.Kind == "no_region") {
		return p.What
	}
	a.log.Warn("AWS cannot be called", "error", err)
	return "the server cannot read its AWS configuration; its log says why"
}

// Bedrock makes the model of a definition. A call without credentials or region ends the run with
// what to do about it.
func (a *Account) Bedrock(d agent.Definition) (engine.Model, error) {
	m := &models{account: a, region: d.Model.Region}
	made, err := bedrock.New(m, bedrock.Options{Model: d.Model, Clock: machine.Clock{}, Random: machine.Random{}, Logger: a.log})
	if err != nil {
		return nil, err
	}
	return prepared{made, m}, nil
}

// prepared loads credentials before it asks the model, so that an error about missing ones is ours
// and not the SDK's.
type prepared struct {
	engine.Model
	client *models
}

func (p prepared) Ask(ctx context.Context, prompt engine.Prompt) (core.Turn, error) {
	if _, err := p.client.found(ctx); err != nil {
		if ctx.Err() != nil {
			return core.Turn{}, context.Cause(ctx)
		}
		return core.Turn{}, &engine.ModelError{Detail: p.client.account.shown(err)}
	}
	return p.Model.Ask(ctx, prompt)
}

// models is a client of Bedrock that is made when it is first used.
type models struct {
	account *Account
	region  string

	mu   sync.Mutex
	made *bedrockruntime.Client
}

var _ bedrock.Client = (*models)(nil)

func (m *models) found(ctx context.Context) (*bedrockruntime.Client, error) {
	c, err := m.account.config(ctx, m.region)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil {
		m.made = bedrockruntime.NewFromConfig(c)
	}
	return m.made, nil
}

func (m *models) Converse(ctx context.Context, in *bedrockruntime.ConverseInput, opts ...func(*bedrockruntime.Options)) (*bedrockruntime.ConverseOutput, error) {
	c, err := m.found(ctx)
	if err != nil {
		return nil, err
	}
	return c.Converse(ctx, in, opts...)
}

func (m *models) ConverseStream(ctx context.Context, in *bedrockruntime.ConverseStreamInput,
	opts ...func(*bedrockruntime.Options)) (*bedrockruntime.ConverseStreamOutput, error) {
	c, err := m.found(ctx)
	if err != nil {
		return nil, err
	}
	return c.ConverseStream(ctx, in, opts...)
}

// Lambda makes the body of a tool that is a Lambda function. One that is named by its ARN is
// invoked in the region of that.
func (a *Account) Lambda(d agent.Definition, t agent.Tool) (engine.Tool, error) {
	region := ""
	if t.Lambda != nil {
		region = regionOfARN(t.Lambda.Function)
	}
	body, err := a.caller(region).Body(d, t)
	if err != nil {
		return nil, err
	}
	return equipped{body, a, region}, nil
}

func regionOfARN(function string) string {
	if parts := strings.Split(function, ":"); len(parts) > 3 && parts[0] == "arn" {
		return parts[3]
	}
	return ""
}

// equipped has credentials before the function is invoked: without any it was certainly not.
type equipped struct {
	engine.Tool
	account *Account
	region  string
}

func (e equipped) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	if _, err := e.account.config(ctx, e.region); err != nil {
		if ctx.Err() != nil {
			return core.Outcome{}, context.Cause(ctx)
		}
		return core.Outcome{Failed: true, Text: "The call did not run: " + e.account.shown(err) + "."}, nil
	}
	return e.Tool.Run(ctx, req)
}

// functions is a client of Lambda that is made when it is first used.
type functions struct {
	account *Account
	region  string

	mu   sync.Mutex
	made *lambda.Client
}

// Invoke implements [lambdatool.Client] with the SDK's client, which follows what the profile says
// about endpoints.
func (f *functions) Invoke(ctx context.Context, i lambdatool.Invocation) (lambdatool.Answer, error) {
	c, err := f.account.config(ctx, f.region)
	if err != nil {
		return lambdatool.Answer{}, err
	}
	f.mu.Lock()
	if f.made == nil {
		f.made = lambda.NewFromConfig(c)
	}
	made := f.made
	f.mu.Unlock()
	in := &lambda.InvokeInput{FunctionName: &i.Function, InvocationType: types.InvocationTypeRequestResponse, Payload: i.Event, ClientContext: &i.Context}
	if i.Qualifier != "" {
		in.Qualifier = &i.Qualifier
	}
	out, err := made.Invoke(ctx, in, func(o *lambda.Options) { o.Retryer = aws.NopRetryer{} })
	if err != nil {
		return lambdatool.Answer{}, err
	}
	return lambdatool.Answer{Payload: out.Payload, Failed: out.FunctionError != nil}, nil
}
