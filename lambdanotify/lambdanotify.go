// Package lambdanotify turns a program into the Lambda function that delivers notices: to webhooks,
// and to the services of AWS that the stack names. It sends test notices for the API, too. Deploy
// it as the function notify of the project's template; it reads the same environment variables. It
// runs no tool and calls no model. It needs the program to describe agents, which depend on its
// tools and gates.
package lambdanotify

import (
	"io"
	"math/rand/v2"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsnotify"
	"github.com/dormouse-dev/dormouse/internal/binding"
)

// Main handles the messages and requests that Lambda delivers to the function, and doesn't return.
// If the environment or the program is invalid, it logs why and exits with code 1.
//
// Pass the same program to packages lambdaapi and lambdastep.
func Main(p dormouse.Program) {
	settings, err := awsenv.Read(os.Getenv)
	if err == nil {
		var handler lambda.Handler
		if handler, err = open(p, settings, os.Stdout); err == nil {
			lambda.Start(handler) // for as long as the process lives
		}
	}
	settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
	os.Exit(1)
}

// open makes no network request.
func open(p dormouse.Program, s awsenv.Settings, out io.Writer) (lambda.Handler, error) {
	return awsnotify.Open(s, binding.New(p).Lambda, rand.Float64, out)
}
