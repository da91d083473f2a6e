// Package lambdaapi turns a program into the Lambda functions that serve the HTTP API except for
// decisions, which package lambdadecision accepts. Deploy it as the function api of the project's
// template; it reads the same environment variables. It runs no tool and calls no model. It needs
// the program to describe agents and to validate answers, which depend on its tools and gates.
package lambdaapi

import (
	"io"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsruns"
	"github.com/dormouse-dev/dormouse/internal/binding"
)

// Main serves the API except for decisions, and doesn't return. With DORMOUSE_STREAM=1 it is the
// function behind the URL that streams events. If the environment or the program is invalid, it
// logs why and exits with code 1.
func Main(p dormouse.Program) {
	settings, err := awsenv.Read(os.Getenv)
	if err == nil {
		var handler any
		if handler, err = assemble(p, settings, os.Stdout); err == nil {
			lambda.Start(handler) // for as long as the process lives
		}
	}
	settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
	os.Exit(1)
}

// assemble makes no network request.
func assemble(p dormouse.Program, s awsenv.Settings, out io.Writer) (any, error) {
	return awsruns.Open(s, binding.New(p).Lambda, out)
}
