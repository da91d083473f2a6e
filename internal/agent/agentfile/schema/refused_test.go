package schema_test

import (
	"os"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/schema"
)

const head = "model: {provider: scripted, turns: [{say: hi}]}\n" // line 1 of what follows

func TestWhatIsWrongIsRefusedByTheSchemaToo(t *testing.T) {
	const tool = "tools: [{name: t, recorded: [{result: 1}]}]\n"
	of := published(t, schema.Agent)
	for name, text := range map[string]string{
		"no model":                          "tools: []",
		"starters that are none":            head + "starters: []",
		"tenants that are none":             head + "tenants: []",
		"approvers that are none":           head + "approvers: []",
		"a name that is none":               head + "name: Über",
		"a provider that is none":           "model: {provider: oracle}",
		"an empty provider":                 "model: {provider: ''}",
		"an empty executor":                 head + "executor: ''",
		"an empty while_waiting":            head + "while_waiting: ''",
		"an empty yield_when":               head + "yield_when: ''",
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
		"an agent without input":            head + "tools: [{name: a, agent: b}]",
		"an agent of no name":               head + "tools: [{name: a, agent: B, input: c}]",
		"an agent with empty input":         head + "tools: [{name: a, agent: b, input: ' '}]",
		"input without an agent":            head + "tools: [{name: a, go: b, input: c}]",
		"delivery of an agent":              head + "tools: [{name: a, agent: b, input: c, delivery: at_least_once}]",
		"an agent that is idempotent":       head + "tools: [{name: a, agent: b, input: c, idempotent: false}]",
		"a schema of an agent's result":     head + "tools: [{name: a, agent: b, input: c, result: {type: object}}]",
		"another result of an agent":        head + "tools: [{name: a, agent: b, input: c, result: last}]",
		"a word for a client's result":      head + "tools: [{name: a, client: true, result: final}]",
		"an agent that is a client":         head + "tools: [{name: a, agent: b, input: c, client: true}]",
		"an agent elsewhere without input":  head + "tools: [{name: a, a2a: {url: 'https://b/'}}]",
		"an agent elsewhere without a url":  head + "tools: [{name: a, a2a: {timeout: 1s}, input: c}]",
		"an agent elsewhere with a user":    head + "tools: [{name: a, a2a: {url: 'https://b:c@d/'}, input: c}]",
		"an agent elsewhere as a text":      head + "tools: [{name: a, a2a: 'https://b/', input: c}]",
		"an agent here and elsewhere":       head + "tools: [{name: a, agent: b, a2a: {url: 'https://b/'}, input: c}]",
		"an idempotent one at most once":    head + "tools: [{name: a, a2a: {url: 'https://b/'}, input: c, idempotent: true, delivery: at_most_once}]",
		"no depth":                          head + "tools: [{name: a, agent: b, input: c}]\nmax_depth: 0",
		"too deep":                          head + "tools: [{name: a, agent: b, input: c}]\nmax_depth: 9",
		"too many children":                 head + "tools: [{name: a, agent: b, input: c}]\nmax_children: 501",
		"a result of another than a client": head + "tools: [{name: a, recorded: [{result: 1}], result: {type: object}}]",
		"a key that is the key itself":      "model: {provider: openai, model: m, base_url: 'https://a/v1', api_key: sk-abc}",
		"openai without an address":         "model: {provider: openai, model: m}",
		"openai without a model":            "model: {provider: openai, base_url: 'https://a/v1'}",
		"an address with a query":           "model: {provider: openai, model: m, base_url: 'https://a/v1?x=1'}",
		"an address with a user":            "model: {provider: openai, model: m, base_url: 'https://a:b@c/v1'}",
		"an address of another kind":        "model: {provider: openai, model: m, base_url: 'ftp://a/v1'}",
		"an address of openai for bedrock":  "model: {provider: bedrock, model: m, base_url: 'https://a/v1'}",
		"a region for openai":               "model: {provider: openai, model: m, base_url: 'https://a/v1', region: eu-central-1}",
		"a temperature for a script":        "model: {provider: scripted, turns: [{say: a}], temperature: 1}",
		"a cache for a recording":           "model: {provider: recorded, file: a, cache: off}",
		"turns for bedrock":                 "model: {provider: bedrock, model: m, turns: [{say: a}]}",
		"bedrock without a model":           "model: {provider: bedrock}",
		"a model with a blank":              "model: {provider: bedrock, model: 'a b'}",
		"a region that is none":             "model: {provider: bedrock, model: m, region: Frankfurt}",
		"too hot for bedrock":               "model: {provider: bedrock, model: m, temperature: 1.1}",
		"too hot for anybody":               "model: {provider: openai, model: m, base_url: 'https://a/v1', temperature: 2.1}",
		"a temperature that is text":        "model: {provider: bedrock, model: m, temperature: '1'}",
		"a top_p above 1":                   "model: {provider: bedrock, model: m, top_p: 1.01}",
		"no tokens":                         "model: {provider: bedrock, model: m, max_tokens: 0}",
		"an empty stop sequence":            "model: {provider: bedrock, model: m, stop_sequences: ['']}",
		"an output that is no object":       "model: {provider: bedrock, model: m, output: {type: string}}",
		"a request that is a list":          "model: {provider: bedrock, model: m, request: [1]}",
		"a request that says the model":     "model: {provider: bedrock, model: m, request: {model: b}}",
		"a cache that is none":              "model: {provider: bedrock, model: m, cache: 10m}",
		"a tier that is none":               "model: {provider: bedrock, model: m, tier: cheap}",
		"a latency that is none":            "model: {provider: bedrock, model: m, latency: low}",
		"a guardrail without a version":     "model: {provider: bedrock, model: m, guardrail: {id: g}}",
		"a guardrail of version 0":          "model: {provider: bedrock, model: m, guardrail: {id: g, version: 0}}",
		"lambda without a function":         head + "tools: [{name: a, lambda: {}, parameters: {type: object}}]",
		"lambda with a version in the name": head + "tools: [{name: a, lambda: {function: 'f:1'}, parameters: {type: object}}]",
		"lambda without parameters":         head + "tools: [{name: a, lambda: {function: f}}]",
		"lambda with a bad qualifier":       head + "tools: [{name: a, lambda: {function: f, qualifier: ''}, parameters: {type: object}}]",
		"mcp without a server":              head + "tools: [{name: a, mcp: {tool: b}, parameters: {type: object}}]",
		"mcp without parameters":            head + "tools: [{name: a, mcp: {server: s}}]\nservers: {s: {url: 'https://a/'}}",
		"a server without a url":            head + "tools: [{name: a, mcp: {server: s}, parameters: {type: object}}]\nservers: {s: {}}",
		"a server with a strange name":      head + "tools: [{name: a, mcp: {server: S}, parameters: {type: object}}]\nservers: {S: {url: 'https://a/'}}",
		"results of another kind":           head + "results: many",
		"a default that is none":            head + "permissions: {default: block}",
		"a rule without a tool":             head + tool + "permissions: {ask: [{reason: a}]}",
		"a condition without an argument":   head + tool + "permissions: {ask: [{tool: t, when: {above: 1}}]}",
		"a condition without a test":        head + tool + "permissions: {ask: [{tool: t, when: {argument: a}}]}",
		"a condition with two tests":        head + tool + "permissions: {ask: [{tool: t, when: {argument: a, equals: 1, exists: true}}]}",
		"a bound that is text":              head + tool + "permissions: {ask: [{tool: t, when: {argument: a, above: b}}]}",
		"no conditions":                     head + tool + "permissions: {ask: [{tool: t, when: []}]}",
		"a mode that is none":               head + tool + "permissions: {ask: [{tool: t, mode: maybe}]}",
		"an executor that is none":          head + "executor: fast",
		"a yield_when that is none":         head + "yield_when: busy",
		"a stop rule that is none":          head + "stop: [{max_steps: 1}]",
		"a stop rule with two":              head + "stop: [{max_rounds: 1, timeout: 1m}]",
		"a stop rule without its value":     head + "stop: [{type: timeout}]",
		"a loop that is too long":           head + "stop: [{loop_detection: 17}]",
		"a timeout that is a number":        head + "stop: [{timeout: 10}]",
		"a budget below 0":                  head + "budget: {run: -1}",
		"a cost limit without a price":      head + "stop: [{max_cost: 1}]",
		"a cost limit in its long form":     head + "stop: [{type: max_cost, usd: 1}]",
		"a cost budget without a price":     head + "budget: {cost: {run: 0.5}}",
		"a budget of a day without a price": head + "budget: {cost: {day: 20}}",
		"a cost budget that asks for none":  head + "budget: {cost: {on_exceeded: ask}}",
		"a cost below 0":                    head + "stop: [{max_cost: -1}]",
		"a price without output":            "model: {provider: scripted, turns: [{say: a}], price: {input: 1}}",
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
		"an effect that looks nowhere":      head + tool + "effects: [{name: a, tools: [t], detect: [lint]}]",
		"an effect that looks for no kind":  head + tool + "effects: [{name: a, tools: [t], detect: [test], workspace: d}]",
		"an effect that finds and has one":  head + tool + "effects: [{name: a, tools: [t], detect: [lint], command: [c], workspace: d}]",
		"no targets":                        head + "notify: []",
		"a target without a name":           head + "notify: [{on: [done], url: 'https://a/', secret: S}]",
		"a target with a strange name":      head + "notify: [{name: a/b, on: [done], url: 'https://a/', secret: S}]",
		"a target of nothing":               head + "notify: [{name: a, url: 'https://a/', secret: S}]",
		"a target of no kind":               head + "notify: [{name: a, on: [], url: 'https://a/', secret: S}]",
		"a target of an unknown kind":       head + "notify: [{name: a, on: [paused], url: 'https://a/', secret: S}]",
		"a target of a kind twice":          head + "notify: [{name: a, on: [done, done], url: 'https://a/', secret: S}]",
		"a target without an address":       head + "notify: [{name: a, on: [done]}]",
		"a target with two addresses":       head + "notify: [{name: a, on: [done], url: 'https://a/', mail: [a@example.com], secret: S}]",
		"a target of Slack and mail":        head + "notify: [{name: a, on: [done], mail: [a@example.com], slack: {channel: C0DESK, token: T}}]",
		"a channel without a token":         head + "notify: [{name: a, on: [done], slack: {channel: C0DESK}}]",
		"a channel by its name":             head + "notify: [{name: a, on: [done], slack: {channel: '#ops', token: T}}]",
		"a channel with a token in it":      head + "notify: [{name: a, on: [done], slack: {channel: C0DESK, token: xoxb-1}}]",
		"a channel in a format":             head + "notify: [{name: a, on: [done], slack: {channel: C0DESK, token: T}, format: slack}]",
		"a channel that is private":         head + "notify: [{name: a, on: [done], slack: {channel: C0DESK, token: T}, allow_private: true}]",
		"a target that is not HTTP":         head + "notify: [{name: a, on: [done], url: 'ftp://a/', secret: S}]",
		"mail to a name":                    head + "notify: [{name: a, on: [done], mail: [anna]}]",
		"mail to no one":                    head + "notify: [{name: a, on: [done], mail: []}]",
		"mail in a format":                  head + "notify: [{name: a, on: [done], mail: [a@example.com], format: slack}]",
		"mail that is signed":               head + "notify: [{name: a, on: [done], mail: [a@example.com], secret: S}]",
		"mail to a private address":         head + "notify: [{name: a, on: [done], mail: [a@example.com], allow_private: true}]",
		"a target without a secret":         head + "notify: [{name: a, on: [done], url: 'https://a/'}]",
		"a standard one without a secret":   head + "notify: [{name: a, on: [done], url: 'https://a/', format: standard}]",
		"a target with a key":               head + "notify: [{name: a, on: [done], url: 'https://a/', secret: whsec_abc}]",
		"a target with an empty secret":     head + "notify: [{name: a, on: [done], url: 'https://a/', format: slack, secret: ''}]",
		"a format that is none":             head + "notify: [{name: a, on: [done], url: 'https://a/', format: discord}]",
		"a template without its format":     head + "notify: [{name: a, on: [done], url: 'https://a/', secret: S, template: {a: 1}}]",
		"a format without its template":     head + "notify: [{name: a, on: [done], url: 'https://a/', format: template}]",
		"an effect that finds with paths":   head + tool + "effects: [{name: a, tools: [t], detect: [lint], workspace: d, paths: p}]",
	} {
		if err := (sample{kind: schema.Agent, text: text}).load(); err == nil {
			t.Errorf("%s: the loader takes\n%s", name, text)
		}
		if of.Validate(instance(t, text)) == nil {
			t.Errorf("%s: the schema takes\n%s", name, text)
		}
	}
}

func TestAWrongHookOfASlackAppIsRefusedByTheSchemaToo(t *testing.T) {
	const head = "verify: {scheme: slack, secret: S}\n"
	of := published(t, schema.Hook)
	for name, text := range map[string]string{
		"no act":                  head,
		"no token":                head + "slack_app: {team: T012}",
		"no team":                 head + "slack_app: {token: S}",
		"the token itself":        head + "slack_app: {token: xoxb-1, team: T012}",
		"the name of a team":      head + "slack_app: {token: S, team: acme}",
		"another scheme":          "verify: {scheme: github, secret: S}\nslack_app: {token: S, team: T012}",
		"a condition on the body": head + "when: 'type == \"a\"'\nslack_app: {token: S, team: T012}",
		"a path of who acted":     head + "by: user.id\nslack_app: {token: S, team: T012}",
		"a path of the event":     head + "id: {path: a}\nslack_app: {token: S, team: T012}",
		"a message beside it":     head + "slack_app: {token: S, team: T012}\nmessage: {thread: '{t}', text: x}",
		"an unknown member":       head + "slack_app: {token: S, team: T012, channel: C0DESK}",
	} {
		if err := (sample{kind: schema.Hook, text: text}).load(); err == nil {
			t.Errorf("%s: the loader takes\n%s", name, text)
		}
		if of.Validate(instance(t, text)) == nil {
			t.Errorf("%s: the schema takes\n%s", name, text)
		}
	}
}

func TestTheHooksOfThePagePassThePublishedSchema(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/reference/hook-file.md")
	if err != nil {
		t.Fatal(err)
	}
	of := published(t, schema.Hook)
	hooks := fenced.FindAllStringSubmatch(string(page), -1)
	if len(hooks) != 3 {
		t.Errorf("the page has %d hooks, want 3", len(hooks))
	}
	for _, m := range hooks {
		if err := of.Validate(instance(t, m[2])); err != nil {
			t.Errorf("%v\n%s", err, m[2])
		}
	}
}
