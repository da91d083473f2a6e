package torture

import (
	"errors"
	"os"
	"path/filepath"
)

// The agents of a server that this package starts itself. Their pay tool writes a line into a ledger beside the data and cannot take it
// back, so that a call which ran twice, ran without leave or ran with other arguments is there for all to see.
var ownAgents = map[string]string{
	// Everything is allowed.
	"torture-auto": `
model:
  provider: scripted
  turns:
    - given: {user: 'pay (?P<a>\S+) (?P<x>\d+) and (?P<b>\S+) (?P<y>\d+)', step: 1}
      calls:
        - {tool: look, arguments: {order: "${a}"}}
        - {tool: pay, arguments: {order: "${a}", amount: "${x}"}}
        - {tool: pay, arguments: {order: "${b}", amount: "${y}"}}
    - say: Done.
permissions: {allow: [look, pay]}
` + ownTools,
	// A person is asked, for two calls of one turn and for one of the next.
	"torture-asks": `
model:
  provider: scripted
  turns:
    - given: {user: 'pay (?P<a>\S+) (?P<x>\d+) and (?P<b>\S+) (?P<y>\d+)', step: 1}
      calls:
        - {tool: pay, arguments: {order: "${a}", amount: "${x}"}}
        - {tool: look, arguments: {order: "${b}"}}
        - {tool: pay, arguments: {order: "${b}", amount: "${y}"}}
    - given: {user: 'pay (?P<a>\S+) (?P<x>\d+) and (?P<b>\S+) (?P<y>\d+)', step: 2}
      calls:
        - {tool: pay, arguments: {order: "${a}", amount: "${y}"}}
    - say: Done.
permissions: {allow: [look], ask: [pay]}
` + ownTools,
	// The calls of a turn run side by side.
	"torture-pair": `
executor: parallel
model:
  provider: scripted
  turns:
    - given: {user: 'pay (?P<a>\S+) (?P<x>\d+) and (?P<b>\S+) (?P<y>\d+)', step: 1}
      calls:
        - {tool: pay, arguments: {order: "${a}", amount: "${x}"}}
        - {tool: pay, arguments: {order: "${b}", amount: "${y}"}}
    - say: Done.
permissions: {allow: [look], ask: [pay]}
` + ownTools,
	// The caller runs one of the tools.
	"torture-shop": `
model:
  provider: scripted
  turns:
    - given: {user: 'pay (?P<a>\S+) (?P<x>\d+) and (?P<b>\S+) (?P<y>\d+)', step: 1}
      calls:
        - {tool: ask_caller, arguments: {question: "${a}"}}
        - {tool: pay, arguments: {order: "${b}", amount: "${y}"}}
    - say: Done.
permissions: {allow: [look, pay, ask_caller]}
` + ownTools,
}

const ownTools = `
tools:
  - {name: look, go: refund_desk.lookup_order}
  - {name: pay, go: refund_desk.issue_refund}
  - name: ask_caller
    client: true
    parameters: {type: object, properties: {question: {type: string}}, required: [question]}
`

// ownGated are the tools that must not run without a decision, by agent.
var ownGated = map[string]string{"torture-asks": ownPay, "torture-pair": ownPay}

const ownPay = "pay"

// ownLedger is where the pay tool writes, in the data directory.
const ownLedger = "refunds.jsonl"

// ownOrders are what can be paid back; mostPaid is what each allows, less one for who edits it.
var ownOrders = []string{"A-17", "B-02", "C-30"}

const mostPaid = 39

// writeAgents puts the agents into dir.
func writeAgents(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	for name, text := range ownAgents {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte("name: "+name+text), 0o600))
	}
	return err
}
