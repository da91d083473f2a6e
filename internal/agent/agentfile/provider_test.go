package agentfile_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// fromFile reads one of the files in testdata/published.
func fromFile(t *testing.T, name string) agent.Definition {
	t.Helper()
	text, err := os.ReadFile("testdata/published/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

func TestEveryMemberOfAModelThatIsAskedIsRead(t *testing.T) {
	for _, tt := range []struct {
		file    string
		want    agent.Model
		secrets []string
		label   string
	}{
		{"bedrock.yaml", agent.Model{Provider: "bedrock", ID: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", Region: "eu-central-1", MaxTokens: 2000,
			Temperature: "0.20", TopP: "1", StopSequences: []string{"END"}, Effort: "high", Outage: 2 * 3600_000,
			Output: json.RawMessage(`{"properties":{"ok":{"type":"boolean"}},"required":["ok"],"type":"object"}`), Request: json.RawMessage(`{"top_k":40}`), Cache: agent.CacheOff,
			Guardrail: &agent.Guardrail{ID: "abc123", Version: "7", Async: true}, Tier: "flex", Latency: "optimized"},
			[]string{"WIKI"}, "bedrock eu.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{"openai.yaml", agent.Model{Provider: "openai", ID: "llama3.1:8b", BaseURL: "https://models.example.com/v1", APIKey: "MODELS",
			Headers: map[string]string{"X-Team": "{secret:TEAM}"}, Temperature: "1.5", Whole: true, Outage: 90 * 60_000, Tier: "batch"}, []string{"MODELS", "TEAM"}, "openai llama3.1:8b"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			d := fromFile(t, tt.file)
			if diff := cmp.Diff(tt.want, d.Model); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.secrets, d.Secrets()); diff != "" || d.Model.Label() != tt.label {
				t.Errorf("%s, secrets (-want +got):\n%s", d.Model.Label(), diff)
			}
			if again, err := agent.Decode(d.Encode()); err != nil || cmp.Diff(d, again) != "" {
				t.Errorf("after Encode and Decode: %v (-want +got):\n%s", err, cmp.Diff(d, again))
			}
		})
	}
}

func TestTheWholeOfAResultThatIsKeptIsOfTheAgent(t *testing.T) {
	for file, want := range map[string]int{"bedrock.yaml": 32 << 10, "openai.yaml": 4096, "everything.yaml": 0} {
		rules, err := fromFile(t, file).Rules(map[string]core.ToolSpec{}, agent.Layers{})
		if err != nil {
			t.Fatal(err)
		}
		if got := rules.Terms().Result; got != want {
			t.Errorf("%s: %d, want %d", file, got, want)
		}
	}
}

func TestWhatAnAgentNeedsOfTheProgramIsNamed(t *testing.T) {
	for file, want := range map[string]agent.Needs{
		"bedrock.yaml": {Providers: []string{"bedrock"}, Kinds: []string{"lambda", "mcp"}}, "openai.yaml": {Providers: []string{"openai"}}} {
		if diff := cmp.Diff(want, fromFile(t, file).Needs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
	if needs := parse(t, complete).Needs(); needs.Providers != nil || needs.Kinds != nil {
		t.Errorf("a script needs %+v", needs)
	}
}

// TestAFileFromBeforeKeepsItsDigest: a run is pinned to it.
func TestAFileFromBeforeKeepsItsDigest(t *testing.T) {
	const before = "sha256:38ef09c577bb49fc469a23b8d752f62b1bbbaeb8fc769b8498a7ed9be921e6ba"
	if got := parse(t, complete).Digest(); got != before {
		t.Errorf("%s, want %s", got, before)
	}
}

func TestMistakesInAModelThatIsAskedAreNamed(t *testing.T) {
	bedrock := func(more string) string { return "model:\n  provider: bedrock\n  model: m\n  " + more + "\n" }
	openai := func(more string) string {
		return "model:\n  provider: openai\n  model: m\n  base_url: https://a/v1\n  " + more + "\n"
	}
	at := func(address string) string {
		return "model:\n  provider: openai\n  model: m\n  base_url: " + address + "\n"
	}
	const long = "0123456789012345678901234567890123456789012345678901234567890123"
	tests := []struct{ name, text, want string }{
		{"another provider", "model: {provider: gemini}\n", `a.yaml:1: provider cannot be "gemini"; it is one of scripted, recorded, bedrock, openai`},
		{"no provider", "model: {model: m}\n", "a.yaml:1: model needs a provider: scripted, recorded, bedrock or openai"},
		{"no model at all", "name: a\n", "add model with a provider: scripted, recorded, bedrock or openai"},
		{"bedrock without a model", "model: {provider: bedrock}\n", "a.yaml:1: model needs model: Bedrock's id of a model"},
		{"openai without a model", "model: {provider: openai, base_url: 'https://a/'}\n", "a.yaml:1: model needs model: the endpoint's name"},
		{"openai without an address", "model: {provider: openai, model: m}\n", "model needs base_url"},
		{"an id with a blank", "model: {provider: bedrock, model: 'a b'}\n", `"a b" is not a Bedrock model; write an id or an ARN`},
		{"an id that is too long", "model: {provider: bedrock, model: " + strings.Repeat(long, 33) + "}\n", "at most 2048"},
		{"a name with a blank", "model: {provider: openai, model: 'a b', base_url: 'https://a/'}\n", `"a b" is not a valid model name`},
		{"turns", bedrock("turns: [{say: a}]"), "a.yaml:4: turns belongs to the provider scripted; remove it"},
		{"the pace of a script", openai("pace: 30ms"), "a.yaml:5: pace belongs to the provider scripted; remove it"},
		{"a pace that is too slow", "model: {provider: scripted, turns: [{say: a}], pace: 2s}\n", "a.yaml:1: pace may be at most 1s"},
		{"a file", openai("file: a"), "a.yaml:5: file belongs to the provider recorded; remove it"},
		{"what is of openai", bedrock("api_key: KEY"), "a.yaml:4: api_key belongs to the provider openai; remove it"},
		{"what is of bedrock", openai("cache: 1h"), "a.yaml:5: cache belongs to the provider bedrock; remove it"},
		{"what a script has not", "model:\n  provider: scripted\n  turns: [{say: a}]\n  max_tokens: 1\n", "a.yaml:4: max_tokens belongs to the providers bedrock and openai; remove it"},
		{"an outage of a script", "model:\n  provider: scripted\n  turns: [{say: a}]\n  outage: 1h\n", "a.yaml:4: outage belongs to the providers bedrock and openai; remove it"},
		{"an outage without unit", bedrock("outage: 24"), "a.yaml:4: outage must be a duration such as"},
		{"an outage of nothing", openai("outage: 0s"), "outage must be more than 0"},
		{"what a recording has not", "model: {provider: recorded, file: a, region: eu-central-1}\n", "region belongs to the provider bedrock; remove it"},
		{"an unknown member", bedrock("topmost: 1"), `a.yaml:4: unknown field "topmost" in model; it takes provider, turns, script, file, pace, price, model, base_url`},
		{"max_tokens", bedrock("max_tokens: 0"), "a.yaml:4: max_tokens must be at least 1"},
		{"temperature of bedrock", bedrock("temperature: 1.0001"), "a.yaml:4: temperature must be a number from 0 to 1"},
		{"temperature of openai", openai("temperature: 2.0001"), "a.yaml:5: temperature must be a number from 0 to 2"},
		{"temperature as text", bedrock("temperature: '1'"), "temperature must be a number from 0 to 1"},
		{"temperature that is none", bedrock("temperature: .nan"), "temperature must be a number from 0 to 1"},
		{"a huge exponent", bedrock("temperature: 1e-999999999"), "temperature must be a number from 0 to 1"},
		{"top_p", openai("top_p: -0.1"), "top_p must be a number from 0 to 1"},
		{"effort", bedrock("effort: Very high"), "effort must be one of the provider's values"},
		{"stream", bedrock("stream: maybe"), "stream must be true or false"},
		{"output of another type", bedrock("output: {type: array}"), "a.yaml:4: output must be the JSON Schema of an object"},
		{"output that is no schema", bedrock("output: {type: object, properties: {a: {type: intger}}}"), `output: "intger" is not a JSON Schema type; did you mean "integer"`},
		{"output that has no end", bedrock("output: {type: object, $ref: '#'}"), `output: $ref "#" leads back to itself`},
		{"output on the network", bedrock("output: {type: object, properties: {a: {$ref: 'https://example.com/'}}}"), "leads nowhere"},
		{"an empty request", bedrock("request: {}"), "request must be a mapping of more members"},
		{"messages in the request", openai("request: {messages: []}"), "a.yaml:5: messages in request is set by this program; remove it"},
		{"a secret in the request", openai("request: {user: '{secret:ME}'}"), "request is sent without replacing secrets; use api_key, or {secret:NAME} in headers"},
		{"cache", bedrock("cache: 10m"), `cache cannot be "10m"; it is one of off, 5m, 1h`},
		{"tier", bedrock("tier: cheap"), `tier cannot be "cheap"; it is one of priority, default, flex, reserved`},
		{"latency", bedrock("latency: low"), `latency cannot be "low"; it is one of standard, optimized`},
		{"region", bedrock("region: Frankfurt"), `"Frankfurt" is not an AWS region; write one such as eu-central-1`},
		{"guardrail without a version", bedrock("guardrail: {id: abc}"), "guardrail needs id and version"},
		{"guardrail by a name", bedrock("guardrail: {id: My Guard, version: 1}"), `"My Guard" is not a guardrail`},
		{"guardrail of no version", bedrock("guardrail: {id: abc, version: latest}"), "a number from 1, or DRAFT"},
		{"guardrail beside what is whole", bedrock("guardrail: {id: abc, version: 1, async: true}\n  stream: false"), "a.yaml:4: async has no effect without streaming"},
		{"an address without a scheme", at("localhost:11434/v1"), "a.yaml:4: base_url must be absolute"},
		{"an address of another scheme", at("file:///etc/passwd"), "it must be http or https"},
		{"an address with a user", at("https://me:hunter2@a/v1"), "base_url holds a user name or password; remove them"},
		{"an address with a query", at("https://a/v1?key=1"), "base_url has a query"},
		{"an address with a fragment", at("'https://a/v1#x'"), "a service never receives what follows #"},
		{"an address with a placeholder", at("'https://a/{secret:K}'"), "base_url holds a brace"},
		{"an address that is too long", at("https://a/v1/chat/completions/"), "base_url includes /chat/completions"},
		{"an address without a host", at("'https:///v1'"), "is not a host"},
		{"an address with a blank", at("'https://a/v 1'"), "can only hold plain ASCII"},
		{"a secret in the clear", at("http://10.0.0.7/v1\n  api_key: KEY"), "a.yaml:4: a secret would be sent unencrypted; use https"},
		{"a secret of a header in the clear", at("http://models/v1\n  headers: {X-Key: '{secret:K}'}"), "unencrypted; use https"},
		{"two authorizations", openai("api_key: KEY\n  headers: {authorization: 'Basic {secret:B}'}"), "a.yaml:6: api_key is sent as Authorization; remove one of them"},
		{"a header of ours", openai("headers: {Content-Type: text/plain}"), "the header Content-Type is set by this program"},
		{"a header with an argument", openai("headers: {X-A: '{order}'}"), "{order} is a placeholder for an argument, which is not allowed here"},
		{"a header with two lines", openai(`headers: {X-A: "a\nb"}`), "one line of plain ASCII"},
		{"a secret with a bad name", openai("headers: {X-A: '{secret:key}'}"), "a.yaml:5: {secret:NAME} takes the name of a secret, not the secret itself"},
		{"results that say nothing", head + "results: 100\n", "a.yaml:2: results must be at least 1KiB"},
		{"results that are too long", head + "results: 2MiB\n", "results may be at most 1MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := agentfile.Parse("a.yaml", []byte(tt.text), func(string) ([]byte, error) { return nil, nil })
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error\n%v\ndoes not contain\n%s", err, tt.want)
			}
		})
	}
}

func TestWhatMayBeAKeyIsNotRepeated(t *testing.T) {
	for _, text := range []string{
		"model: {provider: openai, model: m, base_url: 'https://a/', api_key: sk-hunter2}\n",
		"model: {provider: openai, model: m, base_url: 'https://me:hunter2@a/'}\n",
		head + "tools: [{name: a, mcp: {server: s}, parameters: {type: object}}]\nservers: {s: {url: 'https://me:hunter2@a/'}}\n",
	} {
		_, err := agentfile.Parse("a.yaml", []byte(text), noFiles)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func TestOnThisMachineASecretNeedsNoTLS(t *testing.T) {
	for _, host := range []string{"127.0.0.1:11434", "localhost", "[::1]:8080", "127.9.9.9"} {
		d, err := agentfile.Parse("a.yaml", []byte("model: {provider: openai, model: m, base_url: 'http://"+host+"/v1', api_key: KEY}\n"), noFiles)
		if err != nil || d.Model.BaseURL != "http://"+host+"/v1" {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, host := range []string{"127.0.0.1.example.com", "localhost.example.com", "128.0.0.1"} {
		_, err := agentfile.Parse("a.yaml", []byte("model: {provider: openai, model: m, base_url: 'http://"+host+"/v1', api_key: KEY}\n"), noFiles)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s may be sent a secret in the clear", host)
		}
	}
}
