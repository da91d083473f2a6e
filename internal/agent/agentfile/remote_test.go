package agentfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

func TestEveryMemberOfARemoteToolIsRead(t *testing.T) {
	d := fromFile(t, "bedrock.yaml")
	if diff := cmp.Diff(&agent.Lambda{Function: "price-of", Qualifier: "live", Timeout: 5000, MaxBytes: 1024}, d.Tools[0].Lambda); diff != "" {
		t.Errorf("lambda (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&agent.MCP{Server: "wiki", Tool: "search_pages", Timeout: 20_000, MaxBytes: 1000}, d.Tools[1].MCP); diff != "" {
		t.Errorf("mcp (-want +got):\n%s", diff)
	}
	want := map[string]agent.Server{"wiki": {URL: "https://wiki.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer {secret:WIKI}"}, AllowPrivate: true}}
	if diff := cmp.Diff(want, d.Servers); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

// TestWhatARemoteToolPromises: nothing is known of what runs elsewhere, so that it is not repeated
// unless the file says it may be.
func TestWhatARemoteToolPromises(t *testing.T) {
	for said, want := range map[string]core.Delivery{
		"":                                     core.AtMostOnce,
		"read_only: true, ":                    core.AtLeastOnce,
		"idempotent: true, ":                   core.AtLeastOnce,
		"delivery: at_least_once, ":            core.DeliveryDefault,
		"delivery: at_most_once, ":             core.AtMostOnce,
		"read_only: true, idempotent: false, ": core.AtMostOnce,
	} {
		for _, body := range []string{"lambda: {function: f}", "mcp: {server: s}"} {
			text := head + "tools: [{name: a, " + said + body + ", parameters: {type: object}}]\n"
			if strings.HasPrefix(body, "mcp") {
				text += "servers: {s: {url: 'https://a/'}}\n"
			}
			rules, err := parse(t, text).Rules(nil, agent.Layers{})
			if err != nil {
				t.Fatal(err)
			}
			if spec, ok := rules.Tool("a"); !ok || spec.Delivery != want {
				t.Errorf("%s%s: %v, want %v", said, body, spec.Delivery, want)
			}
		}
	}
}

func TestMistakesInARemoteToolAreNamed(t *testing.T) {
	lambda := func(of string) string {
		return head + "tools:\n  - name: a\n    lambda: {" + of + "}\n    parameters: {type: object}\n"
	}
	mcp := func(of string) string {
		return head + "tools:\n  - name: a\n    mcp: {" + of + "}\n    parameters: {type: object}\nservers:\n  wiki: {url: 'https://a/mcp'}\n"
	}
	server := func(of string) string {
		return head + "tools: [{name: a, mcp: {server: wiki}, parameters: {type: object}}]\nservers:\n  wiki: {" + of + "}\n"
	}
	tests := []struct{ name, text, want string }{
		{"no function", lambda("timeout: 1s"), "a.yaml:4: lambda needs a function: its name, or its ARN"},
		{"an empty function", lambda("function: ''"), `"" is not a Lambda function`},
		{"a function with a blank", lambda("function: 'a b'"), `"a b" is not a Lambda function`},
		{"an alias behind the name", lambda("function: 'f:live'"), `"f:live" ends with a version or an alias; write that as qualifier`},
		{"an alias behind the ARN", lambda("function: 'arn:aws:lambda:eu-central-1:123456789012:function:f:1'"), "write that as qualifier"},
		{"an ARN of something else", lambda("function: 'arn:aws:sqs:eu-central-1:123456789012:queue'"), "is not a Lambda function"},
		{"a version that is a number", lambda("function: f, qualifier: 7"), "qualifier must be text, not a number; put it in quotes"},
		{"a time that is too long", lambda("function: f, timeout: 2m"), "a.yaml:4: timeout may be at most 1m30s"},
		{"a time without a unit", lambda("function: f, timeout: 5"), "timeout of lambda must be a duration"},
		{"an answer that is too long", lambda("function: f, max_bytes: 2MiB"), "max_bytes may be at most 1MiB"},
		{"an unknown member of lambda", lambda("function: f, payload: 1"), `unknown field "payload" in lambda; it takes function, qualifier, timeout, max_bytes`},
		{"lambda without parameters", head + "tools:\n  - name: a\n    lambda: {function: f}\n", "a.yaml:4: a tool with lambda needs parameters"},
		{"mcp without parameters", head + "tools:\n  - {name: a, mcp: {server: s}}\nservers: {s: {url: 'https://a/'}}\n", "a tool with mcp needs parameters"},
		{"no server", mcp("tool: x"), "a.yaml:4: mcp needs server: a name under servers"},
		{"a server that is not there", mcp("server: wikki"), `a.yaml:4: the agent has no server "wikki"; did you mean "wiki"? it is one of wiki`},
		{"no servers at all", head + "tools: [{name: a, mcp: {server: s}, parameters: {type: object}}]\n", `the agent has no server "s"; list it under servers`},
		{"a server that nobody uses", head + "servers:\n  wiki: {url: 'https://a/'}\n", `a.yaml:3: no tool uses the server "wiki"; remove it, or name it under mcp`},
		{"a name with a blank", mcp("server: wiki, tool: 'a b'"), `"a b" is not a valid tool name`},
		{"a server of no name", head + "tools: [{name: a, mcp: {server: W}, parameters: {type: object}}]\nservers: {W: {url: 'https://a/'}}\n", `"W" is not a valid server name`},
		{"a server that is a text", head + "tools: [{name: a, mcp: {server: s}, parameters: {type: object}}]\nservers: {s: 'https://a/'}\n", "a server is text; write it as a mapping"},
		{"no url", server("allow_private: true"), "a.yaml:4: a server needs a url"},
		{"a relative url", server("url: /mcp"), "url must be absolute"},
		{"another scheme", server("url: 'stdio://x'"), "it must be http or https"},
		{"a user", server("url: 'https://a:b@c/'"), "url holds a user name or password"},
		{"a placeholder", server("url: 'https://a/{secret:K}'"), "url holds a brace"},
		{"a secret in the clear", server("url: 'http://a/', headers: {Authorization: 'Bearer {secret:K}'}"), "a.yaml:4: a secret would be sent unencrypted"},
		{"a header of ours", server("url: 'https://a/', headers: {accept: text/html}"), "the header Accept is set by this program"},
		{"a header of the protocol", server("url: 'https://a/', headers: {Mcp-Session-Id: x}"), "begin with Mcp- are set by this program"},
		{"a header with an argument", server("url: 'https://a/', headers: {X: '{a}'}"), "is a placeholder for an argument"},
		{"an unknown member of a server", server("url: 'https://a/', token: x"), `unknown field "token" in a server; it takes url, headers, allow_private`},
		{"two bodies", head + "tools: [{name: a, lambda: {function: f}, client: true, parameters: {type: object}}]\n", "needs exactly one of go, http, lambda, mcp"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := agentfile.Parse("a.yaml", []byte(tt.text), noFiles)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error\n%v\ndoes not contain\n%s", err, tt.want)
			}
		})
	}
	for _, function := range []string{"price-of", "arn:aws:lambda:eu-central-1:123456789012:function:f_1", "arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:f"} {
		if d := parse(t, lambda("function: '"+function+"', qualifier: '$LATEST'")); d.Tools[0].Lambda.Function != function {
			t.Errorf("%s is read as %+v", function, d.Tools[0].Lambda)
		}
	}
}

func TestInTheClearASecretGoesToPrivateServersOnly(t *testing.T) {
	for _, of := range []string{"url: 'http://wiki.internal/mcp', allow_private: true", "url: 'http://localhost:9000/mcp'"} {
		d := parse(t, head+"tools: [{name: a, mcp: {server: wiki}, parameters: {type: object}}]\nservers:\n  wiki: {"+of+", headers: {X-Key: '{secret:K}'}}\n")
		if diff := cmp.Diff([]string{"K"}, d.Secrets()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", of, diff)
		}
	}
}
