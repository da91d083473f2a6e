package suites

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeDesk writes the agent of the example refund-desk with tools that need no Go function: the
// functions that are deployed have none. They ask the service on this machine, or have recorded
// answers where the stack runs elsewhere.
func (t *Target) writeDesk(dir string) error {
	example := filepath.Join(t.Module, "examples", deskAgent)
	text, err := os.ReadFile(filepath.Join(example, deskAgent+".yaml"))
	if err != nil {
		return err
	}
	head, rest, before := strings.Cut(string(text), "\ntools:\n")
	_, permissions, behind := strings.Cut(rest, "\npermissions:\n")
	if !before || !behind {
		return fmt.Errorf("the example %s has no tools with permissions behind them", deskAgent)
	}
	tools := recordedDesk
	if t.Service != nil {
		tools = fmt.Sprintf(httpDesk, t.Service.Host())
	}
	return errors.Join(os.CopyFS(filepath.Join(dir, "scripts"), os.DirFS(filepath.Join(example, "scripts"))),
		os.WriteFile(filepath.Join(dir, deskAgent+".yaml"), []byte(head+tools+"permissions:\n"+permissions), 0o600))
}

const httpDesk = `
tools:
  - name: lookup_order
    description: What was ordered, and what it cost.
    http: {method: GET, url: "http://%[1]s/orders/{order}", allow_private: true}
    parameters: {type: object, properties: {order: {type: string}}, required: [order], additionalProperties: false}
  - name: issue_refund
    description: Pays an order back.
    http: {method: POST, url: "http://%[1]s/pay", allow_private: true, retries: 0}
    delivery: at_most_once
` + refundArguments

const recordedDesk = `
tools:
  - name: lookup_order
    description: What was ordered, and what it cost.
    recorded: [{result: '{"order":"A-17","amount":120}'}]
    parameters: {type: object, properties: {order: {type: string}}, required: [order], additionalProperties: false}
  - name: issue_refund
    description: Pays an order back.
    recorded: [{result: '{"order":"A-17","refunded":120}'}]
    delivery: at_most_once
` + refundArguments

const refundArguments = `    parameters:
      type: object
      properties: {order: {type: string}, amount: {type: integer}}
      required: [order, amount]
      additionalProperties: false
`
