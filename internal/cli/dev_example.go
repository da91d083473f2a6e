package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/agents"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/local"
)

// exampleAgent is the agent that dev --example serves.
const exampleAgent = "refunds"

// example is the built-in agent of dev --example. Its files are written to the data directory at
// the first start and stay as they are after that, so that edits and runs survive a restart.
type example struct {
	on   bool
	made bool // locate chose the file of tokens, and prepare writes it
	// what callers need, if the address needs one and the operator named no file of tokens
	token string
}

// locate points the options at the example's directories and, where other machines can reach the
// address, at its own tokens: without them the server would refuse to start.
func (e *example) locate(cmd *cobra.Command, o *local.Options) error {
	if !e.on {
		return nil
	}
	if cmd.Flags().Changed("agents") {
		return cmdline.Usagef("--example and --agents can't be combined; remove one of them")
	}
	if !cmd.Flags().Changed("data") {
		o.Data = filepath.Join(o.Data, "example")
	}
	o.Agents = filepath.Join(o.Data, scaffold.Usual)
	if errors.Is(local.CheckAddr(o.Addr, o.TokensFile != ""), local.ErrNotLoopback) {
		o.TokensFile, e.made = filepath.Join(o.Data, tokensFile), true
	}
	return nil
}

// prepare writes the agent's files, and the tokens that locate chose.
func (e *example) prepare(program string, o local.Options) error {
	if !e.on {
		return nil
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return fmt.Errorf("cannot create the data directory: %w; set --data to a directory that can be written", err)
	}
	if err := writeExample(program, o.Agents); err != nil {
		return fmt.Errorf("writing the example agent to the data directory: %w; name one that can be written with --data DIR", err)
	}
	if !e.made {
		return nil
	}
	var err error
	e.token, err = exampleToken(o.TokensFile, cmp.Or(o.Tenant, access.Tenant))
	return err
}

// writeExample creates the directory of agents if it doesn't exist or is empty. The directory gets
// its name once it is complete: a kill in between leaves no half of an agent to the next start.
func writeExample(program, dir string) error {
	// Remove takes away a directory only if it is empty.
	if entries, err := os.ReadDir(dir); err == nil && (len(entries) > 0 || os.Remove(dir) != nil) {
		return nil
	}
	files, err := agents.Scaffold(program, dir, exampleAgent)
	if err != nil {
		return err
	}
	whole, err := os.MkdirTemp(filepath.Dir(dir), ".agents-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(whole) // nothing is left of it once it was renamed
	for i := range files {
		rel, err := filepath.Rel(dir, files[i].Path)
		if err != nil {
			return err
		}
		files[i].Path = filepath.Join(whole, rel)
	}
	if _, _, err := scaffold.Write(files); err != nil {
		return err
	}
	if err := os.Rename(whole, dir); err != nil {
		if _, missing := os.ReadDir(dir); missing != nil {
			return err
		} // another server was first
	}
	return nil
}

// served says what a server serves.
func (e *example) served(o local.Options) string {
	if e.on {
		return "the example agent " + exampleAgent
	}
	return "the agents of " + o.Agents
}

// introduce prints commands for the example's agent that work as they are printed.
func (a *app) introduce(e *example, addr string, o local.Options) error {
	if !e.on || a.JSON {
		return nil
	}
	var b strings.Builder
	b.WriteString("\nIt issues refunds, and asks for approval when the amount exceeds $100. In another terminal:\n")
	step := func(what, command string) { fmt.Fprintf(&b, "  %-15s %s\n", what, command) }
	switch {
	case e.token != "":
		step("use its token", setVariable("DORMOUSE_TOKEN", e.token))
	case o.TokensFile != "":
		step("use a token", setVariable("DORMOUSE_TOKEN", "TOKEN"))
	}
	elsewhere := reachable(addr) != usualAddr
	url := setVariable("DORMOUSE_URL", "http://"+reachable(addr))
	switch alias := a.containerAlias(elsewhere, url); {
	case alias != "":
		step("use the image", alias)
	case elsewhere:
		step("use its address", url)
	}
	step("start a run", a.Typed()+` run `+exampleAgent+` "Refund order A-2" --wait`)
	step("list approvals", a.Typed()+" approvals")
	step("approve", a.Typed()+" decide RUN --approve")
	step("follow the run", a.Typed()+" watch RUN")
	fmt.Fprintf(&b, "Edit %s to change the agent; it is reloaded when you save it.\n", display.Clean(filepath.Join(o.Agents, exampleAgent+".yaml")))
	if e.token != "" {
		b.WriteString("The token travels unencrypted: use this address on a network you trust, or put a TLS proxy in front.\n")
	}
	return a.Print(b.String())
}
