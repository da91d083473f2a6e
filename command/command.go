// Package command is the dormouse command with your program's tools, hooks, effects and memories:
// the server and all client commands. It links the embedded store. For functions on AWS, use
// packages lambdastep and lambdaapi instead.
package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
)

// Main runs the command that the process was started with, and ends the process with its exit code.
// On an interrupt or SIGTERM, a server finishes the steps in progress.
func Main(p dormouse.Program) {
	p.Name = cmp.Or(p.Name, startedBy(os.Args))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, p, typed(os.Args), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Run runs the command that args name, without the program's name, until it is finished or ctx
// ends, and returns the exit code, which "help exit-codes" explains. Answers go to stdout and what
// went wrong to stderr. A program that cannot be registered, because two of its tools have one name
// for example, is said by the first command that needs it. A program without a name is called
// dormouse.
func Run(ctx context.Context, p dormouse.Program, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(ctx, p, "", args, stdin, stdout, stderr)
}

func run(ctx context.Context, p dormouse.Program, typed string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if p.Name != "" && !isWord(p.Name) {
		fmt.Fprintf(stderr, "dormouse: the program's Name is %q; make it one word of letters, digits, \"-\", \"_\" and \".\"\n", p.Name)
		return cmdline.ExitUsage
	}
	bound := binding.New(p)
	return cli.Main(ctx, args, stdin, stdout, stderr, cmdline.Options{
		Name:          p.Name,
		Typed:         typed,
		Version:       cmp.Or(p.Version, builtVersion(debug.ReadBuildInfo()), "devel"),
		Register:      bound.Tools,
		RegisterHooks: bound.Hooks,
		Control:       bound.Control,
	})
}

// builtVersion is the version of the module that has the main package, which go install records:
// "v1.2.3", or a pseudo-version of a commit. It is empty in a test, and in a build without one.
func builtVersion(info *debug.BuildInfo, ok bool) string {
	if !ok || info.Main.Version == "(devel)" {
		return ""
	}
	return info.Main.Version
}

// startedBy is the file name in the first argument, as a person types it; empty if it is no word.
func startedBy(args []string) string {
	if len(args) == 0 {
		return ""
	}
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if !isWord(name) {
		return ""
	}
	return name
}

// typed is the first argument if a person has typed it as the path of a file: bin/dormouse. The
// program may not be on the PATH then. It is empty for a path from the root, which a script or go
// run has made.
func typed(args []string) string {
	if len(args) == 0 || filepath.IsAbs(args[0]) || !strings.ContainsRune(args[0], filepath.Separator) {
		return ""
	}
	return scaffold.ShellWord(args[0])
}

// isWord says whether a shell takes a name as it is.
var isWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`).MatchString
