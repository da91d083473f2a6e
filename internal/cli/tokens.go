package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/access"
)

// tokensFile is where the verbs look if no file is named.
const tokensFile = "tokens"

func (a *app) tokensCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tokens",
		Short: "Make, list and remove access tokens",
		Long: `Access tokens are kept in a file, as hashes: name, tenant, roles and hash, one token a line. The server that was
started with --tokens FILE reads it again when it changes.

Roles:
  start    start runs, send messages, interrupt, cancel, retry
  read     read everything of the tenant
  decide   see what waits, answer it, interrupt, resume, cancel
  admin    all of that`,
		Example: `  dormouse tokens add ci --roles start,read
  dormouse tokens list
  dormouse tokens remove ci`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tokensAddCommand(), a.tokensListCommand(), a.tokensRemoveCommand())
	return cmd
}

func fileFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "file", tokensFile, "file of the tokens")
}

func (a *app) tokensAddCommand() *cobra.Command {
	var file, tenant, roles string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a token, print it once, and keep its hash",
		Long: `Make a token and add its hash to the file, which is made if it is not there. The token is printed this once and kept
nowhere. What its holder does is recorded under NAME.`,
		Example: `  dormouse tokens add ci --roles start,read
  dormouse tokens add anna --tenant acme --roles read,decide --file /etc/dormouse/tokens`,
		Args: takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			p := access.Principal{Name: args[0], Tenant: tenant, Roles: access.ParseRoles(roles)}
			if err := p.Check(); err != nil {
				return usagef("%v", err)
			}
			return a.addToken(file, p)
		},
	}
	fileFlag(cmd, &file)
	cmd.Flags().StringVar(&tenant, "tenant", access.Tenant, "whose runs it is for")
	cmd.Flags().StringVar(&roles, "roles", "", "what it is good for: start, read, decide, admin, with commas")
	return cmd
}

func (a *app) addToken(file string, p access.Principal) error {
	text, keys, err := readTokens(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if slices.ContainsFunc(keys.Grants(), func(g access.Grant) bool { return g.Name == p.Name }) {
		return usagef("%s has a token %q already; remove it first, or take another name", file, p.Name)
	}
	var random [access.TokenBytes]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	token := access.NewToken(random)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if err := replaceFile(file, text+access.Grant{Principal: p, Hash: access.HashOf(token)}.Line()+"\n"); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"name": p.Name, "tenant": p.Tenant, "roles": p.Roles, "token": token, "file": file})
	}
	return a.printf("%s\n", token)
}

func (a *app) tokensListCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the tokens of a file, without the tokens",
		Example: "  dormouse tokens list",
		Args:    takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, keys, err := readTokens(file)
			if err != nil {
				return err
			}
			return a.printTokens(keys.Grants())
		},
	}
	fileFlag(cmd, &file)
	return cmd
}

func (a *app) printTokens(grants []access.Grant) error {
	if a.json {
		listed := []map[string]any{}
		for _, g := range grants {
			listed = append(listed, map[string]any{"name": g.Name, "tenant": g.Tenant, "roles": g.Roles})
		}
		return a.printJSON(map[string]any{"items": listed})
	}
	var rows [][]string
	for _, g := range grants {
		roles := make([]string, len(g.Roles))
		for i, r := range g.Roles {
			roles[i] = string(r)
		}
		rows = append(rows, []string{g.Name, g.Tenant, strings.Join(roles, ",")})
	}
	return a.list(append([][]string{{"NAME", "TENANT", "ROLES"}}, rows...))
}

func (a *app) tokensRemoveCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a token; the server lets it in no more within a second",
		Example: "  dormouse tokens remove ci",
		Args:    takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, keys, err := readTokens(file)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(keys.Grants(), func(g access.Grant) bool { return g.Name == args[0] }) {
				return usagef("%s has no token %q; see: dormouse tokens list --file %s", file, args[0], file)
			}
			return replaceFile(file, withoutToken(text, args[0]))
		},
	}
	fileFlag(cmd, &file)
	return cmd
}

// withoutToken leaves remarks and the other lines as they are.
func withoutToken(text, name string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 0 || fields[0] != name {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// readTokens reads a file as a person left it: a wrong line must be put right first.
func readTokens(file string) (string, access.Keys, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", access.Keys{}, fmt.Errorf("reading the tokens: %w", err)
	}
	keys, err := access.Parse(file, text)
	if err != nil {
		return "", access.Keys{}, usagef("%v", err)
	}
	return string(text), keys, nil
}

// replaceFile puts the text in the file's place at once, so that a server never reads half of it. Only its owner may read it.
func replaceFile(file, text string) error {
	to, err := os.CreateTemp(filepath.Dir(file), ".tokens-*")
	if err != nil {
		return err
	}
	defer os.Remove(to.Name()) // gone, once it was renamed
	_, err = to.WriteString(text)
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return err
	}
	return os.Rename(to.Name(), file)
}
