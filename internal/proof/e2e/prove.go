package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/faultproxy"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/platform"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/servers"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/suites"
	"github.com/dormouse-dev/dormouse/internal/proof/torture"
)

// pace is how much quicker than the template the proof is. A step that dies is taken over by the
// next message once its lease is over, which is the time it had and five seconds; the message comes
// again after the visibility.
var pace = platform.Pace{Step: 25 * time.Second, Visibility: 32 * time.Second, Sweep: 2 * time.Second}

// tenant is whose everything is.
const tenant = "proof"

// ownCode are the functions of a program that brings Go functions, in place of those that the
// template names. The sweep needs none.
var ownCode = map[string]string{"functions/step": "examples/refund-desk/lambda/step", "functions/api": "examples/refund-desk/lambda/api",
	"functions/decision": "examples/refund-desk/lambda/decision", "functions/notify": "examples/refund-desk/lambda/notify",
	"functions/hook": "examples/refund-desk/lambda/hook", "functions/intake": "examples/refund-desk/lambda/intake"}

// prove puts everything together, runs the suites, and takes it down again. The directory is kept
// if anything failed.
func prove(ctx context.Context, o options, progress io.Writer) (report suites.Report, err error) {
	dir, kept, err := workDir(o.keep)
	if err != nil {
		return report, err
	}
	defer func() {
		if err == nil && report.Failed == 0 && !kept {
			err = os.RemoveAll(dir)
			return
		}
		fmt.Fprintf(progress, "logs are kept in %s\n", dir)
	}()
	p := &proof{options: o, dir: dir, progress: progress}
	defer func() { err = errors.Join(err, p.close()) }()
	target, err := p.target(ctx)
	if err != nil {
		return report, err
	}
	report = suites.Run(ctx, target, o.names())
	report.Seed, report.DynamoDB, report.SQS = o.seed, p.servedBy[0], p.servedBy[1]
	return report, ctx.Err()
}

func workDir(keep string) (dir string, kept bool, err error) {
	if keep != "" {
		keep, err = filepath.Abs(keep)
		return keep, true, errors.Join(err, os.MkdirAll(keep, 0o700))
	}
	dir, err = os.MkdirTemp("", "dormouse-e2e-")
	return dir, false, err
}

// proof is what has been started.
type proof struct {
	options
	dir      string
	progress io.Writer
	servers  []*servers.Server
	platform *platform.Platform
	service  *torture.Service // that the tools of agents ask
	receiver *suites.Receiver
	log      *os.File
	servedBy [2]string // of what stands for DynamoDB and SQS
	proxies  []*faultproxy.Proxy
	doubled  atomic.Int64 // messages
}

func (p *proof) say(format string, args ...any) { fmt.Fprintf(p.progress, format+"\n", args...) }

func (p *proof) target(ctx context.Context) (*suites.Target, error) {
	module, err := servers.Root(ctx)
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(p.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/dormouse", "./cmd/dormouse-proof", "./examples/refund-desk")
	build.Dir = module
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the programs: %w\n%s", err, said)
	}
	t := &suites.Target{Module: module, Dir: p.dir, CLI: filepath.Join(bin, "dormouse"), Verbs: filepath.Join(bin, "dormouse-proof"), Desk: filepath.Join(bin, "refund-desk"), Seed: p.seed, Progress: p.progress, Tenant: tenant, Recordings: p.recordings, Gate: p.gate, Limit: p.limit,
		Load: suites.Load{For: p.loadFor, Kills: p.kills, Faults: p.faults}}
	if p.api != "" {
		return t, p.deployed(t)
	}
	return t, p.local(ctx, t)
}

// deployed points the suites at a stack that is there.
func (p *proof) deployed(t *suites.Target) error {
	p.servedBy = [2]string{p.dynamodb, p.sqs}
	t.API, t.Table, t.Token = p.api, p.table, os.Getenv("DORMOUSE_TOKEN")
	t.DynamoDBURL, t.SQSURL = p.address(p.dynamodb), p.address(p.sqs)
	t.Queues = map[string]string{platform.IntakeQueue: p.intake, platform.IntakeDeadQueue: p.intakeDead}
	t.DB, t.SQS = platform.Clients(t.DynamoDBURL, t.SQSURL, os.Getenv)
	return nil
}

func (p *proof) address(name string) string {
	if strings.Contains(name, "://") {
		return name
	}
	return os.Getenv("AWS_ENDPOINT_URL")
}

func (p *proof) local(ctx context.Context, t *suites.Target) error {
	var err error
	if t.DynamoDBURL, p.servedBy[0], err = p.server(ctx, p.dynamodb); err != nil {
		return err
	}
	if t.SQSURL, p.servedBy[1], err = p.server(ctx, p.sqs); err != nil {
		return err
	}
	python, err := servers.Install(ctx, "translator", p.progress)
	if err != nil {
		return err
	}
	if p.log, err = os.Create(filepath.Join(p.dir, "platform.log")); err != nil {
		return err
	}
	p.say("building the functions; DynamoDB is %s, SQS is %s, the seed is %d", p.servedBy[0], p.servedBy[1], p.seed)
	p.say("times that are shorter than the template's: a step %s, visibility %s, the sweep every %s", pace.Step, pace.Visibility, pace.Sweep)
	if p.service, err = torture.Serve(filepath.Join(p.dir, "payments.jsonl")); err != nil {
		return err
	}
	t.Service = p.service
	if p.receiver, err = suites.Receive(); err != nil {
		return err
	}
	t.Receiver = p.receiver
	shown, err := p.front(t)
	if err != nil {
		return err
	}
	start := func(ctx context.Context, o platform.Options) (*platform.Platform, error) {
		o.Module, o.DynamoDB, o.SQS, o.Python = t.Module, t.DynamoDBURL, t.SQSURL, filepath.Join(python, "bin", "python")
		o.Shown = shown
		o.Environment = map[string]string{"DORMOUSE_SECRET_" + suites.ReceiverSecret: suites.ReceiverKey, "DORMOUSE_SECRET_" + suites.HookSecret: suites.HookKey}
		o.Pace, o.Seed, o.Double, o.Logger = pace, p.seed, p.doubler(), slog.New(slog.NewJSONHandler(p.log, nil))
		return platform.Start(ctx, o)
	}
	if p.platform, err = start(ctx, platform.Options{Name: "proof", Dir: p.dir, Parameters: map[string]string{"IntakeTenant": tenant,
		"IntakeAgent": suites.EventAgent, "PrivateHosts": p.service.Host() + "," + p.receiver.Host()}}); err != nil {
		return err
	}
	t.Own = func(ctx context.Context, name string, parameters map[string]string, stopped bool) (*platform.Platform, error) {
		dir := filepath.Join(p.dir, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		return start(ctx, platform.Options{Name: name, Dir: dir, Parameters: parameters, Code: ownCode, Stopped: stopped})
	}
	t.Doubled = p.doubled.Load
	t.Platform, t.API, t.Table = p.platform, p.platform.API, p.platform.Stack.Table.Name
	t.DB, t.SQS, t.Queues = p.platform.DB, p.platform.SQS, p.platform.QueueURLs
	t.Token = p.platform.Issuer.Token("proof", tenant, []string{"admin"}, 6*time.Hour)
	return nil
}

// front puts a proxy that makes calls fail before each server, for the suite that asks for it. The
// functions call the servers through the proxies; what stands for Lambda and the suites themselves
// don't, because their calls are AWS's own.
func (p *proof) front(t *suites.Target) (platform.Endpoints, error) {
	shown := platform.Endpoints{DynamoDB: t.DynamoDBURL, SQS: t.SQSURL}
	if !slices.Contains(p.options.names(), suites.FaultsSuite) {
		return shown, nil
	}
	for i, url := range []*string{&shown.DynamoDB, &shown.SQS} {
		proxy, err := faultproxy.Start(*url, p.seed+uint64(i))
		if err != nil {
			return shown, err
		}
		p.proxies, *url = append(p.proxies, proxy), proxy.URL
	}
	t.Proxies = p.proxies
	return shown, nil
}

// doubler says by the seed which messages come twice.
func (p *proof) doubler() func(string) bool {
	twice := doubler(p.seed, p.faults.Double)
	return func(id string) bool {
		is := twice(id)
		if is {
			p.doubled.Add(1)
		}
		return is
	}
}

func doubler(seed uint64, share float64) func(string) bool {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 2))
	return func(string) bool {
		mu.Lock()
		defer mu.Unlock()
		return random.Float64() < share
	}
}

// server starts the server of that name, once; a URL is a server that runs already.
func (p *proof) server(ctx context.Context, name string) (url, called string, err error) {
	if strings.Contains(name, "://") {
		return name, name, nil
	}
	for _, s := range p.servers {
		if s.Name == name {
			return s.URL, name, nil
		}
	}
	s, err := servers.Start(ctx, name, p.dir, p.progress)
	if err != nil {
		return "", "", err
	}
	p.servers = append(p.servers, s)
	return s.URL, name, nil
}

func (p *proof) close() error {
	var err error
	if p.platform != nil {
		err = p.platform.Close()
	}
	if p.service != nil {
		err = errors.Join(err, p.service.Close())
	}
	if p.receiver != nil {
		err = errors.Join(err, p.receiver.Close())
	}
	for _, x := range p.proxies {
		err = errors.Join(err, x.Close())
	}
	for _, s := range p.servers {
		err = errors.Join(err, s.Close())
	}
	if p.log != nil {
		err = errors.Join(err, p.log.Close())
	}
	return err
}
