package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// reviewed writes an agent that has drafts reviewed by an agent elsewhere, and tests of it. asked
// counts the requests that reach that agent.
func reviewed(t *testing.T, tests string) (asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	emptyFolder(t)
	put(t, "agents/editor.yaml", `model:
  provider: scripted
  turns:
    - {given: {no_result: true, user: '(?P<draft>A-[0-9])'}, calls: [{tool: review, arguments: {draft: '${draft}'}}]}
    - {given: {result: '(?s)(?P<all>.*)'}, say: "got ${all}"}
tools:
  - {name: review, a2a: {url: "`+server.URL+`"}, input: "Review {draft}"}
permissions: {allow: [review]}
`)
	put(t, "agents/tests/editor.yaml", tests)
	return asked
}

func TestATestAnswersForAgentsElsewhere(t *testing.T) {
	asked := reviewed(t, `remote:
  review:
    - {input: Review A-1, result: Looks good.}
    - {input: /A-2$/, result: {fine: true}}
    - {input: /A-3/, error: The reviewer is on leave.}
tests:
  - name: all of them
    steps:
      - run: A-1
      - expect: {status: done, output: /got Looks good/, calls: [{tool: review, result: Looks good., failed: false}]}
      - run: A-2
      - expect: {status: done, calls: [{tool: review, result: {fine: true}}]}
      - run: A-3
      - expect: {status: done, calls: [{tool: review, result: '/remote_failed.*The reviewer is on leave/', failed: true}]}
      - run: A-4
      - expect: {status: done, calls: [{tool: review, result: "/tests don't call agents that run elsewhere.*remote: {review: /", failed: true}]}
`)
	o := here(t, "", "agents", "test")
	o.wantExit(t, cmdline.ExitOK)
	contains(t, o.stdout, "1 test: OK\n")
	if n := asked.Load(); n > 0 {
		t.Errorf("the agent elsewhere got %d requests", n)
	}
}

func TestAnswersOfAnAgentElsewhereThatNoToolCallsAreAProblem(t *testing.T) {
	reviewed(t, "remote:\n  review: [{result: a}]\n  revue: [{result: a}]\ntests: [{name: a, steps: [{run: A-1}, {expect: {status: done}}]}]\n")
	o := here(t, "", "agents", "check")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stdout, `agents/tests/editor.yaml:3: no agent in agents has a tool "revue" with a2a; correct the name, or remove its answers`)
}

// TestACallOfAnAgentRan also with the arguments that an approver put in place of the model's, and
// not if its agent could not start.
func TestACallOfAnAgentRan(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/guide.yaml", `model:
  provider: scripted
  turns:
    - given: {no_result: true}
      calls:
        - {tool: greet, arguments: {city: Rome}}
        - {tool: hail, arguments: {city: Oslo}}
        - {tool: greet, arguments: {city: Bonn}}
        - {tool: wave, arguments: {city: Bern}}
    - say: done
tools:
  - {name: greet, agent: greeter, input: "{city}"}
  - {name: hail, a2a: {url: "https://hail.example.com"}, input: "{city}"}
  - {name: wave, agent: waver, input: "{city}"}
permissions: {allow: [greet], ask: [hail, wave]}
max_children: 3
`)
	put(t, "agents/greeter.yaml", `model: {provider: scripted, turns: [{given: {user: Bonn}, calls: [{tool: gone}]}, {given: {user: '(?P<c>.*)'}, say: "Ciao ${c}"}]}
stop: [{stop_on_tool: gone}]
`)
	put(t, "agents/waver.yaml", talker)
	put(t, "agents/tests/guide.yaml", `remote:
  hail: [{input: Oslo, result: Hei}, {error: The hailer is on leave.}]
tests:
  - name: all of them
    steps:
      - run: go
      - decide: {approve: hail, arguments: {city: Lund}}
      - decide: {approve: wave}
      - expect:
          status: done
          calls:
            - {tool: greet, ran: {city: Rome}, result: Ciao Rome, failed: false}
            - {tool: hail, arguments: {city: Oslo}, ran: {city: Lund}, failed: true}
            - {tool: greet, ran: {city: Bonn}, result: /stop_on_tool/, failed: true}
            - {tool: wave, ran: {city: Bern}}
`)
	o := here(t, "", "agents", "test")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stdout, `expected  wave, run with {"city":"Bern"}`, `found     wave {"city":"Bern"}, not run, with the result`)
	if strings.Contains(o.stdout, "calls 1") || strings.Contains(o.stdout, "calls 2") || strings.Contains(o.stdout, "calls 3") {
		t.Error(o.stdout)
	}
}
