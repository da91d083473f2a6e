package command_test

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/command"
)

type lookup struct {
	Harbour string `json:"harbour" jsonschema:"the name of the harbour, for example Dover"`
}

func tides(_ context.Context, _ dormouse.Call, args lookup) (any, error) {
	if args.Harbour != "Dover" {
		return nil, errors.New("I know the tides of Dover only")
	}
	return map[string]string{"high": "06:12", "low": "12:25"}, nil
}

var program = dormouse.Program{
	Name:    "tides",
	Version: "v1.0.0",
	Tools:   []dormouse.Tool{dormouse.Func("tides.next", "The next tides of a harbour.", tides, dormouse.ReadOnly)},
}

// A main function has one line.
func ExampleMain() {
	command.Main(program)
}

// A test of a program can run its commands. This one plays the tests of an agent, whose model is a
// script and whose tool is the program's.
func ExampleRun() {
	command.Run(context.Background(), program, []string{"version"}, strings.NewReader(""), os.Stdout, os.Stderr)
	command.Run(context.Background(), program, []string{"agents", "test", "testdata/agents"}, strings.NewReader(""), os.Stdout, os.Stderr)
	// Output:
	// tides v1.0.0
	// testdata/agents/tests/pilot.yaml:3: the tides of Dover are known
	//   run "When is the next tide in Dover?"  done (natural_end): "High water is at 06:12."
	//   expect                                 OK
	// 1 test: OK
}
