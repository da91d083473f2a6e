// Command echo is a function for the tests of the stand-in: it does what its event says.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type event struct {
	Do      string
	Records []struct{ MessageID, Body string }
}

var calls int

func main() { lambda.Start(handle) }

func handle(ctx context.Context, e event) (any, error) {
	calls++
	deadline, _ := ctx.Deadline()
	lc, _ := lambdacontext.FromContext(ctx)
	switch e.Do {
	case "fail":
		return nil, errors.New("as asked")
	case "hang":
		time.Sleep(time.Hour)
	case "die":
		os.Exit(3)
	case "stream":
		return io.MultiReader(strings.NewReader(`{"statusCode":200}`+strings.Repeat("\x00", 8)+"one "), strings.NewReader("two")), nil
	}
	failures := []map[string]string{}
	for _, r := range e.Records {
		if r.Body == "bad" {
			failures = append(failures, map[string]string{"itemIdentifier": r.MessageID})
		}
	}
	return map[string]any{"calls": calls, "pid": os.Getpid(), "seconds": time.Until(deadline).Seconds(), "id": lc.AwsRequestID, "arn": lc.InvokedFunctionArn,
		"table": os.Getenv("TABLE"), "home": os.Getenv("HOME"), "batchItemFailures": failures}, nil
}
