// Command pretraffic is the Lambda function that tests a new version of the step function before it
// gets traffic. CodeDeploy invokes it.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/pretraffic"
)

func main() {
	settings, err := stack.Read(os.Getenv)
	if err != nil {
		settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(pretraffic.Open(settings, os.Getenv("DORMOUSE_STEP_VERSION"), os.Stdout).Handle)
}
