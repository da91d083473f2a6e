package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/servers"
)

// stands says which server stands for what, and under which variable it is told to tests.
var stands = []struct{ service, server, variable string }{
	{"dynamodb", "dynoxide", "DORMOUSE_TEST_DYNAMODB"},
	{"dynamodb", "moto", "DORMOUSE_TEST_DYNAMODB"},
	{"sqs", "elasticmq", "DORMOUSE_TEST_SQS"},
	{"sqs", "moto", "DORMOUSE_TEST_SQS"},
	{"openid", "oidc", "DORMOUSE_TEST_OIDC"},
}

// chosen says whether what was named, a service or a server, is this one; nothing named is all.
func chosen(named, service, server string) bool {
	return named == "" || named == service || named == server
}

// runServers runs a command once for each server of a service, or for one of that name, or for all,
// with where it is in the environment. A server that cannot be had is said, and is no failure: what
// was not run was not disproved. That nothing at all could be run is one, and with CI=true
// everything must run.
func runServers(ctx context.Context, args []string, out, progress io.Writer) int {
	named := ""
	if len(args) > 0 && slices.Contains([]string{"dynamodb", "sqs", "openid", "dynoxide", "elasticmq", "moto", "oidc"}, args[0]) {
		named, args = args[0], args[1:]
	}
	if len(args) < 2 || args[0] != "--" {
		fmt.Fprintln(progress, "usage: go run ./internal/proof/e2e servers [dynamodb|sqs|openid|NAME] -- COMMAND...")
		return exitUsage
	}
	args = args[1:]
	dir, _, err := workDir("")
	if err != nil {
		fmt.Fprintln(progress, "e2e:", err)
		return exitFailed
	}
	defer os.RemoveAll(dir)
	var n outcome
	for _, s := range stands {
		if !chosen(named, s.service, s.server) {
			continue
		}
		err := against(ctx, s.server, s.variable, dir, args, out, progress)
		what := fmt.Sprintf("%s with %s=%s", strings.Join(args, " "), s.variable, s.server)
		switch {
		case errors.Is(err, servers.ErrNotRun):
			n.not++
			fmt.Fprintf(out, "not run: %s: %v\n", what, err)
		case err != nil:
			n.failed++
			fmt.Fprintf(out, "FAILED:  %s: %v\n", what, err)
		default:
			n.ran++
			fmt.Fprintf(out, "ok:      %s\n", what)
		}
	}
	if code := n.exit(out, os.Getenv("CI") == "true"); ctx.Err() == nil {
		return code
	}
	return exitFailed
}

// outcome is how many servers the command was run against, and what came of it.
type outcome struct{ ran, failed, not int }

// exit says it. Where all must run, nobody reads that something was left out.
func (n outcome) exit(out io.Writer, must bool) int {
	fmt.Fprintf(out, "servers: %d passed, %d failed, %d not run\n", n.ran, n.failed, n.not)
	if n.not > 0 && must {
		fmt.Fprintln(out, "servers: with CI=true all of them must run; install what is missing (docs/contributing/emulators.md)")
		return exitFailed
	}
	if n.failed > 0 || n.ran == 0 {
		return exitFailed
	}
	return exitOK
}

func against(ctx context.Context, name, variable, dir string, args []string, out, progress io.Writer) error {
	s, err := servers.Start(ctx, name, dir, progress)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), variable+"="+s.URL)
	cmd.Stdout, cmd.Stderr = out, progress
	return errors.Join(cmd.Run(), s.Close())
}
