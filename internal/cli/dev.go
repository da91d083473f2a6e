package cli

import (
	"cmp"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/awscli"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/httptool"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

func (a *app) devCommand() *cobra.Command {
	o := local.Options{Version: a.opts.Version}
	var private []string
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Serve agents on this machine",
		Long: `Serve the API and work on runs until the process is told to stop (SIGINT or SIGTERM): steps at hand are finished,
runs that wait or are due go on at the next start. A kill at any moment loses nothing.
An address that other machines can reach needs --tokens; behind it, put something that speaks TLS in front.`,
		Example: `  dormouse dev --agents examples/refund-desk
  dormouse dev --addr 127.0.0.1:0 --data /tmp/desk --json
  DORMOUSE_SECRET_ORDERS=... dormouse dev --allow-private-hosts orders.internal:9000`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := local.CheckAddr(o.Addr, o.TokensFile != ""); err != nil {
				return usagef("%v", err)
			}
			if err := atLeastOne("--workers", o.Workers); err != nil {
				return err
			}
			if s := o.Limits.StartsPerSecond; !(s >= 0) || math.IsInf(s, 0) { // NaN is neither
				return usagef("--starts-per-second is a number from 0, not %v; 0 is no limit", s)
			}
			if err := canRecord(o.Record); err != nil {
				return err
			}
			var err error
			if o.Private, err = readPrivate(private); err != nil {
				return err
			}
			return a.serve(cmd, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Addr, "addr", "127.0.0.1:8420", "where to listen; port 0 takes a free one")
	flags.StringVar(&o.Data, "data", ".dormouse", "directory of everything that must last")
	flags.StringVar(&o.Agents, "agents", "agents", "directory of the agents' YAML files")
	flags.IntVar(&o.Workers, "workers", 4, "how many steps may be worked on at once")
	flags.StringVar(&o.TokensFile, "tokens", "", "file of access tokens, as dormouse tokens writes it; it is read again when it changes")
	flags.StringArrayVar(&o.Origins, "cors-origin", nil, "site whose pages may call, as https://host; may be given more than once (default: none may)")
	flags.Float64Var(&o.Limits.StartsPerSecond, "starts-per-second", 0, "runs, messages, retries and interrupts that each tenant may send, over time; 0 is no limit")
	privateFlag(cmd, &private)
	flags.StringVar(&o.Record, "record", "", "file to add each run's conversation to when it is done, for dormouse replay and the model provider \"recorded\"")
	flags.StringVar(&o.Policy, "policy", "", "YAML file of permissions over all agents: what it blocks, denies or asks counts for each")
	return cmd
}

func privateFlag(cmd *cobra.Command, hosts *[]string) {
	cmd.Flags().StringSliceVar(hosts, "allow-private-hosts", nil,
		"hosts, addresses or networks that HTTP tools with allow_private may reach beside public ones, as localhost:9000,10.0.0.0/8 (default: none)")
}

func readPrivate(hosts []string) (httptool.Private, error) {
	private, err := httptool.ReadPrivate(hosts)
	if err != nil {
		return private, usagef("--allow-private-hosts: %v", err)
	}
	return private, nil
}

// serve runs the server until the command's context ends, and says where it listens as soon as it answers there.
func (a *app) serve(cmd *cobra.Command, o local.Options) error {
	o.Logger = slog.New(slog.NewTextHandler(a.stderr, nil))
	if err := a.register(&o); err != nil {
		return err
	}
	server, err := local.Start(cmd.Context(), o)
	if err != nil {
		return couldNotServe(o, err)
	}
	return errors.Join(a.announce(server.Addr(), o), server.Wait())
}

// register puts together what agents may name: what this program brings, the memory "notes" in the data directory, and what is called with the
// AWS credentials of whoever started the program. Nothing is called or looked for yet.
func (a *app) register(o *local.Options) error {
	kept := secret.Keep(secret.Environment(a.opts.Getenv), nil)
	account := awscli.NewAccount(o.Logger, kept.Values)
	o.Secrets = kept.Source
	o.Models = map[string]program.Provider{agent.ProviderBedrock: account.Bedrock}
	o.Bodies = map[string]program.Bodies{program.BodyLambda: account.Lambda}
	o.Tools, o.Hooks = tool.NewRegistry(o.Logger), hook.NewRegistry()
	if err := o.Hooks.RegisterMemory("notes", hook.FileMemory(o.Data)); err != nil {
		return err
	}
	if a.opts.Register != nil {
		if err := a.opts.Register(o.Tools, o.Data); err != nil {
			return err
		}
	}
	if a.opts.RegisterHooks == nil {
		return nil
	}
	return a.opts.RegisterHooks(o.Hooks, o.Data)
}

// reachable is addr with an address that a client on this machine can use, also where the server listens on all of them.
func reachable(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsUnspecified() {
		return addr
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
}

func (a *app) announce(addr string, o local.Options) error {
	if a.json {
		at := (&url.URL{Scheme: "http", Host: reachable(addr)}).String()
		return a.printJSON(map[string]string{"url": at, "data": o.Data, "agents": o.Agents})
	}
	return a.printf("serving the agents of %s at http://%s, data in %s; Ctrl-C stops\n", o.Agents, askedFor(o.Addr, addr), o.Data)
}

// askedFor is where a server listens in the words it was asked to, and with the port that it took: all addresses of a machine have no other name.
func askedFor(asked, listens string) string {
	host, _, wrong := net.SplitHostPort(asked)
	_, port, err := net.SplitHostPort(listens)
	if wrong != nil || err != nil {
		return listens
	}
	return net.JoinHostPort(cmp.Or(host, "0.0.0.0"), port)
}
