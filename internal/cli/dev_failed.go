package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/program"
)

// couldNotServe says of what keeps a server from starting which flag it is about. What it does not
// know stays as it is.
func couldNotServe(cmd *cobra.Command, o local.Options, err error) error {
	if _, unservable := errors.AsType[*program.NotServableError](err); unservable && !cmd.Flags().Changed("strict") {
		return fmt.Errorf("%w\n%s starts only if every agent can be served; --strict=false serves the others", err, cmd.CommandPath())
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(at.Err, fs.ErrNotExist) {
		err = notHere(cmd, o, at.Path, err)
	}
	listen, ok := errors.AsType[*net.OpError](err)
	switch {
	case ok && errors.Is(listen, syscall.EADDRINUSE):
		return fmt.Errorf("another program listens at %s, perhaps another server of agents; stop it, or choose another address with --addr", o.Addr)
	case ok && listen.Op == "listen":
		return fmt.Errorf("%w; choose another address with --addr", err)
	}
	return err
}

// notHere says how a file or directory that is missing comes to be there.
func notHere(cmd *cobra.Command, o local.Options, path string, err error) error {
	is := func(name string) bool { return name != "" && filepath.Clean(path) == filepath.Clean(name) }
	switch {
	case is(o.Agents) && o.Agents == scaffold.Usual:
		return errors.New(noAgentsHere(cmd))
	case is(o.Agents):
		return fmt.Errorf("there is no directory %s; dormouse new NAME --dir %s makes it with an agent, or name another with --agents",
			o.Agents, scaffold.ShellWord(o.Agents))
	case is(o.TokensFile):
		return fmt.Errorf("there is no file of tokens %s; make it with: dormouse tokens add NAME --roles ROLES --file %s",
			o.TokensFile, scaffold.ShellWord(o.TokensFile))
	case is(o.Policy):
		return fmt.Errorf("reading the policy: there is no file %s; name its YAML file with --policy, or leave that out", o.Policy)
	}
	return err
}

// noAgentsHere says what to do without agents: dev alone has an example.
func noAgentsHere(cmd *cobra.Command) string {
	const none = "there is no directory agents here; "
	if cmd.Flags().Lookup("example") == nil {
		return none + "dormouse new NAME creates it with an agent, or name it with --agents DIR"
	}
	return none + "dormouse dev --example serves a built-in agent, dormouse new NAME creates the directory with your own, and --agents DIR names another"
}
