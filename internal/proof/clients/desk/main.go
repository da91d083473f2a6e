// Command desk is the dormouse command with the tools of the agents that stock clients talk to in
// tests. Each payment is a line in payments.jsonl, in the data directory, so that one that was made
// twice is there twice. shipments.jsonl is the record of a service that knows its callers by their
// idempotency keys.
//
//	desk dev ...                as dormouse dev
//	desk functions ROOT AGENTS  the agents, behind the functions of the template in ROOT
//
// With DESK_GATE, a tool asks that address before its effect and after it, and waits for the
// answer: a test can hold it there.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

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
			payments := &ledger{path: filepath.Join(data, "payments.jsonl")}
			shipments := &ledger{path: filepath.Join(data, "shipments.jsonl")}
			return dormouse.Program{Tools: []dormouse.Tool{
				dormouse.Func("clients.pay", "Pays an amount.", payments.pay, dormouse.AtMostOnce),
				dormouse.Func("clients.ship", "Ships an order.", shipments.ship, dormouse.Idempotent),
			}}, nil
		},
	}
}

type payment struct {
	Amount int    `json:"amount"`
	To     string `json:"to"`
}

type shipment struct {
	Order int `json:"order"`
}

// ledger is a file of what was done.
type ledger struct {
	path string
	mu   sync.Mutex
}

func (l *ledger) pay(ctx context.Context, call dormouse.Call, p payment) (any, error) {
	if err := gate(ctx, "pay", "before", p.Amount); err != nil {
		return nil, err
	}
	if err := l.add(fmt.Sprintf("{\"key\":%q,\"amount\":%d,\"to\":%q}\n", call.Key, p.Amount, p.To)); err != nil {
		return nil, err
	}
	return map[string]any{"paid": p.Amount, "to": p.To}, gate(ctx, "pay", "after", p.Amount)
}

// ship runs again after a crash, with the same key.
func (l *ledger) ship(ctx context.Context, call dormouse.Call, s shipment) (any, error) {
	if err := gate(ctx, "ship", "before", s.Order); err != nil {
		return nil, err
	}
	line := fmt.Sprintf("{\"key\":%q,\"order\":%d}\n", call.Key, s.Order)
	if !l.has(line) {
		if err := l.add(line); err != nil {
			return nil, err
		}
	}
	return map[string]any{"shipped": s.Order}, gate(ctx, "ship", "after", s.Order)
}

func (l *ledger) has(line string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	done, err := os.ReadFile(l.path)
	return err == nil && strings.Contains(string(done), line)
}

// add writes one line with one call, so that a crash leaves all of it or none.
func (l *ledger) add(line string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(line); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

func gate(ctx context.Context, tool, stage string, number int) error {
	at := os.Getenv("DESK_GATE")
	if at == "" {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/%s/%s/%d", at, tool, stage, number), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
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
