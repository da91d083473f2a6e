// Package lambdastep turns a program into the Lambda function that performs the steps of runs.
// Deploy it as the function step of the project's template; it reads the same environment
// variables. It links no embedded store, no command and no HTTP API, which keeps the binary small.
package lambdastep

import (
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsstep"
	"github.com/dormouse-dev/dormouse/internal/binding"
)

// Main handles the messages that Lambda delivers to the function, and doesn't return. If the
// environment or the program is invalid, it logs why and exits with code 1.
//
// Pass the same program to package lambdaapi, whose functions validate the answers of callers
// against the schemas of its tools.
func Main(p dormouse.Program) {
	settings, err := awsenv.Read(os.Getenv)
	if err != nil {
		settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	if settings.Memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		// The collector works harder before Lambda kills the process. A fifth is for what
		// it doesn't count: the program's code, and what it has freed and not returned.
		debug.SetMemoryLimit(int64(settings.Memory) / 5 * 4)
	}
	parts, err := open(p, settings, os.Stdout)
	if err != nil {
		parts.Logger.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	// SIGTERM needs no cleanup: nothing is buffered, and the sweep finds a run whose step was
	// interrupted.
	stopping := lambda.WithEnableSIGTERM(func() { parts.Logger.Info("Lambda is stopping this process") })
	lambda.StartWithOptions(awsstep.New(parts, rand.Float64).Handle, stopping)
}

// open makes no network request.
func open(p dormouse.Program, s awsenv.Settings, out io.Writer) (awsenv.Step, error) {
	bound := binding.New(p)
	// an invalid program is reported when awsstep.Open registers its parts
	control, _ := bound.Control(binding.InFunction())
	return awsstep.Open(s, awsstep.Program{Name: p.Name, Register: bound.Lambda, Control: control}, out)
}
