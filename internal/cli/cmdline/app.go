// Package cmdline is what all commands of a program share: arguments and flags, the connection to
// the server, exit codes, and how runs and waiting calls are shown. It knows no single command.
package cmdline

import (
	"io"
	"regexp"
	"time"

	"github.com/spf13/pflag"

	"github.com/dormouse-dev/dormouse/internal/engine/runcontrol"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Options configure the command line for the program around it.
type Options struct {
	// Name is what the program is called in usage, its version, hints, completion and the
	// server's log; empty is "dormouse".
	Name string

	// Typed is how a person starts the program, in commands to copy: "bin/dormouse" if it isn't
	// on the PATH. Empty is Name.
	Typed string

	// Version is what the version command prints.
	Version string

	// Register adds the Go functions that agents may name, before dev serves; data is its data
	// directory. Nil adds none.
	Register func(r *tool.Registry, data string) error

	// RegisterHooks adds the hooks, memories and effects that agents may name, likewise. The
	// memory "notes" is there already.
	RegisterHooks func(r *hook.Registry, data string) error

	// Control is the program's control of the runs that dev works on; nil has none.
	Control func(data string) (runcontrol.Controls, error)

	// Getenv reads the environment; nil is [os.Getenv].
	Getenv func(string) string

	// Now is the clock for ages and deadlines; nil is [time.Now].
	Now func() time.Time
}

// App is one invocation of the program.
type App struct {
	Opts           Options
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	Started   bool // the arguments were parsed
	JSON      bool
	URL       string
	TokenFile string
	AWSIAM    bool
	Flags     *pflag.FlagSet // those of every command, as they were given
	signedFor string         // the region of signatures; "" before the first
	commands  *regexp.Regexp // of the product, in a text
}

// Now is the time by the clock of the options.
func (a *App) Now() time.Time { return a.Opts.Now() }
