// Package platform puts a whole deployed stack onto this machine: the servers that stand for
// DynamoDB and SQS, the table and queues that the template says, its functions as built binaries
// under a stand-in for Lambda, what calls them, and the doors in front. It checks nothing: suites
// do.
package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/gateway"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/lambda"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/servers"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/stack"
)

// Options say what to put together.
type Options struct {
	Module     string    // directory of the repository
	Dir        string    // for binaries and logs; must be there
	Name       string    // of the stack
	DynamoDB   string    // URL
	SQS        string    // URL
	Shown      Endpoints // to the functions
	Python     string    // that has the SAM translator
	Parameters map[string]string
	// directories that are built in place of those that the template names
	Code map[string]string
	// of all functions, beside what the template says
	Environment map[string]string
	Pace        Pace
	Seed        uint64
	// of messages that are given to the function twice at once; nil is none
	Double func(id string) bool
	// the functions are stopped, and what calls them is off, until an operator changes that
	Stopped bool
	Logger  *slog.Logger
}

// Endpoints are where functions reach the services. An empty one is that of the platform itself.
type Endpoints struct{ DynamoDB, SQS string }

// Pace makes waits shorter than the template has them, so that a proof does not take hours: a step
// that is killed is found by its lease, by the queue's visibility, or by the sweep. A value of 0
// leaves what the template says.
type Pace struct{ Step, Visibility, Sweep time.Duration }

// Names of what the template has.
const (
	StepFunction    = "StepFunction"
	NotifyFunction  = "NotifyFunction"
	HookFunction    = "HookFunction"
	IntakeQueue     = "IntakeQueue"
	IntakeDeadQueue = "IntakeDeadQueue"
	WakeQueue       = "WakeQueue"
	WakeDeadQueue   = "WakeDeadQueue"
)

// Platform is a stack that runs.
type Platform struct {
	Stack     *stack.Stack
	Lambda    *lambda.Service
	API       string // URL
	DB        *dynamodb.Client
	SQS       *sqs.Client
	QueueURLs map[string]string // by logical id
	Issuer    *Issuer
	Binaries  map[string]string // by the directory that the template names

	o        Options
	life     context.Context
	mappings map[string]*mapping // by logical id
	stop     context.CancelFunc
	running  sync.WaitGroup
	doors    []*http.Server
	// where function URLs are on this machine, by what AWS would call them
	urls map[string]string
}

// Start builds the functions, makes table and queues, and lets everything run. The caller closes
// it.
func Start(ctx context.Context, o Options) (p *Platform, err error) {
	p = &Platform{o: o, urls: map[string]string{}, mappings: map[string]*mapping{}, Binaries: map[string]string{}}
	ctx, p.stop = context.WithCancel(ctx)
	p.life = ctx
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	p.Issuer = NewIssuer()
	if p.Stack, err = p.read(ctx); err != nil {
		return p, err
	}
	p.DB, p.SQS = Clients(o.DynamoDB, o.SQS, func(string) string { return "" })
	if p.QueueURLs, err = p.Stack.Create(ctx, p.DB, p.SQS); err != nil {
		return p, err
	}
	if err = p.build(ctx); err != nil {
		return p, err
	}
	p.Lambda = lambda.New(lambda.Options{Logs: o.Dir, Region: servers.Region, Seed: o.Seed, Logger: o.Logger})
	if err = p.open(); err != nil {
		return p, err
	}
	if err = p.addFunctions(); err != nil {
		return p, err
	}
	p.callers(ctx)
	return p, nil
}

// read reads the template of the repository, and makes it as quick as was asked for.
func (p *Platform) read(ctx context.Context) (*stack.Stack, error) {
	parameters := map[string]string{"Auth": "JWT", "JwtIssuer": p.Issuer.Name, "JwtAudience": Audience}
	for name, value := range p.o.Parameters {
		parameters[name] = value
	}
	s, err := stack.Read(ctx, filepath.Join(p.o.Module, "template.yaml"), stack.Options{Name: p.o.Name, Region: servers.Region, Account: servers.Account,
		Parameters: parameters, Python: p.o.Python})
	if err != nil {
		return nil, err
	}
	for _, id := range []string{StepFunction, NotifyFunction} {
		if f, there := s.Functions[id]; there && p.o.Pace.Step > 0 {
			f.Timeout = p.o.Pace.Step
			s.Functions[id] = f
		}
	}
	for _, m := range s.Mappings {
		if p.o.Pace.Visibility > 0 {
			s.Queues[m.Queue].Attributes["VisibilityTimeout"] = strconv.Itoa(int(p.o.Pace.Visibility / time.Second))
		}
	}
	return s, nil
}

func (p *Platform) build(ctx context.Context) error {
	for _, f := range p.Stack.Functions {
		if p.Binaries[f.Code] != "" {
			continue
		}
		binary, err := lambda.Build(ctx, p.o.Module, cmp.Or(p.o.Code[f.Code], f.Code), p.o.Dir)
		if err != nil {
			return err
		}
		p.Binaries[f.Code] = binary
	}
	return nil
}

// open listens: at the API, and at each function that has a URL of its own.
func (p *Platform) open() error {
	api := &gateway.API{Stack: p.Stack, Invoke: p.invoke, Keys: p.Issuer.Keys(), Callers: Callers(), Region: servers.Region, Account: servers.Account,
		Now: time.Now, Logger: p.o.Logger}
	var err error
	if p.API, err = p.listen(api); err != nil {
		return err
	}
	for _, u := range p.Stack.URLs {
		here, err := p.listen(&gateway.URL{Stack: p.Stack, URL: u, Invoke: p.invoke, Now: time.Now, Logger: p.o.Logger})
		if err != nil {
			return err
		}
		p.urls[u.URL] = here + "/"
	}
	return nil
}

func (p *Platform) listen(h http.Handler) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	door := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	p.doors = append(p.doors, door)
	go func() { _ = door.Serve(l) }() // ends when it is closed
	return "http://" + l.Addr().String(), nil
}

func (p *Platform) invoke(ctx context.Context, function string, event []byte) (string, io.ReadCloser, error) {
	reply, err := p.Lambda.Invoke(ctx, function, event)
	if err != nil {
		return "", nil, err
	}
	return reply.ContentType, reply.Body, nil
}

func (p *Platform) addFunctions() error {
	for _, f := range p.Stack.Functions {
		own := filepath.Join(p.o.Dir, "tmp", f.ID)
		if err := os.MkdirAll(own, 0o700); err != nil {
			return err
		}
		binary, err := filepath.Abs(p.Binaries[f.Code])
		if err != nil {
			return err
		}
		p.Lambda.Stop(f.Name, p.o.Stopped)
		if err := p.Lambda.Add(lambda.Function{Name: f.Name, Binary: binary, Timeout: f.Timeout, Memory: f.Memory,
			ARN:         "arn:aws:lambda:" + servers.Region + ":" + servers.Account + ":function:" + f.Name + ":live",
			Environment: p.environment(f, own)}); err != nil {
			return err
		}
	}
	return nil
}

// environment is the template's, with the addresses of this machine in place of those of AWS.
func (p *Platform) environment(f stack.Function, tmp string) map[string]string {
	here := map[string]string{}
	for id, q := range p.Stack.Queues {
		here[q.URL] = p.QueueURLs[id]
	}
	for there, url := range p.urls {
		here[there] = url
	}
	env := map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": cmp.Or(p.o.Shown.DynamoDB, p.o.DynamoDB), "AWS_ENDPOINT_URL_SQS": cmp.Or(p.o.Shown.SQS, p.o.SQS), "TMPDIR": tmp,
		"AWS_ACCESS_KEY_ID": keyID, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "session"}
	maps.Copy(env, p.o.Environment)
	for name, value := range f.Environment {
		if moved, is := here[value]; is {
			value = moved
		}
		env[name] = value
	}
	return env
}

// Tmp is the directory for temporary files of a function's processes. A real one has it for each
// process, and loses it.
func (p *Platform) Tmp(function string) string { return filepath.Join(p.o.Dir, "tmp", function) }

// callers start what calls functions by itself.
func (p *Platform) callers(ctx context.Context) {
	for _, m := range p.Stack.Mappings {
		if !m.Enabled {
			continue
		}
		concurrency := m.MaximumConcurrency
		if concurrency == 0 {
			concurrency = 5 // with which Lambda begins
		}
		poller := &lambda.Poller{Service: p.Lambda, SQS: p.SQS, Queue: p.QueueURLs[m.Queue], ARN: p.Stack.Queues[m.Queue].ARN, Function: p.Stack.Functions[m.Function].Name,
			Batch: m.BatchSize, ReportItems: m.ReportItemFailures, Concurrency: concurrency, Region: servers.Region, Logger: p.o.Logger, Double: p.o.Double}
		p.mappings[m.ID] = &mapping{poller: poller, function: m.Function}
		if !p.o.Stopped {
			p.mappings[m.ID].on(ctx)
		}
	}
	for _, s := range p.Stack.Schedules {
		every := s.Every
		if p.o.Pace.Sweep > 0 {
			every = p.o.Pace.Sweep
		}
		schedule := &lambda.Schedule{Service: p.Lambda, Function: p.Stack.Functions[s.Function].Name, Every: every, Region: servers.Region, Account: servers.Account,
			ARN: "arn:aws:scheduler:" + servers.Region + ":" + servers.Account + ":schedule/default/" + s.ID, Input: s.Input, Logger: p.o.Logger}
		p.running.Go(func() { schedule.Run(ctx) })
	}
}

// Close ends everything that Start began. What is in the table and the queues stays.
func (p *Platform) Close() error {
	p.stop()
	var err error
	for _, door := range p.doors {
		err = errors.Join(err, door.Close())
	}
	if p.Lambda != nil {
		err = errors.Join(err, p.Lambda.Close())
	}
	p.running.Wait()
	for _, m := range p.mappings {
		if m.off != nil {
			<-m.ended
		}
	}
	return err
}

// Clients are SDK clients for these addresses, with the credentials and the region of an
// environment, or else with some that local servers take.
func Clients(db, queues string, getenv func(string) string) (*dynamodb.Client, *sqs.Client) {
	config := aws.Config{Region: cmp.Or(getenv("AWS_REGION"), servers.Region), Credentials: credentials.NewStaticCredentialsProvider(
		cmp.Or(getenv("AWS_ACCESS_KEY_ID"), keyID), cmp.Or(getenv("AWS_SECRET_ACCESS_KEY"), secret), getenv("AWS_SESSION_TOKEN"))}
	return dynamodb.NewFromConfig(config, func(o *dynamodb.Options) { o.BaseEndpoint = &db }),
		sqs.NewFromConfig(config, func(o *sqs.Options) { o.BaseEndpoint = &queues })
}

// FunctionName is the name of a function of the stack, by its logical id.
func (p *Platform) FunctionName(id string) string {
	f, there := p.Stack.Functions[id]
	if !there {
		panic(fmt.Sprintf("the template has no function %s", id))
	}
	return f.Name
}
