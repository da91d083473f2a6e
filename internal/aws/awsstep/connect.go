package awsstep

import (
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/awssecret"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/runcontrol"
	"github.com/dormouse-dev/dormouse/internal/machine/awsrequest"
	"github.com/dormouse-dev/dormouse/internal/model/bedrock"
	"github.com/dormouse-dev/dormouse/internal/model/openai"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/a2atool"
	"github.com/dormouse-dev/dormouse/internal/tool/lambdatool"
	"github.com/dormouse-dev/dormouse/internal/tool/mcptool"
)

// Program is the part of a program that the step function needs.
type Program struct {
	Name     string // for the hints of the log; empty means "dormouse"
	Register awsenv.Register
	Control  runcontrol.Controls
}

// Open assembles the step function with all its dependencies outside the stack. Log lines and
// metrics go to out. It makes no network request, and creates a client only when it is needed.
func Open(s awsenv.Settings, p Program, out io.Writer) (awsenv.Step, error) {
	kept := secret.Keep(awssecret.Source(s.Settings), secret.Values{"AWS_SECRET_ACCESS_KEY": s.Credentials.Secret, "AWS_SESSION_TOKEN": s.Credentials.Session})
	connect := func(n awsenv.ConnectOptions) awsenv.Connected {
		c := &connections{ConnectOptions: n, hidden: kept.Values}
		return awsenv.Connected{Models: c.providers(), Bodies: c.bodies(), Peers: c.peers()}
	}
	return awsenv.NewStep(s, p.Register, awsenv.Dependencies{Secrets: kept.Source, Control: p.Control, Command: p.Name, Connect: connect}, out)
}

// connections creates clients when they are first used.
type connections struct {
	awsenv.ConnectOptions
	hidden func() secret.Values

	mu      sync.Mutex
	regions map[string]*bedrockruntime.Client
}

func (c *connections) providers() map[string]program.Provider {
	return map[string]program.Provider{
		agent.ProviderBedrock: func(d agent.Definition) (engine.Model, error) {
			return bedrock.New(c.bedrock(d.Model.Region), bedrock.Options{Model: d.Model, Clock: c.Clock, Random: c.Random, Logger: c.Logger})
		},
		agent.ProviderOpenAI: func(d agent.Definition) (engine.Model, error) {
			return openai.New(openai.Options{Model: d.Model, HTTP: c.HTTP.Endpoint(d.Model), Secrets: c.Secrets, Clock: c.Clock, Random: c.Random, Logger: c.Logger})
		},
	}
}

func (c *connections) bodies() map[string]program.Bodies {
	functions := sync.OnceValue(func() *lambdatool.Caller {
		return lambdatool.New(c.lambda(), lambdatool.Options{Clock: c.Clock, Random: c.Random, Hidden: c.hidden})
	})
	servers := mcptool.New(mcptool.Options{HTTP: c.HTTP.Client, Secrets: c.Secrets, Clock: c.Clock, Random: c.Random, Logger: c.Logger, Version: c.Version})
	return map[string]program.Bodies{
		program.BodyLambda: func(d agent.Definition, t agent.Tool) (engine.Tool, error) { return functions().Body(d, t) },
		program.BodyMCP:    servers.Body,
	}
}

func (c *connections) peers() program.Peers {
	return a2atool.New(a2atool.Options{HTTP: c.HTTP.Peer, Secrets: c.Secrets, Clock: c.Clock, Logger: c.Logger, Version: c.Version}).Peer
}

// bedrock returns the client for a region, by default that of the stack. The model decides about
// retries and time limits.
func (c *connections) bedrock(region string) *bedrockruntime.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if made := c.regions[region]; made != nil {
		return made
	}
	made := bedrockruntime.NewFromConfig(c.patient(), func(o *bedrockruntime.Options) {
		o.BaseEndpoint = stack.Endpoint(c.Endpoints.Bedrock, o.BaseEndpoint)
		if region != "" {
			o.Region = region
		}
	})
	if c.regions == nil {
		c.regions = map[string]*bedrockruntime.Client{}
	}
	c.regions[region] = made
	return made
}

func (c *connections) lambda() lambdatool.Client {
	config := c.patient()
	config.BaseEndpoint = stack.Endpoint(c.Endpoints.Lambda, config.BaseEndpoint)
	return lambdatool.Service(awsrequest.New("lambda", config))
}

// patient returns a configuration for services that respond as slowly as a model or a function:
// each call sets its own limit.
func (c *connections) patient() aws.Config {
	made := c.Config()
	made.HTTPClient = nil // the SDK's own, without a time limit
	return made
}
