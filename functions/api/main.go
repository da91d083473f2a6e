// Command api is the function that answers callers of the HTTP API, in all but decisions. With DORMOUSE_STREAM=1 it is the function behind the
// URL that streams events: the same program, since it needs the same parts.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
)

func main() {
	settings, err := awsenv.Read(os.Getenv)
	if err == nil {
		var handler any
		if handler, err = newHandler(settings, os.Stdout); err == nil {
			lambda.Start(handler) // for as long as the process lives
		}
	}
	settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
	os.Exit(1)
}
