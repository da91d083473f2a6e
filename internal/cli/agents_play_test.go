package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// tested writes an agent that asks for a city and pays, with tests of it, into the folder agents.
func tested(t *testing.T, steps string) {
	t.Helper()
	emptyFolder(t)
	put(t, "agents/payer.yaml", `model:
  provider: scripted
  turns:
    - {given: {no_result: true, user: where}, calls: [{tool: locate}]}
    - {given: {no_result: true}, calls: [{tool: pay, arguments: {amount: 5}}]}
    - {given: {result: '(?s)(?P<all>.*)'}, say: "got ${all}"}
tools:
  - {name: pay, recorded: [{result: {paid: true}}], parameters: {type: object}}
  - {name: locate, client: true, parameters: {type: object}}
permissions: {ask: [{tool: pay, reason: It is money.}], allow: [locate]}
`)
	put(t, "agents/tests/payer.yaml", "tests:\n  - name: one\n    steps:\n"+steps)
}

func TestStepsOfATestAreDone(t *testing.T) {
	for name, steps := range map[string]string{
		"approve": `
      - run: go
      - expect: {status: waiting, pending: [{tool: pay, kind: approval, arguments: {amount: 5}, message: /money/}], calls: []}
      - decide: {approve: pay, reason: fine}
      - expect: {status: done, reason: natural_end, output: '/got {"paid":true}/', pending: [], calls: [{tool: pay, result: {paid: true}, failed: false}]}`,
		"approve with other arguments": `
      - run: go
      - decide: {approve: pay, arguments: {amount: 4}}
      - expect: {output: '/"amount":4/', calls: [{tool: pay, arguments: {amount: 5}, ran: {amount: 4}, result: '/"amount":4/'}]}`,
		"what ran is what the model asked for": `
      - run: go
      - decide: {approve: pay}
      - expect: {calls: [{tool: pay, arguments: {amount: 5}, ran: {amount: 5}, result: {paid: true}}]}
      - run: where am I
      - decide: {answer: locate, result: here}
      - say: go
      - decide: {approve: pay, arguments: {amount: 3}}
      - expect: {calls: [{tool: pay, ran: {amount: 3}}]}`,
		"deny": `
      - run: go
      - decide: {deny: pay, reason: too much}
      - expect: {status: done, output: /too much/, calls: [{tool: pay, failed: true}]}`,
		"answer": `
      - run: where am I
      - expect: {pending: [{tool: locate, kind: client}]}
      - decide: {answer: locate, result: {city: Rome}}
      - expect: {output: 'got {"city":"Rome"}', calls: [{tool: locate, result: {city: Rome}}]}`,
		"fail": `
      - run: where am I
      - decide: {fail: locate, error: no signal}
      - expect: {output: /no signal/, calls: [{tool: locate, failed: true, result: /no signal/}]}`,
		"say": `
      - run: where am I
      - decide: {answer: locate, result: here}
      - say: go
      - expect: {status: waiting, pending: [pay], calls: []}
      - decide: {approve: pay}
      - expect: {status: done, calls: [pay]}
      - run: go
      - expect: {pending: [pay], calls: []}`,
	} {
		t.Run(name, func(t *testing.T) {
			tested(t, steps[1:])
			o := here(t, "", "agents", "test")
			o.wantExit(t, cmdline.ExitOK)
			contains(t, o.stdout, "agents/tests/payer.yaml:2: one\n", "1 test: OK\n")
		})
	}
}

func TestAnyDifferenceFailsTheTestAndIsShown(t *testing.T) {
	for name, tt := range map[string]struct {
		steps string
		wants []string
	}{
		"status":          {"expect: {status: done}", []string{"    status  expected  done\n", "            found     waiting\n"}},
		"reason":          {"expect: {reason: blocked}", []string{"expected  blocked", "found     none"}},
		"code":            {"expect: {code: max_rounds}", []string{"expected  max_rounds"}},
		"response state":  {"expect: {response_state: no_op}", []string{"response_state", "expected  no_op"}},
		"error":           {"expect: {error: crash_loop}", []string{"error", "expected  crash_loop"}},
		"output":          {"expect: {output: /x/}", []string{"output", "expected  /x/", "found     null"}},
		"another tool":    {"expect: {pending: [locate]}", []string{"pending 1", "expected  locate", `found     approval of pay {"amount":5}, shown with "It is money."`}},
		"another kind":    {"expect: {pending: [{tool: pay, kind: client}]}", []string{"expected  client of pay"}},
		"other arguments": {"expect: {pending: [{tool: pay, arguments: {amount: 6}}]}", []string{`expected  pay {"amount":6}`}},
		"another message": {"expect: {pending: [{tool: pay, message: /fun/}]}", []string{"expected  pay, shown with /fun/"}},
		"one too many":    {"expect: {pending: []}", []string{"pending 1", "expected  none"}},
		"one too few":     {"expect: {pending: [pay, pay]}", []string{"pending 2", "found     none"}},
		"a call":          {"expect: {calls: [pay]}", []string{"calls 1", "expected  pay", "found     none"}},
		"a result": {"decide: {approve: pay}\n      - expect: {calls: [{tool: pay, result: {paid: false}}]}",
			[]string{`expected  pay with the result {"paid":false}`, `found     pay {"amount":5} with the result "{\"paid\":true}"`}},
		"not failed": {"decide: {approve: pay}\n      - expect: {calls: [{tool: pay, failed: true}]}", []string{"expected  pay, failed"}},
		"what did not run": {"decide: {deny: pay}\n      - expect: {calls: [{tool: pay, ran: {amount: 5}}]}",
			[]string{`expected  pay, run with {"amount":5}`, `found     pay {"amount":5}, not run, with the result`}},
		"the arguments before the edit": {"decide: {approve: pay, arguments: {amount: 4}}\n      - expect: {calls: [{tool: pay, ran: {amount: 5}}]}",
			[]string{`expected  pay, run with {"amount":5}`, `found     pay {"amount":5}, run with {"amount":4}, with the result`}},
		"not waiting": {"decide: {approve: locate}", []string{"no call of locate waits; the run is waiting: approval of pay"}},
		"not suited":  {"decide: {answer: pay, result: 7}", []string{"the server refused it (unclear_decision)"}},
		"not taken":   {"say: more", []string{"the server refused it (run_open)"}},
	} {
		t.Run(name, func(t *testing.T) {
			tested(t, "      - run: go\n      - expect: {status: waiting}\n      - "+tt.steps+"\n      - expect: {status: waiting}\n")
			o := here(t, "", "agents", "test")
			o.wantExit(t, cmdline.ExitFailed)
			contains(t, o.stdout, append(tt.wants, "  FAILED at agents/tests/payer.yaml:")...)
			contains(t, o.stderr, "1 of 1 test failed")
		})
	}
}

func TestResultsOfTestsAsJSONAreAlwaysTheSame(t *testing.T) {
	tested(t, "      - run: go\n      - expect: {status: done}\n")
	const want = `{"failed":1,"tests":[{"file":"agents/tests/payer.yaml","line":2,"name":"one","ok":false,"steps":[` +
		`{"line":4,"did":"run \"go\"","found":"waiting: approval of pay {\"amount\":5}"},{"line":5,"did":"expect","found":"differs"}],` +
		`"failure":{"line":5,"differences":[{"what":"status","expected":"done","found":"waiting"}]}}]}` + "\n"
	for range 2 {
		o := here(t, "", "agents", "test", "--json")
		o.wantExit(t, cmdline.ExitFailed)
		if o.stdout != want {
			t.Errorf("got  %s\nwant %s", o.stdout, want)
		}
		if !json.Valid([]byte(o.stderr)) {
			t.Errorf("the reason is no JSON: %s", o.stderr)
		}
	}
}

func TestTestsThatCannotBePlayedAreWrongUsage(t *testing.T) {
	tested(t, "      - run: go\n      - expekt: {status: done}\n")
	o := here(t, "", "agents", "test")
	o.wantExit(t, cmdline.ExitUsage)
	contains(t, o.stderr, "agents/tests/payer.yaml:5", `did you mean "expect"?`)
	put(t, "none/a.yaml", "")
	for _, args := range [][]string{{"nowhere"}, {"none"}, {"agents/payer.yaml"}, {"--patience", "0s"}} {
		o := here(t, "", append([]string{"agents", "test"}, args...)...)
		o.wantExit(t, cmdline.ExitUsage)
		if strings.TrimSpace(o.stderr) == "" || o.stdout != "" {
			t.Errorf("%v: %q, %q", args, o.stdout, o.stderr)
		}
	}
}

func TestAnAgentThatCannotBeServedFailsItsTests(t *testing.T) {
	tested(t, "      - run: go\n      - expect: {status: waiting}\n")
	put(t, "agents/other.yaml", "tools: []\n")
	o := here(t, "", "agents", "test")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stderr, "dormouse: agents/other.yaml:1: the agent has no model")
}

func TestTheDirectoryOfTheAgentsCanBeNamed(t *testing.T) {
	tested(t, "      - run: go\n      - expect: {status: waiting}\n")
	put(t, "elsewhere/tests/payer.yaml", "tests: [{name: a, steps: [{run: go}, {expect: {pending: [pay]}}]}]")
	o := here(t, "", "agents", "test", "elsewhere/tests/payer.yaml", "--agents", "agents")
	o.wantExit(t, cmdline.ExitOK)
	contains(t, o.stdout, "1 test: OK")
}
