// Package lambdasweep is the Lambda function that finds due runs and sends wake-ups for them.
// Deploy it as the function sweep of the project's template; it reads the same environment
// variables. It needs no program, because it uses only the table and the queue.
package lambdasweep

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
)

// Main handles the invocations of a one-minute schedule, and doesn't return. Each invocation sends
// a wake-up for every due run: a run whose wake-up was lost, whose owner crashed or whose deadline
// passed. If the environment is invalid, it logs why and exits with code 1.
func Main() {
	settings, err := stack.Read(os.Getenv)
	if err != nil {
		settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(newHandler(stack.Open(settings, os.Stdout)).handle)
}
