package cli

import (
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/local"
)

// tokensFile is the default of --file.
const tokensFile = "tokens"

func (a *app) tokensCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tokens",
		Short: "Create, list and remove access tokens",
		Long: `Manage the file of access tokens. Each line has the name, tenant, roles and hash of one
token; the token itself is not stored. A server started with --tokens FILE reloads the
file when it changes.

Roles:
  start    start runs, send messages (which resumes an interrupted run), interrupt,
           cancel and retry runs
  read     read everything in the tenant
  decide   list and decide waiting calls; interrupt, resume and cancel runs
  link     create and revoke approval links
  webhooks manage webhooks; see and redrive deliveries
  admin    everything`,
		Example: `  dormouse tokens add ci --roles start,read --out ci.token
  dormouse tokens list
  dormouse tokens remove ci`,
		Args: cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tokensAddCommand(), a.tokensListCommand(), a.tokensRemoveCommand())
	return cmd
}

func fileFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "file", tokensFile, "tokens `FILE`")
}

func (a *app) tokensAddCommand() *cobra.Command {
	var file, tenant, roles string
	var out tokenOut
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Create a token and print it",
		Long: `Create a token, print it, and add its hash to the tokens file. The file is created if it
doesn't exist. The token is shown only once and is not stored. With --out, it is written
to a new file that only its owner can read; an existing file is never overwritten.

Runs, messages, decisions, cancels and interrupts made with the token are recorded as
made by token:NAME. Use the same form under approvers and starters in an agent file.`,
		Example: `  dormouse tokens add ci --roles start,read --out ci.token
  dormouse tokens add anna --tenant acme --roles read,decide --file /etc/dormouse/tokens`,
		Args: cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := access.Principal{Name: args[0], Tenant: tenant, Roles: access.ParseRoles(roles)}
			if err := p.Check(); err != nil {
				return cmdline.Usagef("%v", err)
			}
			if err := out.check(cmd); err != nil {
				return err
			}
			return a.addToken(file, p, out)
		},
	}
	fileFlag(cmd, &file)
	outFlag(cmd, &out)
	cmd.Flags().StringVar(&tenant, "tenant", access.Tenant, "`TENANT` that the token has access to")
	cmd.Flags().StringVar(&roles, "roles", "", "comma-separated `ROLES`: start, read, decide, link, webhooks, admin")
	return cmd
}

func (a *app) addToken(file string, p access.Principal, out tokenOut) error {
	var random [access.TokenBytes]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	token := access.NewToken(random)
	err := updateTokens(file, true, func(text string, keys access.Keys) (string, error) {
		if has(keys, p.Name) {
			return "", cmdline.Usagef("%s already has a token named %q; remove it first or choose another name", file, p.Name)
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + access.Grant{Principal: p, Hash: access.HashOf(token)}.Line() + "\n", out.write(token, file)
	})
	if err != nil {
		out.undo()
		return err
	}
	return a.printToken(file, p, token, out)
}

// printToken prints the token, or the name of the file that it was written to.
func (a *app) printToken(file string, p access.Principal, token string, out tokenOut) error {
	shown := map[string]any{"name": p.Name, "tenant": p.Tenant, "roles": p.Roles, "file": file}
	switch {
	case a.JSON && out.file != "":
		shown["out"] = out.file
	case a.JSON:
		shown["token"] = token
	case out.file != "":
		return a.Printf("token %s written to %s (readable only by its owner), hash added to %s\n", p.Name, out.file, file)
	default:
		return a.Printf("%s\n", token)
	}
	return a.PrintJSON(shown)
}

func has(keys access.Keys, name string) bool {
	return slices.ContainsFunc(keys.Grants(), func(g access.Grant) bool { return g.Name == name })
}

func (a *app) tokensListCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the names, tenants and roles of tokens",
		Example: "  dormouse tokens list",
		Args:    cmdline.Takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, keys, err := local.ReadTokens(file)
			if err != nil {
				return wrongLines(err)
			}
			return a.printTokens(keys.Grants())
		},
	}
	fileFlag(cmd, &file)
	return cmd
}

func (a *app) printTokens(grants []access.Grant) error {
	if a.JSON {
		listed := []map[string]any{}
		for _, g := range grants {
			listed = append(listed, map[string]any{"name": g.Name, "tenant": g.Tenant, "roles": g.Roles})
		}
		return a.PrintJSON(map[string]any{"items": listed})
	}
	var rows [][]string
	for _, g := range grants {
		roles := make([]string, len(g.Roles))
		for i, r := range g.Roles {
			roles[i] = string(r)
		}
		rows = append(rows, []string{g.Name, g.Tenant, strings.Join(roles, ",")})
	}
	return a.List(append([][]string{{"NAME", "TENANT", "ROLES"}}, rows...))
}

func (a *app) tokensRemoveCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a token; the server rejects it within a second",
		Example: "  dormouse tokens remove ci",
		Args:    cmdline.Takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return updateTokens(file, false, func(text string, keys access.Keys) (string, error) {
				if !has(keys, args[0]) {
					return "", cmdline.Usagef("%s has no token named %q; see: dormouse tokens list --file %s", file, args[0], scaffold.ShellWord(file))
				}
				return withoutToken(text, args[0]), nil
			})
		},
	}
	fileFlag(cmd, &file)
	return cmd
}

// withoutToken removes the lines of one token. Comments and other lines stay as they are.
func withoutToken(text, name string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 0 || fields[0] != name {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func updateTokens(file string, create bool, change func(text string, keys access.Keys) (string, error)) error {
	return wrongLines(local.UpdateTokens(file, create, change))
}

// wrongLines makes invalid lines in the tokens file a usage error.
func wrongLines(err error) error {
	if errors.Is(err, access.ErrLines) {
		return cmdline.Usagef("%v", err)
	}
	return err
}
