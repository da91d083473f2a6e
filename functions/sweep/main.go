// Command sweep is the function that finds what is due and sends wake-ups for it, on a schedule of a minute. It is the safety net of
// everything: a wake-up that was lost, an owner that died, a deadline that passed.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
)

func main() {
	settings, err := stack.Read(os.Getenv)
	if err != nil {
		settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(newHandler(stack.Open(settings, os.Stdout)).handle)
}
