// Package lambdaconsole turns a program into the Lambda function that serves the console: the pages
// that people work in. Deploy it as the function console of the project's template; it reads the
// same environment variables. It runs no tool and calls no model. It needs the program to describe
// agents and to validate answers, which depend on its tools and gates.
package lambdaconsole

import (
	"io"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsconsole"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/binding"
)

// Main serves the requests that Lambda hands to the function, and doesn't return. If the
// environment or the program is invalid, it logs why and exits with code 1.
//
// Pass the same program to packages lambdaapi and lambdastep.
func Main(p dormouse.Program) {
	settings, err := awsenv.Read(os.Getenv)
	if err == nil {
		var handler awsapi.Gateway
		if handler, err = open(p, settings, os.Stdout); err == nil {
			lambda.Start(handler) // for as long as the process lives
		}
	}
	settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
	os.Exit(1)
}

// open makes no network request.
func open(p dormouse.Program, s awsenv.Settings, out io.Writer) (awsapi.Gateway, error) {
	return awsconsole.Open(s, binding.New(p).Lambda, out)
}
