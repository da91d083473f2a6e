package agent_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

func TestWhatIsWrongIsRefusedByTheSchemaToo(t *testing.T) {
	const tool = "tools: [{name: t, recorded: [{result: 1}]}]\n"
	schema := published(t, agent.SchemaAgent)
	for name, text := range map[string]string{
		"no model":                          "tools: []",
		"a name that is none":               head + "name: Über",
		"a provider that is none":           "model: {provider: oracle}",
		"an empty provider":                 "model: {provider: ''}",
		"an empty executor":                 head + "executor: ''",
		"an empty while_waiting":            head + "while_waiting: ''",
		"an empty default":                  head + "permissions: {default: ''}",
		"an empty mode":                     head + tool + "permissions: {ask: [{tool: t, mode: ''}]}",
		"an empty delivery":                 head + "tools: [{name: a, recorded: [{result: 1}], delivery: ''}]",
		"http by an empty method":           head + "tools: [{name: a, http: {url: 'http://example.com/', method: ''}, parameters: {type: object}}]",
		"empty parameters":                  head + "tools: [{name: a, recorded: [{result: 1}], parameters: null}]",
		"empty properties":                  head + "tools: [{name: a, recorded: [{result: 1}], parameters: {type: object, properties: null}}]",
		"an empty required":                 head + "tools: [{name: a, recorded: [{result: 1}], parameters: {type: object, required: null}}]",
		"nothing required":                  head + "tools: [{name: a, recorded: [{result: 1}], parameters: {type: object, required: [null]}}]",
		"empty additionalProperties":        head + "tools: [{name: a, recorded: [{result: 1}], parameters: {type: object, additionalProperties: null}}]",
		"a step that is too far":            "model: {provider: scripted, turns: [{say: a, given: {step: 2147483648}}]}",
		"a step that is text":               "model: {provider: scripted, turns: [{say: a, given: {step: '1'}}]}",
		"script and turns":                  "model: {provider: scripted, script: a, turns: [{say: a}]}",
		"neither script nor turns":          "model: {provider: scripted}",
		"a script of a recording":           "model: {provider: recorded, file: a, script: b}",
		"a recording without a file":        "model: {provider: recorded}",
		"no turns":                          "model: {provider: scripted, turns: []}",
		"a turn that answers nothing":       "model: {provider: scripted, turns: [{given: {user: a}}]}",
		"no result together with a result":  "model: {provider: scripted, turns: [{say: a, given: {no_result: true, result: a}}]}",
		"a step from 0":                     "model: {provider: scripted, turns: [{say: a, given: {step: 0}}]}",
		"a call without a tool":             "model: {provider: scripted, turns: [{calls: [{arguments: {}}]}]}",
		"a tool without a body":             head + "tools: [{name: a}]",
		"a tool with two bodies":            head + "tools: [{name: a, client: true, go: b}]",
		"a tool without a name":             head + "tools: [{go: b}]",
		"a tool named finish":               head + "tools: [{name: finish, go: b}]",
		"parameters of a function":          head + "tools: [{name: a, go: b, parameters: {type: object}}]",
		"delivery of a client tool":         head + "tools: [{name: a, client: true, delivery: at_most_once}]",
		"idempotent and at most once":       head + "tools: [{name: a, recorded: [{result: 1}], idempotent: true, delivery: at_most_once}]",
		"an answer with both":               head + "tools: [{name: a, recorded: [{result: 1, error: b}]}]",
		"an answer with neither":            head + "tools: [{name: a, recorded: [{when: {}}]}]",
		"parameters that are no object":     head + "tools: [{name: a, recorded: [{result: 1}], parameters: {type: string}}]",
		"http without a url":                head + "tools: [{name: a, http: {method: GET}, parameters: {type: object}}]",
		"http without parameters":           head + "tools: [{name: a, http: {url: 'http://example.com/'}}]",
		"http by another method":            head + "tools: [{name: a, http: {url: 'http://example.com/', method: TRACE}, parameters: {type: object}}]",
		"http with another scheme":          head + "tools: [{name: a, http: {url: 'ftp://example.com/'}, parameters: {type: object}}]",
		"http with 11 retries":              head + "tools: [{name: a, http: {url: 'http://example.com/', retries: 11}, parameters: {type: object}}]",
		"a result of another than a client": head + "tools: [{name: a, recorded: [{result: 1}], result: {type: object}}]",
		"a default that is none":            head + "permissions: {default: block}",
		"a rule without a tool":             head + tool + "permissions: {ask: [{reason: a}]}",
		"a condition without an argument":   head + tool + "permissions: {ask: [{tool: t, when: {above: 1}}]}",
		"a condition without a test":        head + tool + "permissions: {ask: [{tool: t, when: {argument: a}}]}",
		"a condition with two tests":        head + tool + "permissions: {ask: [{tool: t, when: {argument: a, equals: 1, exists: true}}]}",
		"a bound that is text":              head + tool + "permissions: {ask: [{tool: t, when: {argument: a, above: b}}]}",
		"no conditions":                     head + tool + "permissions: {ask: [{tool: t, when: []}]}",
		"a mode that is none":               head + tool + "permissions: {ask: [{tool: t, mode: maybe}]}",
		"an executor that is none":          head + "executor: fast",
		"a stop rule that is none":          head + "stop: [{max_steps: 1}]",
		"a stop rule with two":              head + "stop: [{max_rounds: 1, timeout: 1m}]",
		"a stop rule without its value":     head + "stop: [{type: timeout}]",
		"a loop that is too long":           head + "stop: [{loop_detection: 17}]",
		"a timeout that is a number":        head + "stop: [{timeout: 10}]",
		"a budget below 0":                  head + "budget: {run: -1}",
		"a deadline without a unit":         head + "deadlines: {client: '10'}",
		"a deadline that approves":          head + "deadlines: {approval: {within: 1s, then: result, result: 1}}",
		"then result without a result":      head + "deadlines: {client: {within: 1s, then: result}}",
		"a result without then":             head + "deadlines: {client: {within: 1s, result: 1}}",
		"finish with a text":                head + "finish: 'yes'",
		"a hook twice":                      head + "hooks: [a, a]",
		"no name of a memory":               head + "memory: ''",
		"an effect without tools":           head + tool + "effects: [{name: a, go: b}]",
		"an effect with both":               head + tool + "effects: [{name: a, tools: [t], go: b, command: [c], workspace: d}]",
		"an effect without a workspace":     head + tool + "effects: [{name: a, tools: [t], command: [c]}]",
	} {
		if err := (sample{kind: agent.SchemaAgent, text: text}).load(); err == nil {
			t.Errorf("%s: the loader takes\n%s", name, text)
		}
		if schema.Validate(instance(t, text)) == nil {
			t.Errorf("%s: the schema takes\n%s", name, text)
		}
	}
}
