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

// couldNotServe adds to a known error of a failed start which flag fixes it.
func couldNotServe(cmd *cobra.Command, o local.Options, err error) error {
	if _, unservable := errors.AsType[*program.NotServableError](err); unservable && !cmd.Flags().Changed("strict") {
		return fmt.Errorf("%w\n%s starts only if every agent can be served; to serve the others, pass --strict=false", err, cmd.CommandPath())
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(at.Err, fs.ErrNotExist) {
		err = notHere(cmd, o, at.Path, err)
	}
	listen, ok := errors.AsType[*net.OpError](err)
	switch {
	case ok && errors.Is(listen, syscall.EADDRINUSE):
		return fmt.Errorf("address %s is already in use, perhaps by another Dormouse server; stop that program or choose another address with --addr", o.Addr)
	case ok && listen.Op == "listen":
		return fmt.Errorf("%w; choose another address with --addr", err)
	}
	return err
}

// notHere says how to create a missing file or directory.
func notHere(cmd *cobra.Command, o local.Options, path string, err error) error {
	is := func(name string) bool { return name != "" && filepath.Clean(path) == filepath.Clean(name) }
	switch {
	case is(o.Agents) && o.Agents == scaffold.Usual:
		return errors.New(noAgentsHere(cmd))
	case is(o.Agents):
		return fmt.Errorf("the directory %s doesn't exist; create it with: dormouse new NAME --dir %s, or set --agents to another one",
			o.Agents, scaffold.ShellWord(o.Agents))
	case is(o.TokensFile):
		return fmt.Errorf("the tokens file %s doesn't exist; create it with: dormouse tokens add NAME --roles ROLES --file %s",
			o.TokensFile, scaffold.ShellWord(o.TokensFile))
	case is(o.Policy):
		return fmt.Errorf("the policy file %s doesn't exist; set --policy to an existing YAML file, or remove it", o.Policy)
	case is(o.Prices):
		return fmt.Errorf("the price file %s doesn't exist; set --prices to an existing YAML file, or remove it", o.Prices)
	}
	return err
}

// noAgentsHere says what to do without agents. Only dev has an example.
func noAgentsHere(cmd *cobra.Command) string {
	const none = "the directory agents doesn't exist here; "
	if cmd.Flags().Lookup("example") == nil {
		return none + "create it with: dormouse new NAME, or set --agents DIR"
	}
	return none + "try a built-in agent with: dormouse dev --example, create your own with: dormouse new NAME, or set --agents DIR"
}
