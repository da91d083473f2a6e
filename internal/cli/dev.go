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

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/runs"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/program"
)

// usualAddr is where a server listens if nothing else is said. Commands look there.
const usualAddr = "127.0.0.1:8420"

func (a *app) devCommand() *cobra.Command {
	o := local.Options{Watch: true}
	var e example
	cmd := a.serverCommand(&o, &e)
	cmd.Flags().BoolVar(&e.on, "example", false, "serve a built-in example agent, which needs no files; its files and data are in .dormouse/example")
	cmd.Use, cmd.Short = "dev", "Serve agents on this machine, and reload their files when they change"
	cmd.Long = `Serve the API and work on runs until the process is told to stop (SIGINT or SIGTERM): steps at hand are finished,
runs that wait or are due go on at the next start. A kill at any moment loses nothing.
An agent file that changes, appears or is removed, or a file that it names, counts within about a second for runs that start from then on; runs
that were started keep their version. A file with a mistake is reported, and the version before it stays in use. --watch=false turns that off.
An agent that cannot be served, because its file has a mistake, a secret is not set or a file it names is not there, does not keep the
others from being served: it is listed with the reason, starts of it are refused, and its runs wait. --strict refuses to start instead.
An address that other machines can reach needs --tokens; behind it, put something that speaks TLS in front.
--example serves a built-in agent, named refunds, whose model is a script. Its files and data are kept in --data, by default .dormouse/example.
At an address that other machines can reach, it creates an access token, keeps it in the file token there, and prints it.
dormouse serve is the same server for production.`
	cmd.Example = `  dormouse dev --example
  dormouse dev --agents examples/invoice-check
  dormouse dev --addr 127.0.0.1:0 --data /tmp/desk --json
  DORMOUSE_SECRET_ORDERS=... dormouse dev --allow-private-hosts orders.internal:9000`
	return cmd
}

func (a *app) serveCommand() *cobra.Command {
	o := local.Options{Strict: true}
	cmd := a.serverCommand(&o, &example{})
	cmd.Use, cmd.Short = "serve", "Serve agents in production: as dev, but strict and without reloading"
	cmd.Long = `Serve the API and work on runs, as dormouse dev does and with the same flags. Two of them are set otherwise:
--watch is off, so that a changed agent file counts from the next start on, when you decide to deploy it; and --strict is on, so that a start
with an agent that cannot be served fails at once, and not when that agent is needed. With --strict=false the others are served.
For a machine that others depend on, see docs/guides/run-in-production.md: it has the flags for tokens, quotas and links, and a unit for systemd.`
	cmd.Example = `  dormouse serve --addr 0.0.0.0:8420 --tokens tokens --tenant acme --must-exist
  dormouse serve --tokens tokens --public-url https://desk.example.com/dormouse`
	return cmd
}

// serverCommand is a verb that serves agents. What o says already is the usual value of its flags.
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

// serverFlags are flags of a server that are not options as they are written.
type serverFlags struct {
	private, tenantNames []string
	tenantBytes          display.ByteSize
	public               string
}

// read holds the flags to what they may say, and makes options of them.
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
		return cmdline.Usagef("--starts-per-second is a number from 0, not %v; 0 is no limit", s)
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
	o.Names.Tenants, err = readTenantNames(f.tenantNames)
	return err
}

// warnOfLinks tells of links that no recipient could open: without tokens the server answers only
// requests that name a loopback host.
func (a *app) warnOfLinks(o local.Options) {
	if o.PublicURL.String() == "" || o.TokensFile != "" || local.IsLoopback(o.PublicURL.Host()) {
		return
	}
	a.Warn("links_need_tokens", fmt.Sprintf("without --tokens only requests to a loopback host are answered, and links lead to %s; add --tokens FILE", o.PublicURL.Host()))
}

func (f *serverFlags) add(cmd *cobra.Command, o *local.Options) {
	f.tenantBytes = 1 << 30
	flags := cmd.Flags()
	flags.StringVar(&o.Addr, "addr", usualAddr, "where to listen; port 0 takes a free one")
	flags.StringVar(&o.Data, "data", ".dormouse", "directory of everything that must last")
	flags.StringVar(&o.Agents, "agents", "agents", "directory of the agents' YAML files")
	flags.IntVar(&o.Workers, "workers", 4, "how many steps may compute at once; one that waits for a tool or the model is not counted")
	flags.IntVar(&o.Steps.Most, "steps", 0, "how many steps may be in progress at once, those that wait for a tool or the model included (default 16 for each worker)")
	flags.IntVar(&o.Steps.Tenant, "tenant-steps", 0, "how many of them may be of one tenant (default half of --steps)")
	flags.StringVar(&o.TokensFile, "tokens", "", "file of access tokens, as dormouse tokens writes it; it is read again when it changes")
	flags.StringArrayVar(&o.Origins, "cors-origin", nil, "site whose pages may call, as https://host; may be given more than once (default: none may)")
	flags.Float64Var(&o.Limits.StartsPerSecond, "starts-per-second", 0, "runs, messages, retries and interrupts that each tenant may send, over time; 0 is no limit")
	flags.Var(&f.tenantBytes, "tenant-bytes", "how much each tenant may store; 0 is no limit")
	flags.IntVar(&o.Quota.Runs, "tenant-runs", 10_000, "how many runs that are not done each tenant may have; 0 is no limit")
	cmdline.PrivateFlag(cmd, &f.private)
	cmdline.CommandsFlag(cmd, &o.Commands)
	flags.StringVar(&o.Record, "record", "", "file to add each run's conversation to when it is done, for dormouse-proof replay and the model provider \"recorded\"")
	flags.StringVar(&o.Tenant, "tenant", access.Tenant, "the tenant that deploys the agents; agents whose files name no tenants are its own")
	flags.BoolVar(&o.Strict, "strict", o.Strict, "refuse to start if any agent cannot be served")
	flags.BoolVar(&o.MustExist, "must-exist", false, "refuse to start if there is no store in --data, in place of making an empty one")
	flags.BoolVar(&o.Damaged, "serve-damaged", false, "serve what is whole of a store in which dormouse doctor finds damage; without it the start is refused")
	flags.StringVar(&o.Policy, "policy", "", "YAML file of permissions over all agents: what it blocks, denies or asks counts for each")
	flags.StringVar(&o.Names.Product, "product-name", "", "what the pages of approval links call this service (default Dormouse)")
	flags.StringArrayVar(&f.tenantNames, "tenant-name", nil, "what those pages call a tenant, as TENANT=NAME; may be given more than once (default: its id)")
	flags.BoolVar(&o.Watch, "watch", o.Watch, "look for agent files that change, and deploy them for runs that start from then on")
	flags.StringVar(&f.public, "public-url", "", "where people reach the server, such as https://desk.example.com/dormouse; approval links begin with it (default: links are paths)")
}

// checkSteps refuses bounds that would keep workers idle. Zero is the default.
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

// serve runs the server until the command's context ends, and says where it listens as soon as it
// answers there. What becomes of agents whose files change is said after that.
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
	err = errors.Join(a.announce(server.Addr(), server.Unavailable(), o), a.introduce(e, server.Addr(), o))
	printed := a.printEach(reloads, o.Agents)
	err = errors.Join(err, server.Wait())
	close(reloads)
	select {
	case <-printed:
	case <-time.After(lastWords):
	}
	return err
}

// reachable is addr with an address that a client on this machine can use, also where the server
// listens on all of them.
func reachable(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsUnspecified() {
		return addr
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
}

func (a *app) announce(addr string, missing []program.Unavailable, o local.Options) error {
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
		return a.PrintJSON(said)
	}
	err := a.Printf("serving the agents of %s at http://%s, data in %s; Ctrl-C stops\n", o.Agents, askedFor(o.Addr, addr), o.Data)
	if o.PublicURL.String() != "" {
		err = errors.Join(err, a.Printf("links begin with %s\n", o.PublicURL))
	}
	for _, u := range missing {
		err = errors.Join(err, a.Print(display.Clean("not served: "+u.Name+": "+u.Reason)+"\n"))
	}
	return err
}

// askedFor is where a server listens in the words it was asked to, and with the port that it took:
// all addresses of a machine have no other name.
func askedFor(asked, listens string) string {
	host, _, wrong := net.SplitHostPort(asked)
	_, port, err := net.SplitHostPort(listens)
	if wrong != nil || err != nil {
		return listens
	}
	return net.JoinHostPort(cmp.Or(host, "0.0.0.0"), port)
}
