package agentfile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func TestEveryMemberOfAnAgentElsewhereIsRead(t *testing.T) {
	d := fromFile(t, "a2a.yaml")
	want := []agent.Tool{
		{Name: "review", Description: "Reviews a draft.", Agent: &agent.Callee{Input: "Review: {draft} (for {reader})", Final: true, A2A: &agent.A2A{URL: "https://reviews.example.com",
			Headers: map[string]string{"Authorization": "Bearer {secret:REVIEW_TOKEN}"}, Timeout: 20_000, MaxBytes: 64 << 10}},
			Parameters: []byte(`{"additionalProperties":false,"properties":{"draft":{"type":"string"},"reader":{"type":"string"}},"required":["draft","reader"],"type":"object"}`),
			Delivery:   core.AtMostOnce, Deadline: &agent.Deadline{Within: 3_600_000}},
		{Name: "translate", Agent: &agent.Callee{A2A: &agent.A2A{URL: "http://localhost:9000/card.json", Headers: map[string]string{"X-Key": "{secret:TRANSLATE_KEY}"}, AllowPrivate: true}},
			Parameters: []byte(`{"properties":{"text":{"type":"string"},"to":{"type":"string"}},"required":["text"],"type":"object"}`), Idempotent: true, ReadOnly: true},
	}
	if diff := cmp.Diff(want, d.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"REVIEW_TOKEN", "TRANSLATE_KEY"}, d.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a2a"}, d.Needs().Kinds); diff != "" {
		t.Errorf("kinds of tools (-want +got):\n%s", diff)
	}
	again, err := agent.Decode(d.Encode())
	if err != nil || again.Digest() != d.Digest() {
		t.Errorf("the digest changed on the way through storage: %v", err)
	}
}

// TestWhatATaskElsewherePromises: a task that may have arrived isn't sent again unless the file
// says that it may be.
func TestWhatATaskElsewherePromises(t *testing.T) {
	for said, want := range map[string]core.Delivery{
		"":                                     core.AtMostOnce,
		"read_only: true, ":                    core.AtLeastOnce,
		"idempotent: true, ":                   core.AtLeastOnce,
		"delivery: at_least_once, ":            core.DeliveryDefault,
		"delivery: at_most_once, ":             core.AtMostOnce,
		"read_only: true, idempotent: false, ": core.AtMostOnce,
	} {
		rules, err := parse(t, head+"tools: [{name: a, "+said+"a2a: {url: 'https://b/'}, input: '{q}'}]\n").Rules(nil, agent.Layers{})
		if err != nil {
			t.Fatal(err)
		}
		if spec, ok := rules.Tool("a"); !ok || !spec.Agent || spec.Delivery != want {
			t.Errorf("%s: %+v, want %v", said, spec, want)
		}
	}
}

// TestTheInputOfAnAgentElsewhereIsChecked as that of an agent of the directory: whatever an
// approver sees is sent.
func TestTheInputOfAnAgentElsewhereIsChecked(t *testing.T) {
	rules, err := fromFile(t, "a2a.yaml").Rules(nil, agent.Layers{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, arguments, want, refused string }{
		{"review", `{"draft":"a {b}","reader":"anna"}`, "Review: a {b} (for anna)", ""},
		{"review", `{"draft":"a"}`, "", `missing "reader"`},
		{"review", `{"draft":"a","reader":"anna","x":1}`, "", `unknown "x"`},
		{"translate", `{"text":"a"}`, `{"text":"a"}`, ""},
		{"translate", `{"text":"a","from":"b"}`, "", `unknown "from"`},
	} {
		call := core.ToolCall{ID: "c", Name: tt.tool, Arguments: []byte(tt.arguments)}
		err := rules.Check(call)
		if tt.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%s %s: %v, want %s", tt.tool, tt.arguments, err, tt.refused)
			}
			continue
		}
		if child, ok := rules.Child(call); err != nil || !ok || child.Input != tt.want || child.Final != (tt.tool == "review") || child.Remote != tt.tool {
			t.Errorf("%s %s: %+v, %v, want %s", tt.tool, tt.arguments, child, err, tt.want)
		}
	}
}

func TestMistakesInAnAgentElsewhereAreNamed(t *testing.T) {
	tool := func(of string) string { return head + "tools:\n  - name: a\n    " + of + "\n" }
	a2a := func(of string) string { return tool("a2a: {" + of + "}\n    input: '{q}'") }
	tests := []struct{ name, text, want string }{
		{"no url", a2a("timeout: 1s"), "a.yaml:4: a2a needs a url: the agent's card, or the address that has it under /.well-known/agent-card.json, as in https://reviews.example.com"},
		{"a text", tool("a2a: https://b/\n    input: '{q}'"), "a.yaml:4: a2a is text; write it as a mapping of fields"},
		{"nothing", tool("a2a:\n    input: '{q}'"), "a.yaml:4: a2a is empty; write it as a mapping of fields"},
		{"an unknown member", a2a("url: 'https://b/', token: x"), `a.yaml:4: unknown field "token" in a2a; it takes url, headers, allow_private, timeout, max_bytes`},
		{"no input and no parameters", tool("a2a: {url: 'https://b/'}"), `a.yaml:4: a tool with a2a needs input or parameters; write input: "{question}" for one argument`},
		{"an empty input", tool("a2a: {url: 'https://b/'}\n    input: ' '"), "a.yaml:5: input is empty; write the first message"},
		{"a secret in the input", tool("a2a: {url: 'https://b/'}\n    input: 'use {secret:KEY}'"), "a.yaml:5: input is a message that models read and the journal keeps, so it cannot hold a secret"},
		{"an agent of the directory too", tool("a2a: {url: 'https://b/'}\n    agent: b\n    input: '{q}'"), `a.yaml:3: tool "a" has agent and a2a; it needs exactly one of go, http, lambda, mcp, agent, a2a, client: true and recorded`},
		{"a request too", tool("a2a: {url: 'https://b/'}\n    http: {url: 'https://b/'}\n    input: '{q}'"), "needs exactly one of go"},
		{"a relative url", a2a("url: /agent"), "a.yaml:4: url must be absolute, as in https://api.example.com/v1"},
		{"another scheme", a2a("url: 'grpc://b/'"), `url begins with "grpc"; it must be http or https`},
		{"a user", a2a("url: 'https://a:b@c/'"), "url holds a user name or password; remove them, and send a secret"},
		{"a placeholder", a2a("url: 'https://b/{q}'"), "url holds a brace, and nothing is put into it"},
		{"a fragment", a2a("url: 'https://b/#c'"), "a service never receives what follows # in url"},
		{"a key in the url", a2a("url: 'https://b/?api_key=abc'"), "url contains a secret in plain text"},
		{"a secret in the clear", a2a("url: 'http://b/', headers: {Authorization: 'Bearer {secret:K}'}"), "a.yaml:4: a secret would be sent unencrypted; use https, or allow_private"},
		{"a key", a2a("url: 'https://b/', headers: {Authorization: Bearer abc}"), "the header Authorization contains a secret in plain text"},
		{"a header with an argument", a2a("url: 'https://b/', headers: {X-For: '{q}'}"), "a.yaml:4: {q} is a placeholder for an argument, which is not allowed here; write {secret:NAME}"},
		{"the version of the protocol", a2a("url: 'https://b/', headers: {a2a-version: '1.0'}"), "a.yaml:4: headers that begin with A2A- are set by this program; remove a2a-version"},
		{"its extensions", a2a("url: 'https://b/', headers: {A2A-Extensions: x}"), "headers that begin with A2A- are set by this program; remove A2A-Extensions"},
		{"the kind of the body", a2a("url: 'https://b/', headers: {content-type: text/plain}"), "the header Content-Type is set by this program; remove it"},
		{"the kind of the answer", a2a("url: 'https://b/', headers: {Accept: text/plain}"), "the header Accept is set by this program; remove it"},
		{"a header of the connection", a2a("url: 'https://b/', headers: {Host: c}"), "the header Host is set by this program; remove it"},
		{"a time that is too long", a2a("url: 'https://b/', timeout: 2m"), "timeout may be at most 1m30s"},
		{"a time without a unit", a2a("url: 'https://b/', timeout: 5"), "timeout of a2a must be a duration"},
		{"an answer that is too long", a2a("url: 'https://b/', max_bytes: 2MiB"), "max_bytes may be at most 1MiB"},
		{"a schema of a result", tool("a2a: {url: 'https://b/'}\n    input: '{q}'\n    result: {type: object}"), "a.yaml:6: the result of a tool with a2a is output (what the agent finishes with, or else its last text) or final (its last text); write one of the two"},
		{"idempotent, and at most once", tool("a2a: {url: 'https://b/'}\n    input: '{q}'\n    idempotent: true\n    delivery: at_most_once"), `tool "a" cannot be idempotent and at_most_once; remove one`},
		{"a result in advance behind an approval", tool("a2a: {url: 'https://b/'}\n    input: '{q}'\n    deadline: {within: 1h, then: result, result: 1}"), `tool "a" may wait for an approval, and a deadline cannot approve`},
		{"a preview by an agent", head + "tools:\n  - {name: a, a2a: {url: 'https://b/'}, input: '{q}', read_only: true}\n  - {name: p, go: p, preview: {tool: a, arguments: {q: x}}}\npermissions: {allow: [a]}\n",
			`"a" starts a run of an agent and cannot make a preview`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := agentfile.Parse("a.yaml", []byte(tt.text), noFiles)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error\n%v\ndoes not contain\n%s", err, tt.want)
			}
		})
	}
}

func TestInTheClearASecretGoesToPrivateAgentsOnly(t *testing.T) {
	for _, of := range []string{"url: 'http://reviews.internal/', allow_private: true", "url: 'http://127.0.0.1:9000/'"} {
		d := parse(t, head+"tools: [{name: a, a2a: {"+of+", headers: {X-Key: '{secret:K}'}}, input: '{q}'}]\n")
		if diff := cmp.Diff([]string{"K"}, d.Secrets()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", of, diff)
		}
	}
}

// TestAgentsOfTheDirectoryKeepTheirDigests: the digest is of a program that knew no agents
// elsewhere.
func TestAgentsOfTheDirectoryKeepTheirDigests(t *testing.T) {
	text, err := os.ReadFile("testdata/published/agents.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := parse(t, string(text)).Digest(), "sha256:9d0f257b16a7363e5edaf5ceb611d151ce7df2308267e2c2e7b39b2a75017b95"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}
