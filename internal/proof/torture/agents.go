package torture

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The agents of a server that this package starts itself, or that has the files of [WriteAgents];
// their tools are put behind them. The pay tool writes a line into a ledger and cannot take it
// back, so that a call which ran twice, ran without leave or ran with other arguments is there for
// all to see.
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
`,
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
`,
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
`,
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
`,
	// Others do the work: one that asks a person, and one that calls that one twice.
	"torture-tree": `
model:
  provider: scripted
  turns:
    - given: {user: 'pay (?P<a>\S+) (?P<x>\d+) and (?P<b>\S+) (?P<y>\d+)', step: 1}
      calls:
        - {tool: hand, arguments: {order: "${a}", amount: "${x}"}}
        - {tool: team, arguments: {order: "${b}", amount: "${y}"}}
    - say: Done.
permissions: {allow: [hand, team]}
`,
	"torture-team": `
model:
  provider: scripted
  turns:
    - given: {user: 'pay (?P<a>\S+) (?P<x>\d+) and (?P<b>\S+) (?P<y>\d+)', step: 1}
      calls:
        - {tool: hand, arguments: {order: "${a}", amount: "${x}"}}
        - {tool: hand, arguments: {order: "${b}", amount: "${y}"}}
    - say: Done.
permissions: {allow: [hand]}
`,
	"torture-hand": `
model:
  provider: scripted
  turns:
    - given: {user: 'pay (?P<a>\S+) (?P<x>\d+) and', step: 1}
      calls:
        - {tool: pay, arguments: {order: "${a}", amount: "${x}"}}
    - say: Done.
permissions: {ask: [pay]}
`,
}

// ownTeams are tools that call others of these agents, by agent.
var ownTeams = map[string]string{"torture-tree": callsHand + callsTeam, "torture-team": callsHand}

const (
	callsHand = `  - name: hand
    agent: torture-hand
    input: "pay {order} {amount} and {order} {amount}"
` + payArguments
	callsTeam = `  - name: team
    agent: torture-team
    input: "pay {order} {amount} and {order} {amount}"
` + payArguments
)

// httpTools are requests to a service that keeps the ledger; it is put in for %[1]s, and whether
// its address is a private one for %[2]v.
const httpTools = `
tools:
  - name: look
    http: {method: GET, url: "%[1]s/orders/{order}", allow_private: %[2]v}
    parameters: {type: object, properties: {order: {type: string}}, required: [order], additionalProperties: false}
  - name: pay
    http: {method: POST, url: "%[1]s/pay", allow_private: %[2]v, retries: 0}
    delivery: at_most_once
` + payArguments + clientTool

// recordedTools leave no mark anywhere.
const recordedTools = `
tools:
  - name: look
    recorded: [{result: {order: found}}]
    parameters: {type: object, properties: {order: {type: string}}, required: [order], additionalProperties: false}
  - name: pay
    recorded: [{result: {refunded: true}}]
    delivery: at_most_once
` + payArguments + clientTool

const payArguments = `    parameters:
      type: object
      properties: {order: {type: string}, amount: {type: integer, minimum: 1}}
      required: [order, amount]
      additionalProperties: false
`

const clientTool = `  - name: ask_caller
    client: true
    parameters: {type: object, properties: {question: {type: string}}, required: [question]}
`

// ownGated are the tools that must not run without a decision, by agent.
var ownGated = map[string]string{"torture-asks": ownPay, "torture-pair": ownPay, "torture-hand": ownPay}

const ownPay = "pay"

// ownLedger is where the service writes that this package starts beside a server of its own.
const ownLedger = "refunds.jsonl"

// ownOrders are what can be paid back; mostPaid is what each allows, less one for who edits it.
var ownOrders = []string{"A-17", "B-02", "C-30"}

const mostPaid = 39

// OwnAgents are the names of the agents that [WriteAgents] writes.
func OwnAgents() []string { return slices.Sorted(maps.Keys(ownAgents)) }

// WriteAgents puts this package's own agents into dir, for a server that somebody else starts:
// [Options.Own] tortures it then. With a service, the address of an HTTP service without a slash at
// its end, their tools are requests to it, as [Service] answers them:
//
//	GET  SERVICE/orders/{order}   looks an order up
//	POST SERVICE/pay              {"order":"A-17","amount":5}, with the header
//	                              Idempotency-Key: RUN/CALL/ATTEMPT
//
// The service answers with JSON, and a ledger ([Options.Ledger]) is right if it appends
// {"key":...,"order":...,"amount":...} for each request to pay before it answers, and looks for no
// repeats. Without a service the answers of the tools stand in the files, and there is no ledger.
func WriteAgents(dir, service string) error {
	if service == "" {
		return writeAgents(dir, recordedTools, "")
	}
	u, err := url.Parse(service)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery+u.Fragment != "" || u.User != nil {
		return fmt.Errorf("%q is not the address of a service; it looks like http://127.0.0.1:9000", service)
	}
	return writeAgents(dir, fmt.Sprintf(httpTools, strings.TrimSuffix(u.String(), "/"), u.Scheme == "http"), "")
}

// writeAgents puts the agents with these tools into dir, and the rest behind them.
func writeAgents(dir, tools, rest string) error {
	err := os.MkdirAll(dir, 0o700)
	for name, text := range ownAgents {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte("name: "+name+text+tools+ownTeams[name]+rest), 0o600))
	}
	return err
}
