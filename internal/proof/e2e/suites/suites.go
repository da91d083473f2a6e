// Package suites holds what is proved of a deployed stack: that its doors are shut to who may not
// enter, that a run outlives its processes, that nothing is lost or done twice under kills, that
// recordings come out as recorded, and that it answers as `dormouse dev` does. A suite knows the
// stack by its API, its table and its queues; only kills need the stand-in.
package suites

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/faultproxy"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/platform"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/servers"
	"github.com/dormouse-dev/dormouse/internal/proof/torture"
)

// Target is the stack that is held to its word.
type Target struct {
	API    string
	Token  string
	Table  string
	Tenant string
	Queues map[string]string // URLs, by logical id
	DB     *dynamodb.Client
	SQS    *sqs.Client

	DynamoDBURL, SQSURL string // "" is AWS itself

	Platform *platform.Platform // nil: it is deployed somewhere, and nothing can be killed

	Module   string // directory of the repository
	Dir      string // for what suites write
	CLI      string // the dormouse program
	Desk     string // the program of the example refund-desk, whose tools are Go functions
	Verbs    string // the program that replays recordings
	Seed     uint64
	Progress io.Writer

	// Service is what the tools of agents ask. nil as Platform is: a stack elsewhere cannot
	// reach this machine.
	Service *torture.Service

	// Receiver gets notices. nil as Platform is.
	Receiver *Receiver

	// Own starts another stack on the same servers, with parameters of the template. Its tables
	// and queues have its name, so a stack that comes again finds them. Its functions are those
	// of the example refund-desk, which a program of one's own brings along. With stopped,
	// nothing runs until an operator starts it. The caller closes it. nil as Platform is.
	Own func(ctx context.Context, name string, parameters map[string]string, stopped bool) (*platform.Platform, error)

	Recordings string // file; "" for made-up ones
	// tools that people are asked about, with commas between them; "" for GateOfRecordings or
	// GateOfMadeUp
	Gate  string
	Limit int // of recordings; 0 for all

	Load
}

// Load is how torture and faults strain the stack.
type Load struct {
	For    time.Duration // how long they start new runs
	Kills  float64       // share of the invocations that are killed, also in the replay
	Faults Faults

	// Proxies are between the functions and their servers, and Doubled counts the messages
	// that a function got twice. nil unless the suite faults was asked for.
	Proxies []*faultproxy.Proxy
	Doubled func() int64
}

// EventAgent is the agent that events of other services start.
const EventAgent = "event-desk"

// suite is one part of the proof.
type suite struct {
	name  string
	run   func(ctx context.Context, t *Target, b *book)
	asked bool // runs only if it is named
}

// all are the suites, in the order they run: what is quick and tells most comes first.
var all = []suite{{name: "doors", run: doors}, {name: "demo", run: demo}, {name: "notices", run: notices}, {name: "iam", run: signed},
	{name: "restore", run: restored}, {name: "intake", run: intakeQueue}, {name: "same", run: same}, {name: "replay", run: replayRecordings},
	{name: "torture", run: tortureStack}, {name: FaultsSuite, run: faults, asked: true}}

// Names are those of all suites.
func Names() []string {
	var names []string
	for _, s := range all {
		names = append(names, s.name)
	}
	return names
}

// Known says which names are of no suite.
func Known(names []string) error {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("there is no suite %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	return nil
}

// suiteLimit is how long one suite may take, beside the time for which it starts runs.
const suiteLimit = 15 * time.Minute

// Run runs the suites of these names. If none is given, those that needn't be asked for.
func Run(ctx context.Context, t *Target, names []string) Report {
	began := time.Now()
	report := Report{}
	for _, s := range all {
		if !s.wanted(names) || ctx.Err() != nil {
			continue
		}
		b := &book{suite: s.name, report: &report, progress: t.Progress}
		fmt.Fprintf(t.Progress, "== %s\n", s.name)
		within, cancel := context.WithTimeout(ctx, suiteLimit+t.For)
		s.run(within, t, b)
		cancel()
		report.Suites++
	}
	if t.Platform != nil {
		report.count(t.Platform.Lambda.Counts())
	}
	report.Seconds = time.Since(began).Seconds()
	return report
}

func (s suite) wanted(names []string) bool {
	if len(names) == 0 {
		return !s.asked
	}
	return slices.Contains(names, s.name)
}

// requestLimit is above the 20 s that a read may be held and the 30 s of the gateway.
const requestLimit = 35 * time.Second

func (t *Target) client(token string) *client.Client {
	return client.New(t.API, client.WithToken(token), client.WithHTTPClient(&http.Client{Timeout: requestLimit}), client.WithRetries(0))
}

// environment is that of the caller with AWS credentials: of whoever deploys agents.
func (t *Target) environment() []string {
	env := append(os.Environ(), "DORMOUSE_URL="+t.API, "DORMOUSE_TOKEN="+t.Token)
	if t.Platform == nil {
		return env
	}
	id, key := platform.Credentials()
	return append(env, "AWS_REGION="+servers.Region, "AWS_ACCESS_KEY_ID="+id, "AWS_SECRET_ACCESS_KEY="+key, "AWS_ENDPOINT_URL="+t.DynamoDBURL,
		"AWS_ENDPOINT_URL_DYNAMODB="+t.DynamoDBURL, "AWS_ENDPOINT_URL_SQS="+t.SQSURL)
}

// command runs the program, and returns what it printed.
func (t *Target) command(ctx context.Context, env []string, args ...string) (string, error) {
	return run(ctx, env, t.CLI, args...)
}

// run runs a program and returns what it printed.
func run(ctx context.Context, env []string, program string, args ...string) (string, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, said.String(), out.String())
	}
	return out.String(), nil
}

// deploy puts the agents of a directory into the table.
func (t *Target) deploy(ctx context.Context, dir string) error {
	_, err := t.command(ctx, t.environment(), "agents", "deploy", dir, "--keep", "--table", t.Table, "--tenant", t.Tenant)
	return err
}

// own is a directory of the proof's own agents.
func (t *Target) own(name string) string {
	return filepath.Join(t.Module, "internal", "proof", "e2e", "agents", name)
}

// until asks until it is so, and returns why it is not once ctx ends or the time is over.
func until(ctx context.Context, limit time.Duration, so func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		err := so()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("not within %s: %w", limit, err), context.Cause(ctx))
		case <-again.C:
		}
	}
}
