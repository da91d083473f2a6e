package local

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/protocols"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/engine/runcontrol"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/pushes"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/local/live"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/notify/slack"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/program/subscribers"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Options are what `dormouse dev` is started with.
type Options struct {
	Addr   string // host:port; port 0 picks a free one
	Data   string // directory, made if it is not there
	Agents string // directory of agent files
	// that deploys them: agents that name no tenants are its own; [access.Tenant] if empty
	Tenant     string
	Workers    int    // steps that compute at once; 4 if zero
	Steps      Steps  // in progress at once, those that wait included
	Quota      Quota  // of each tenant
	TokensFile string // of [access.Parse]; "" lets everybody in, on loopback only
	Web
	// what HTTP tools that say allow_private may reach beside public addresses
	Private  netguard.Private
	Commands bool   // effects of agents may run commands on this machine
	Policy   string // file of permissions over all agents; "" for none
	Prices   string // file of [agentfile.ParsePrices]; "" for none
	// refuse to start if any agent cannot be served; else the others are
	Strict  bool
	Watch   bool   // deploy agent files that change while the server works
	Record  string // file that every run is added to when it is done; "" for none
	Tools   *tool.Registry
	Hooks   *hook.Registry // nil has none
	Logger  *slog.Logger
	Version string
	// what people call this program, in the commands that it logs; "dormouse" if empty
	Command string

	// Reloaded gets what became of agents whose files changed, with Watch; nil for none. It is
	// called by one goroutine at a time, and by none once [Server.Wait] has returned.
	Reloaded func([]program.Change)

	Outside
	Disk
	inner
}

// Web is the HTTP side of a server.
type Web struct {
	Origins []string // sites whose pages may call; none may if empty
	Limits  httpapi.Limits
	Names   httpapi.Names // of the pages of approval links
	// where people reach the server; the zero value leaves links as paths
	PublicURL access.PublicURL
	Mail      Mail
	SignIn    SignIn
}

// Outside is what a program brings along.
type Outside struct {
	// Control yields and cancels runs from outside; the zero value does neither.
	Control runcontrol.Controls

	// Models, Bodies and Peers are providers of models, makers of tool bodies, and what reaches
	// agents elsewhere, beside those of [Options.Program], or in their place.
	Models  map[string]program.Provider
	Bodies  map[string]program.Bodies
	Peers   program.Peers
	Secrets secret.Source // nil: environment variables, see [secret.Variable]

	// SlackAPI is the address of Slack's API; [slack.API] if empty.
	SlackAPI string
}

// Disk is how the data directory is used.
type Disk struct {
	// how many pages of the log are written before it is copied to the database; 1000 if zero
	CopyPages int

	// MustExist refuses to start where there is no store, in place of making an empty one.
	MustExist bool

	// Damaged serves a data directory in which something is damaged, as far as it can be;
	// without it the start is refused.
	Damaged bool

	noRoom func() bool // for tests: says whether the disk is full
}

// inner is what a start fills in, and tests set.
type inner struct {
	// the logger that Start was given; Logger leaves out lines about a store that fails, see
	// [sparing]
	raw     *slog.Logger
	clock   engine.Clock // nil but in tests
	notify  delivery.Endpoints
	whom    engine.Subscribers
	elapsed func() time.Duration
	slack   *slack.App
	// how host names of targets are resolved, and their addresses dialled
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	dial   func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
}

// drainTime is how long steps in progress may take when the process is asked to stop; farewell,
// when it stops because of its store, how long requests are still refused with the reason.
const (
	drainTime = 15 * time.Second
	farewell  = 2 * time.Second
)

// Timing of the embedded runtime. An activation may take as long as its lease; a process that dies
// is found by another one a lease and a sweep later, and by itself, started again alone, at once.
//
// They are text, so that a test of whole processes can build the program with shorter ones
// (-ldflags -X) and need not wait for minutes. An operator cannot change them: two processes on
// one directory should agree.
var (
	leaseText = "2m"
	sweepText = "5s"
)

type timing struct{ lease, margin, sweep time.Duration }

// readTiming reserves a twelfth of the lease for committing results.
func readTiming() (timing, error) {
	lease, err1 := time.ParseDuration(leaseText)
	sweep, err2 := time.ParseDuration(sweepText)
	return timing{lease: lease, margin: lease / 12, sweep: sweep}, errors.Join(err1, err2)
}

// Server is a running embedded runtime.
type Server struct {
	addr string
	done chan struct{}
	err  error

	unavailable []program.Unavailable
	incomplete  []agentfile.Problem
}

// Unavailable are the agents that could not be served when the server started.
func (s *Server) Unavailable() []program.Unavailable { return s.unavailable }

// Incomplete are the tools of served agents that called an agent which did not exist when the
// server started.
func (s *Server) Incomplete() []agentfile.Problem { return s.incomplete }

// Start opens the data, deploys the agents and serves until ctx ends; then it takes no more work,
// finishes the steps in progress and closes. What it cannot finish in time is left as after a
// crash: nothing is lost.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := CheckAddr(o.Addr, o.TokensFile != ""); err != nil {
		return nil, err
	}
	o.raw, o.Logger = o.Logger, slog.New(newSparing(o.Logger.Handler()))
	if o.clock == nil {
		o.clock, o.elapsed = machine.Clock{}, machine.Elapsed
	}
	var known *tokens
	if o.TokensFile != "" {
		var err error
		if known, err = openTokens(o); err != nil {
			return nil, err
		}
	}
	times, err := readTiming()
	if err != nil {
		return nil, err
	}
	parts, err := o.Program()
	if err != nil {
		return nil, err
	}
	if err := free(o.Addr); err != nil {
		return nil, err
	}
	if o.Commands {
		hook.Seclude()
	}
	d, err := openData(ctx, o, times, policyMark(parts.Policy))
	if err != nil {
		return nil, err
	}
	s, err := d.serve(ctx, o, times, known, parts)
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return s, nil
}

// free reports an address that is in use, so that a server that can't listen doesn't create a
// store. Another program may still take the address before the server listens.
func free(addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return listener.Close()
}

// serve deploys the agents and puts workers, sweep and API around the data. It closes the data when
// everything has stopped.
func (d *data) serve(ctx context.Context, o Options, times timing, known *tokens, parts program.Program) (*Server, error) {
	agents := program.NewAgents(d.db, parts)
	changed := d.reloader(o, agents, known)
	deployed, err := d.deploy(ctx, agents, known, o.Strict)
	if err != nil {
		return nil, err
	}
	missing := agents.Unavailable()
	for _, u := range missing {
		o.Logger.Warn("an agent cannot be served; its runs wait, and new runs are refused", "agent", u.Name, "error", u.Err)
	}
	warnIncomplete(o.Logger, agents.Incomplete())
	for _, a := range deployed {
		o.Logger.Info("agent", "name", a.Name, "version", a.Digest())
	}
	if len(deployed)+len(missing) == 0 {
		o.Logger.Warn("the agents directory has no agent file; no run can be started", "agents", o.Agents)
	}
	for _, tenant := range unserved(deployed, agents.Home, known) {
		o.Logger.Warn("a tenant has tokens but no agent; list it under tenants in an agent file, or serve with --tenant", "tenant", tenant, "deploys", agents.Home)
	}
	keys, err := o.linkKeys()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, err
	}
	ended := recordTo(o.Record, d.db, o.Logger)
	board := live.NewBoard(o.clock)
	slots := newSlots(o.workers())
	whom := subscribers.New(subscribers.Options{Definitions: agents.Catalog(), Runs: d.db, Webhooks: d.db, Pushes: d.db, Clock: o.clock})
	eng := engine.New(engine.Options{Store: ended, Waker: d.db, Agents: agents, Clock: o.clock, Random: machine.Random{}, Logger: o.Logger,
		Announce: o.announce, Control: runcontrol.Guard(o.Control, o.clock, o.Logger), Newest: d.db, Subscribers: cmp.Or[engine.Subscribers](o.whom, whom), News: o.PublicURL.Pushes(), Lines: d.db, Live: board, Slots: slots, Warm: journals, Lease: times.lease, Margin: times.margin, Grain: times.sweep, Patience: times.lease / 2})
	front := frontend.New(frontend.Options{Store: d.db, Links: d.db, Quota: o.Quota.bound(d.db, o.Logger), Catalog: agents.Catalog(), Waker: d.db, Clock: o.clock, Random: machine.Random{},
		Stopping: ctx.Done(), Watch: d.db.Watch, Live: board, Describe: agents.Describe, Tool: agents.Tool, Unavailable: agents.Reasons, Check: agents.Check, Accepts: agents.Accepts, Starters: agents.Starters, Narrow: agents.Narrow,
		DayBudget: agents.DayBudget, TenantDay: o.Quota.DayCost, Asking: parts.Asking})
	ended.front = query.New(front)
	o.slack = o.slackApp(d.db)
	endpoints, err := o.endpoints(front, whom, keys, listener.Addr().String())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	step := newSteps(o.clock, o.elapsed)
	work := &pool{offset: step.now, workers: o.workers(), slots: slots, places: newPlaces(o.steps().Most, o.steps().Tenant, o.workers()), queue: d.db, engine: eng,
		clock: o.clock, arrived: d.db.Arrived(), log: o.Logger,
		deliveries: newDeliveries(delivery.Options{Lines: d.db, Journal: d.db, Endpoints: cmp.Or[delivery.Endpoints](o.notify, endpoints), Waker: d.db, Clock: o.clock, Random: machine.Random{}, Logger: o.Logger,
			Lease: times.lease, Margin: times.margin, Grain: times.sweep})}
	overdue := &sweep{store: d.db, waker: reminder{d.db}, clock: o.clock, period: times.sweep, log: o.Logger}
	care := &upkeep{db: d.db, clock: o.clock, step: step, period: times.sweep, log: o.raw, doctor: o.command("doctor", "--data", o.Data), owed: agents.Unstored(), again: func(ctx context.Context) error {
		if o.Watch {
			return changed.again(ctx)
		}
		_, err := d.deploy(ctx, agents, known, o.Strict)
		if err == nil && agents.Unstored() {
			err = engine.ErrNoRoom
		}
		return err
	}}
	spoken := protocols.All(protocols.Server{Runs: front, Reads: ended.front, Inbox: ended.front, Pushes: pushes.New(pushes.Options{Store: d.db, Lines: d.db, Waker: d.db, Frontend: front}), Clock: o.clock, Version: o.Version, Public: o.PublicURL, Auth: known.scheme(),
		Keys: func(context.Context, time.Duration) (access.LinkKeys, error) { return keys, nil }})
	desk := d.desk(o, endpoints.Test)
	api, err := o.api(ctx, httpapi.Options{Frontend: front, Protocols: append(spoken, o.console(ended.front, front, desk, keys, known, &openSessions{DB: d.db})), Webhooks: desk, Links: keys, Codes: endpoints.SendCode(), SignIn: o.signIn(), Storage: d.storage, Policy: agent.PolicyDigest(parts.Policy, parts.Asking)}, known)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s := &Server{addr: listener.Addr().String(), done: make(chan struct{}), unavailable: missing, incomplete: agents.Incomplete()}
	go func() {
		defer close(s.done)
		beside := []func(context.Context){overdue.run, pumpFor(d.db, front, o).Run, leanMemory, rareCollections, ended.run, care.run}
		if o.Watch {
			beside = append(beside, changed.run)
		}
		s.err = d.run(ctx, webServer(api, o.Logger), listener, work, beside...)
		ended.finish()
		s.err = errors.Join(s.err, d.close())
	}()
	return s, nil
}

// desk manages the webhooks of tenants.
func (d *data) desk(o Options, test func(context.Context, notice.Webhook) (notice.Attempt, error)) *webhooks.Desk {
	return webhooks.New(webhooks.Options{Store: d.db, Deliveries: d.db, Waker: d.db, Clock: o.clock, Random: machine.Random{}, Test: test, Lacks: o.lacks})
}

// api is the HTTP API, for those who are known. What the server's options say is added to parts.
func (o Options) api(ctx context.Context, parts httpapi.Options, known *tokens) (_ http.Handler, err error) {
	if parts.Hooks, err = o.receiver(ctx, parts.Frontend); err != nil {
		return nil, err
	}
	parts.Clock, parts.Logger, parts.Version, parts.Stopping = o.clock, o.raw, o.Version, ctx.Done()
	parts.Names, parts.PublicURL, parts.Origins, parts.Limits = o.Names, o.PublicURL, o.Origins, o.Limits
	if known != nil {
		parts.Keys = known
	}
	return httpapi.New(parts)
}

func (o Options) workers() int {
	if o.Workers <= 0 {
		return 4
	}
	return o.Workers
}

// run serves until ctx ends, the web server fails, or the store must not be used any more, and
// everything has stopped.
func (d *data) run(ctx context.Context, web *http.Server, listener net.Listener, work *pool, beside ...func(context.Context)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	atHand, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	var wg sync.WaitGroup
	wg.Go(func() { work.run(ctx, atHand) })
	for _, run := range beside {
		wg.Go(func() { run(ctx) })
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	var err error
	patience := drainTime
	select {
	case <-ctx.Done():
	case err = <-failed:
		stop()
	case <-d.db.Ended():
		err, patience = d.ended(), farewell
		stop()
		// callers and probes are still told why
		_ = engine.Sleep(context.WithoutCancel(ctx), machine.Clock{}, farewell)
	}
	late := time.AfterFunc(patience, abandon)
	defer late.Stop()
	down, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if web.Shutdown(down) != nil {
		web.Close()
	}
	wg.Wait()
	return err
}

// Addr is where the API listens.
func (s *Server) Addr() string { return s.addr }

// Wait returns once everything has stopped.
func (s *Server) Wait() error {
	<-s.done
	return s.err
}

// announce logs that a call waits.
func (o Options) announce(what engine.WaitingCall) {
	o.Logger.Info("a call waits for an answer", "run", what.Run, "tool", what.Call.ToolName, "kind", what.Call.Kind,
		"answer", o.command("decide", what.Run, what.Call.Suspension.ID, flags(what.Call.Kind)))
}

// flags are those of `dormouse decide` that answer a kind of wait.
func flags(k core.Kind) string {
	switch k {
	case core.KindApproval:
		return "--approve (or --deny)"
	case core.KindUnknownOutcome:
		return "--result JSON (or --error TEXT, --approve to run it, --deny to leave it)"
	}
	return "--result JSON (or --error TEXT)"
}
