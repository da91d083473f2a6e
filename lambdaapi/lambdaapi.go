// Package lambdaapi makes your program the functions of a stack that answer callers of the HTTP
// API. They stand in the places of the functions api and decision of the project's template, and
// read the same environment. They run no tool and ask no model: they need the program because
// agents are described, and answers are checked, by its tools and gates.
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

// Main serves the whole API but decisions, and does not return. With DORMOUSE_STREAM=1 it is the
// function behind the URL that streams events. If the environment or the program is wrong, it says
// so in the log and ends the process with code 1.
func Main(p dormouse.Program) { serve(p, whole) }

// Decisions serves what people and programs need to see what waits for an answer, and to answer it,
// and does not return. It fails as [Main] does.
func Decisions(p dormouse.Program) { serve(p, decisions) }

// part is what one function serves of the API.
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

// assemble asks no server anything.
func assemble(p dormouse.Program, s awsenv.Settings, out io.Writer, of part) (any, error) {
	f, err := awsenv.NewFront(s, binding.New(p).Lambda, out)
	if err != nil {
		return nil, err
	}
	return of(s, awsapi.Options{Frontend: f.Frontend, Clock: f.Clock, Access: s.Access, Links: f.LinkKeys, Version: s.Version, Logger: f.Logger})
}
