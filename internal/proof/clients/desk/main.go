// Command desk is the dormouse command with the tools of the agents that stock clients talk to in
// tests. Each payment is a line in payments.jsonl, in the data directory, so that one that was made
// twice is there twice.
//
//	desk dev ...                as dormouse dev
//	desk functions ROOT AGENTS  the agents, behind the functions of the template in ROOT
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/command"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "functions" {
		if err := serveFunctions(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "desk:", err)
			os.Exit(1)
		}
		return
	}
	command.Main(program())
}

func program() dormouse.Program {
	return dormouse.Program{
		Name:  "desk",
		Tools: []dormouse.Tool{dormouse.Func("clients.ask_color", "Asks the user for a color.", askColor), dormouse.Func("clients.remember", "Stores a thing.", remember)},
		Open: func(data string) (dormouse.Program, error) {
			l := ledger(filepath.Join(data, "payments.jsonl"))
			return dormouse.Program{Tools: []dormouse.Tool{dormouse.Func("clients.pay", "Pays an amount.", l.pay, dormouse.AtMostOnce)}}, nil
		},
	}
}

type payment struct {
	Amount int    `json:"amount"`
	To     string `json:"to"`
}

// ledger is the path of a file of payments.
type ledger string

func (l ledger) pay(_ context.Context, call dormouse.Call, p payment) (_ any, err error) {
	f, err := os.OpenFile(string(l), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := fmt.Fprintf(f, "{\"key\":%q,\"amount\":%d,\"to\":%q}\n", call.Key, p.Amount, p.To); err != nil {
		return nil, err
	}
	return map[string]any{"paid": p.Amount, "to": p.To}, f.Sync()
}

// remember stores a thing under a key of the agent, and returns what the page said about its board.
func remember(_ context.Context, call dormouse.Call, in struct {
	Thing string `json:"thing"`
}) (any, error) {
	page, err := dormouse.Value[struct {
		Zoom int `json:"zoom"`
	}](call.State.Run.Get(dormouse.ClientState))
	if err != nil {
		return nil, err
	}
	return map[string]any{"stored": in.Thing, "zoom": page.Zoom}, call.State.Run.Set("thing", in.Thing)
}

func askColor(context.Context, dormouse.Call, struct{}) (any, error) {
	return nil, dormouse.Suspend{Action: "choose_color", Message: "Which color?", Then: dormouse.TakeAnswer}
}
