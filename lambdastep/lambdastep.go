// Package lambdastep makes your program the function of a stack that works: it does the steps of
// runs and starts what the intake queue asks for. It stands in the place of the function step of
// the project's template, and reads the same environment. It links neither the embedded store nor
// the command, and no HTTP API.
package lambdastep

import (
	"io"
	"math/rand/v2"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsstep"
	"github.com/dormouse-dev/dormouse/internal/binding"
)

// Main serves the messages that the platform hands to the function, and does not return. If the
// environment or the program is wrong, it says so in the log and ends the process with code 1.
//
// The functions of package lambdaapi need the same program: they check what callers answer against
// the schemas of its tools.
func Main(p dormouse.Program) {
	settings, err := awsenv.Read(os.Getenv)
	if err != nil {
		settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	parts, err := open(p, settings, os.Stdout)
	if err != nil {
		parts.Logger.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	// A SIGTERM is a hint: what is at hand is finished or found by the sweep, and nothing waits
	// to be written.
	stopping := lambda.WithEnableSIGTERM(func() { parts.Logger.Info("the platform stops this process") })
	lambda.StartWithOptions(awsstep.New(parts, rand.Float64).Handle, stopping)
}

// open asks no server anything.
func open(p dormouse.Program, s awsenv.Settings, out io.Writer) (awsenv.Step, error) {
	bound := binding.New(p)
	// what is wrong with the program is said when its parts are registered
	control, _ := bound.Control(binding.InFunction())
	return awsstep.Open(s, awsstep.Program{Name: p.Name, Register: bound.Lambda, Control: control}, out)
}
