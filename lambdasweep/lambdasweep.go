// Package lambdasweep is the function of a stack that finds what is due and sends wake-ups for it.
// It takes the place of the function sweep in the project's template, and reads the same
// environment. It needs no program: it knows the table and the queue alone, and links nothing else.
package lambdasweep

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
)

// Main serves the schedule of a minute, and does not return. Each invocation sends a wake-up for
// every run that is due: one whose wake-up was lost, whose owner crashed, or whose deadline passed.
// If the environment is wrong, it says so in the log and ends the process with code 1.
func Main() {
	settings, err := stack.Read(os.Getenv)
	if err != nil {
		settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(newHandler(stack.Open(settings, os.Stdout)).handle)
}
