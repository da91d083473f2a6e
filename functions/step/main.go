// Command step is the function that works: it takes the wake-ups of the stack's runs and does one step for each, and it takes the messages of
// the intake queue and starts what they ask for.
package main

import (
	"math/rand/v2"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsexamples"
	"github.com/dormouse-dev/dormouse/internal/aws/awsstep"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func main() {
	settings, err := awsenv.Read(os.Getenv)
	if err != nil {
		settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	parts, err := awsstep.Open(settings, awsexamples.Register, engine.Controls{}, os.Stdout)
	if err != nil {
		parts.Logger.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	// A SIGTERM is a hint: what is at hand is finished or found by the sweep, and nothing waits to be written.
	stopping := lambda.WithEnableSIGTERM(func() { parts.Logger.Info("the platform stops this process") })
	lambda.StartWithOptions(awsstep.New(parts, rand.Float64).Handle, stopping)
}
