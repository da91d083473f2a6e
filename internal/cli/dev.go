package cli

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/runs"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/program"
)

// usualAddr is where a server listens if nothing else is said. Commands look there.
const usualAddr = "127.0.0.1:8420"

func (a *app) devCommand() *cobra.Command {
	o := local.Options{Watch: true}
	var e example
	cmd := a.serverCommand(&o, &e)
	cmd.Flags().BoolVar(&e.on, "example", false, "serve a built-in example agent; its files and data are kept in --data (default .dormouse/example)")
	cmd.Use, cmd.Short = "dev", "Serve agents and reload their files when they change"
	cmd.Long = `Serve the API and execute runs until SIGINT (Ctrl-C) or SIGTERM. The server finishes
the steps in progress before it exits. Runs continue at the next start. Killing the
server at any moment loses nothing.

When you change, add or remove an agent file, or a file that it names, new runs use the
new version within about a second. Existing runs keep their version. If a file has an
error, the server reports it and keeps the previous version. --watch=false turns
reloading off.

An agent can't be served if its file has an error, a secret is not set, or a file that
it names is missing. The server lists the agent with the reason and refuses to start
runs of it; its existing runs wait. The other agents are served. With --strict, the
server refuses to start instead.

To listen on an address that other machines can reach, pass --tokens and put a TLS proxy
in front.

With --example, the server needs no agent files: it serves a built-in agent named refunds
whose model is a script. If other machines can reach the address, it creates an access
token, stores it in the file token in the data directory, and prints it.

For production, use dormouse serve.`
	cmd.Example = `  dormouse dev --example
  dormouse dev --agents examples/invoice-check
  dormouse dev --addr 127.0.0.1:0 --data /tmp/desk --json
  DORMOUSE_SECRET_ORDERS=... dormouse dev --allow-private-hosts orders.internal:9000`
	return cmd
}

func (a *app) serveCommand() *cobra.Command {
	o := local.Options{Strict: true}
	cmd := a.serverCommand(&o, &example{})
	cmd.Use, cmd.Short = "serve", "Serve agents in production, without reloading changed files"
	cmd.Long = `Serve the API and execute runs, like dormouse dev, with two different defaults:

  --watch is off. A changed agent file takes effect when you restart the server.
  --strict is on. The server refuses to start if any agent can't be served;
  with --strict=false it serves the other agents.

See docs/guides/run-in-production.md for tokens, quotas, approval links and a systemd
unit.`
	cmd.Example = `  dormouse serve --addr 0.0.0.0:8420 --tokens tokens --tenant acme --must-exist
  dormouse serve --tokens tokens --public-url https://desk.example.com/dormouse`
	return cmd
}

// serverCommand is a command that serves agents. The values in o are the defaults of its flags.
func (a *app) serverCommand(o *local.Options, e *example) *cobra.Command {
	o.Version = a.Opts.Version
	var f serverFlags
	cmd := &cobra.Command{
		Args: cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := e.locate(cmd, o); err != nil {
				return err
			}
			if err := f.read(o); err != nil {
				return err
			}
			if err := e.prepare(a.Name(), *o); err != nil {
				return err
			}
			a.warnOfLinks(*o)
			return a.serve(cmd, *o, e)
		},
	}
	f.add(cmd, o)
	return cmd
}

// serverFlags are flags of a server that must be converted to options.
type serverFlags struct {
	private, tenantNames []string
	tenantBytes          display.ByteSize
	public               string
	mail                 mailFlags
	signIn               signInFlags
}

// read checks the flags and converts them to options.
func (f *serverFlags) read(o *local.Options) error {
	if err := local.CheckAddr(o.Addr, o.TokensFile != ""); err != nil {
		return cmdline.Usagef("%v", err)
	}
	if err := cmdline.AtLeastOne("--workers", o.Workers); err != nil {
		return err
	}
	if err := checkSteps(*o); err != nil {
		return err
	}
	if o.Quota.Runs < 0 {
		return cmdline.Usagef("--tenant-runs is %d; it must be at least 1, or 0 for no limit", o.Quota.Runs)
	}
	o.Quota.Bytes = int64(f.tenantBytes)
	if s := o.Limits.StartsPerSecond; !(s >= 0) || math.IsInf(s, 0) { // NaN is neither
		return cmdline.Usagef("--starts-per-second is %v; it must be at least 0, and 0 is no limit", s)
	}
	if err := runs.CanRecord(o.Record); err != nil {
		return err
	}
	var err error
	if o.Private, err = cmdline.ReadPrivate(f.private); err != nil {
		return err
	}
	if o.PublicURL, err = cmdline.PublicURL(f.public); err != nil {
		return err
	}
	if o.Mail, err = f.mail.read(); err != nil {
		return err
	}
	if o.SignIn, err = f.signIn.read(f.public != "", o.TokensFile != ""); err != nil {
		return err
	}
	if o.Limits.Hold < 0 || o.Limits.Hold > time.Minute || o.Limits.Hold%time.Second != 0 {
		return cmdline.Usagef("--undo is %v; it must be whole seconds up to 60s, and 0 turns it off", o.Limits.Hold)
	}
	o.Names.Tenants, err = readTenantNames(f.tenantNames)
	return err
}

// warnOfLinks warns of links that no recipient could open: without tokens, the server only accepts
// requests to a loopback host.
func (a *app) warnOfLinks(o local.Options) {
	if o.PublicURL.String() == "" || o.TokensFile != "" || local.IsLoopback(o.PublicURL.Host()) {
		return
	}
	a.Warn("links_need_tokens", fmt.Sprintf("without --tokens, the server only accepts requests to a loopback host, but approval links point to %s; add --tokens FILE", o.PublicURL.Host()))
}

func (f *serverFlags) add(cmd *cobra.Command, o *local.Options) {
	f.tenantBytes = 1 << 30
	flags := cmd.Flags()
	flags.StringVar(&o.Addr, "addr", usualAddr, "listen on this `HOST:PORT`; port 0 picks a free port")
	flags.StringVar(&o.Data, "data", ".dormouse", "`DIR` for the store and all other data that must survive a restart")
	flags.StringVar(&o.Agents, "agents", "agents", "`DIR` with the agent files")
	flags.IntVar(&o.Workers, "workers", 4, "maximum number of steps that compute at once; a step that waits for a tool or a model doesn't count")
	flags.IntVar(&o.Steps.Most, "steps", 0, "maximum number of steps in progress, including steps that wait for a tool or a model (default 16 per worker)")
	flags.IntVar(&o.Steps.Tenant, "tenant-steps", 0, "maximum number of steps in progress per tenant (default half of --steps)")
	flags.StringVar(&o.TokensFile, "tokens", "", "`FILE` of access tokens, as dormouse tokens writes it; reloaded when it changes")
	flags.StringArrayVar(&o.Origins, "cors-origin", nil, "`ORIGIN` of web pages that may call the API, such as https://app.example.com; repeatable (default: none)")
	flags.Float64Var(&o.Limits.StartsPerSecond, "starts-per-second", 0, "maximum `RATE` per tenant of runs, messages, retries and interrupts, per second; 0 is no limit")
	flags.Var(&f.tenantBytes, "tenant-bytes", "maximum storage per tenant; 0 is no limit")
	flags.IntVar(&o.Quota.Runs, "tenant-runs", 10_000, "maximum number of unfinished runs per tenant; 0 is no limit")
	flags.TextVar(&o.Quota.DayCost, "tenant-day-cost", core.USD(0), "maximum cost in `DOLLARS` of a tenant's runs that start on one day (UTC); 0 is no limit")
	cmdline.PrivateFlag(cmd, &f.private)
	cmdline.CommandsFlag(cmd, &o.Commands)
	flags.StringVar(&o.Record, "record", "", "append each finished run's conversation to this `FILE`, for dormouse-proof replay and the model provider \"recorded\"")
	flags.StringVar(&o.Tenant, "tenant", access.Tenant, "`TENANT` that owns agents whose files name no tenants")
	flags.BoolVar(&o.Strict, "strict", o.Strict, "refuse to start if any agent can't be served")
	flags.BoolVar(&o.MustExist, "must-exist", false, "refuse to start if --data has no store, instead of creating an empty one")
	flags.BoolVar(&o.Damaged, "serve-damaged", false, "start although dormouse doctor finds damage in the store, and serve the undamaged runs")
	flags.StringVar(&o.Policy, "policy", "", "YAML `FILE` of permissions that apply to all agents, in addition to their own")
	flags.StringVar(&o.Prices, "prices", "", "YAML `FILE` of prices per million tokens, for models without a price in their agent files")
	flags.StringVar(&o.Names.Product, "product-name", "", "`NAME` of this service on approval pages (default Dormouse)")
	flags.StringArrayVar(&f.tenantNames, "tenant-name", nil, "name of a tenant on approval pages, as `TENANT=NAME`; repeatable (default: its id)")
	flags.DurationVar(&o.Limits.Hold, "undo", 8*time.Second, "how long an answer given in the console or by a link can be undone before it takes effect; 0 turns it off")
	flags.BoolVar(&o.Watch, "watch", o.Watch, "reload agent files when they change; new runs use the new version")
	flags.StringVar(&f.public, "public-url", "", "public `URL` of the server, the start of every approval link, such as https://desk.example.com/dormouse (default: links are paths)")
	f.mail.add(cmd)
	f.signIn.add(cmd)
}

// checkSteps refuses limits that would keep workers idle. Zero is the default.
func checkSteps(o local.Options) error {
	if o.Steps.Most != 0 && o.Steps.Most < o.Workers {
		return cmdline.Usagef("--steps is %d; it must be at least --workers, which is %d", o.Steps.Most, o.Workers)
	}
	if o.Steps.Tenant < 0 {
		return cmdline.Usagef("--tenant-steps is %d; it must be at least 1", o.Steps.Tenant)
	}
	return nil
}

func readTenantNames(pairs []string) (map[string]string, error) {
	names := map[string]string{}
	for _, pair := range pairs {
		tenant, name, err := access.ParseTenantName(pair)
		if err != nil {
			return nil, cmdline.Usagef("--tenant-name: %v", err)
		}
		names[tenant] = name
	}
	return names, nil
}

// serve runs the server until the command's context ends. It prints the address once the server
// answers, and then a line for each agent whose files change.
func (a *app) serve(cmd *cobra.Command, o local.Options, e *example) error {
	o.Logger = slog.New(slog.NewTextHandler(a.Stderr, nil))
	reloads := make(chan []program.Change, mostUnprinted)
	o.Reloaded = func(changes []program.Change) {
		select {
		case reloads <- changes:
		default: // the log has them as well
		}
	}
	if err := a.Register(&o); err != nil {
		return err
	}
	if a.Opts.Control != nil {
		var err error
		if o.Control, err = a.Opts.Control(o.Data); err != nil {
			return err
		}
	}
	server, err := local.Start(cmd.Context(), o)
	if err != nil {
		return couldNotServe(cmd, o, err)
	}
	err = errors.Join(a.announce(server.Addr(), server.Unavailable(), server.Incomplete(), o, e.served(o)), a.introduce(e, server.Addr(), o))
	printed := a.printEach(reloads, o.Agents)
	err = errors.Join(err, server.Wait())
	close(reloads)
	select {
	case <-printed:
	case <-time.After(lastWords):
	}
	return err
}

// reachable is addr in a form that a client on this machine can use, even if the server listens on
// all addresses.
func reachable(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsUnspecified() {
		return addr
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
}

func (a *app) announce(addr string, missing []program.Unavailable, incomplete []agentfile.Problem, o local.Options, served string) error {
	if a.JSON {
		said := map[string]any{"url": (&url.URL{Scheme: "http", Host: reachable(addr)}).String(), "data": o.Data, "agents": o.Agents}
		if o.PublicURL.String() != "" {
			said["public_url"] = o.PublicURL.String()
		}
		reasons := map[string]string{}
		for _, u := range missing {
			reasons[u.Name] = u.Reason
		}
		if len(reasons) > 0 {
			said["unavailable"] = reasons
		}
		if len(incomplete) > 0 {
			said["incomplete"] = incomplete
		}
		return a.PrintJSON(said)
	}
	err := a.Printf("serving %s at http://%s, data in %s; Ctrl-C stops\n", served, askedFor(o.Addr, addr), o.Data)
	if o.PublicURL.String() != "" {
		err = errors.Join(err, a.Printf("approval links start with %s\n", o.PublicURL))
	}
	for _, u := range missing {
		err = errors.Join(err, a.Print(display.Clean("not served: "+u.Name+": "+u.Reason)+"\n"))
	}
	for _, p := range incomplete {
		err = errors.Join(err, a.Print(display.Clean("calls fail: "+p.String())+"\n"))
	}
	return err
}

// askedFor is the requested host with the port in use. There is no other name for all addresses of
// a machine.
func askedFor(asked, listens string) string {
	host, _, wrong := net.SplitHostPort(asked)
	_, port, err := net.SplitHostPort(listens)
	if wrong != nil || err != nil {
		return listens
	}
	return net.JoinHostPort(cmp.Or(host, "0.0.0.0"), port)
}
