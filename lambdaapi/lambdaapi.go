// Package lambdaapi turns a program into the Lambda functions that serve the HTTP API. Deploy them
// as the functions api and decision of the project's template; they read the same environment
// variables. They run no tool and call no model. They need the program to describe agents and to
// validate answers, which depend on its tools and gates.
package lambdaapi

import (
	"io"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/binding"
)

// Main serves the API except for decisions, and doesn't return. With DORMOUSE_STREAM=1 it is the
// function behind the URL that streams events. If the environment or the program is invalid, it
// logs why and exits with code 1.
func Main(p dormouse.Program) { serve(p, whole) }

// Decisions serves the part of the API that lists suspensions and accepts decisions on them, and
// doesn't return. It fails as [Main] does.
func Decisions(p dormouse.Program) { serve(p, decisions) }

// part returns the handler of one function.
type part func(awsenv.Settings, awsapi.Options) (any, error)

func whole(s awsenv.Settings, o awsapi.Options) (any, error) {
	if s.Access.Stream {
		return awsapi.Streams(o)
	}
	return awsapi.Runs(o)
}

func decisions(_ awsenv.Settings, o awsapi.Options) (any, error) { return awsapi.Decisions(o) }

func serve(p dormouse.Program, of part) {
	settings, err := awsenv.Read(os.Getenv)
	if err == nil {
		var handler any
		if handler, err = assemble(p, settings, os.Stdout, of); err == nil {
			lambda.Start(handler) // for as long as the process lives
		}
	}
	settings.Logger(os.Stdout).Error("the function cannot start", "error", err)
	os.Exit(1)
}

// assemble makes no network request.
func assemble(p dormouse.Program, s awsenv.Settings, out io.Writer, of part) (any, error) {
	f, err := awsenv.NewFront(s, binding.New(p).Lambda, out)
	if err != nil {
		return nil, err
	}
	return of(s, awsapi.Options{Frontend: f.Frontend, Webhooks: f.Webhooks, Clock: f.Clock, Access: s.Access, Links: f.LinkKeys, Version: s.Version, Logger: f.Logger})
}
