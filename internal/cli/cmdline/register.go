package cmdline

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// PublicURL reads the flag --public-url.
func PublicURL(text string) (access.PublicURL, error) {
	public, err := access.ParsePublicURL(text)
	if err != nil {
		return public, Usagef("--public-url: %v", err)
	}
	return public, nil
}

// PrivateFlag adds --allow-private-hosts; see [ReadPrivate].
func PrivateFlag(cmd *cobra.Command, hosts *[]string) {
	cmd.Flags().StringSliceVar(hosts, "allow-private-hosts", nil,
		"comma-separated private `HOSTS` or networks that models, and tools and servers with allow_private, may connect to, such as localhost:9000,10.0.0.0/8 (default: none)")
}

// CommandsFlag adds --allow-commands.
func CommandsFlag(cmd *cobra.Command, allowed *bool) {
	cmd.Flags().BoolVar(allowed, "allow-commands", false,
		"allow effects to run commands on this machine as the current user; without it, agents with such effects are not served")
}

// ReadPrivate reads the hosts of --allow-private-hosts. A host that cannot be read is wrong usage.
func ReadPrivate(hosts []string) (netguard.Private, error) {
	private, err := netguard.ReadPrivate(hosts)
	if err != nil {
		return private, Usagef("--allow-private-hosts: %v", err)
	}
	return private, nil
}

// Register sets the program's name and registers what agents may name: this program's functions,
// hooks and memories, the memory "notes" in the data directory, and models and functions on AWS,
// called with the caller's credentials. Nothing is called or looked up yet.
func (a *App) Register(o *local.Options) error {
	o.Command = a.Typed()
	kept := secret.Keep(secret.Environment(a.Opts.Getenv), nil)
	account := awscli.NewAccount(o.Logger, kept.Values)
	o.Secrets = kept.Source
	o.Models = map[string]program.Provider{agent.ProviderBedrock: account.Bedrock}
	o.Bodies = map[string]program.Bodies{program.BodyLambda: account.Lambda}
	o.Tools, o.Hooks = tool.NewRegistry(o.Logger), hook.NewRegistry()
	if err := o.Hooks.RegisterMemory("notes", hook.FileMemory(o.Data)); err != nil {
		return err
	}
	if a.Opts.Register != nil {
		if err := a.Opts.Register(o.Tools, o.Data); err != nil {
			return err
		}
	}
	if a.Opts.RegisterHooks == nil {
		return nil
	}
	return a.Opts.RegisterHooks(o.Hooks, o.Data)
}
