package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/local"
)

// exampleToken returns the token that is kept beside the file of tokens, so that it survives a
// restart, and creates both if there is none. Two servers that start at once get the same one.
func exampleToken(file, tenant string) (token string, err error) {
	beside := filepath.Join(filepath.Dir(file), "token")
	if err := errors.Join(forOwnerOnly(beside), forOwnerOnly(file)); err != nil {
		return "", err
	}
	err = updateTokens(file, true, func(text string, keys access.Keys) (string, error) {
		kept, err := os.ReadFile(beside)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		token = strings.TrimSpace(string(kept))
		if p, known := keys.Find(token); known && p.Tenant == tenant {
			return text, nil
		}
		var random [access.TokenBytes]byte
		if _, err := rand.Read(random[:]); err != nil {
			return "", err
		}
		token = access.NewToken(random)
		p := access.Principal{Name: "example", Tenant: tenant, Roles: []access.Role{access.Admin}}
		if err := p.Check(); err != nil {
			return "", cmdline.Usagef("%v", err)
		}
		return withoutToken(text, p.Name) + access.Grant{Principal: p, Hash: access.HashOf(token)}.Line() + "\n", local.WriteSecret(beside, token+"\n")
	})
	return token, err
}

// forOwnerOnly refuses a file that other users can read: it may have come with a directory that
// someone else made, and then others know the token in it.
func forOwnerOnly(file string) error {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular(), runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s is not a file that only its owner can read, so its token may be known to others; remove it to get a new one: rm %s",
			file, scaffold.ShellWord(file))
	}
	return nil
}

// setVariable is the command that sets an environment variable in the usual shell of this system.
func setVariable(name, value string) string {
	if runtime.GOOS == "windows" {
		return fmt.Sprintf("$env:%s = %q", name, value)
	}
	return "export " + name + "=" + value
}

// containerAlias is a command that makes the program's name run the one in this container; empty
// outside of one. The image of the project sets the variable container, as podman does; others,
// such as systemd-nspawn and LXC, have no command that the alias could use.
func (a *app) containerAlias(elsewhere bool, url string) string {
	engine := a.Opts.Getenv("container")
	switch engine {
	case "podman", "docker":
	case "oci":
		engine = "docker"
	default:
		return ""
	}
	id, err := os.Hostname() // the container's id, unless it was started with --hostname
	if err != nil {
		return ""
	}
	variables := "-e DORMOUSE_TOKEN"
	if elsewhere {
		variables += " -e " + strings.TrimPrefix(url, "export ")
	}
	return fmt.Sprintf("alias %s='%s exec -it %s %s %s'", a.Name(), engine, variables, id, a.Name())
}
