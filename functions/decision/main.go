// Command decision is the function through which people and programs see what waits for an answer, and answer it: by calls of the HTTP API that
// an authorizer lets in, and by signed links, which need none.
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
