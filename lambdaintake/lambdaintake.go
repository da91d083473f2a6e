// Package lambdaintake turns a program into the Lambda function that starts the runs that messages
// of the intake queue request. Deploy it as the function intake of the project's template; it reads
// the same environment variables. It runs no tool and calls no model. It needs the program to check
// what agents are asked, which depends on its tools and gates.
package lambdaintake

import (
	"io"
	"math/rand/v2"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsintake"
	"github.com/dormouse-dev/dormouse/internal/binding"
)

// Main handles the messages that Lambda delivers to the function, and doesn't return. If the
// environment or the program is invalid, it logs why and exits with code 1.
//
// Pass the same program to packages lambdaapi and lambdastep.
func Main(p dormouse.Program) {
	settings, err := awsenv.Read(os.Getenv)
	if err == nil {
		var handler *awsintake.Handler
		if handler, err = open(p, settings, os.Stdout); err == nil {
			lambda.Start(handler.Handle) // for as long as the process lives
		}
	}
	settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
	os.Exit(1)
}

// open makes no network request.
func open(p dormouse.Program, s awsenv.Settings, out io.Writer) (*awsintake.Handler, error) {
	return awsintake.Open(s, binding.New(p).Lambda, rand.Float64, out)
}
