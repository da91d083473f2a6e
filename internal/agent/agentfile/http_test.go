package agentfile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

const refundTool = head + `tools:
  - name: refund
    http:
      method: POST
      url: https://pay.example.com/v1/orders/{order}/refunds
      query: {currency: "{currency}"}
      headers: {Authorization: "Bearer {secret:PAY_TOKEN}"}
      body: json
      timeout: 1500ms
      max_bytes: 2KiB
      retries: 0
      allow_private: true
    parameters:
      type: object
      properties: {order: {type: string}, amount: {type: integer}, currency: {type: string}}
      required: [order, amount]
`

func TestEveryMemberOfAnHTTPToolIsRead(t *testing.T) {
	d := parse(t, refundTool)
	none := 0
	want := &agent.HTTP{Method: "POST", URL: "https://pay.example.com/v1/orders/{order}/refunds", Query: map[string]string{"currency": "{currency}"},
		Headers: map[string]string{"Authorization": "Bearer {secret:PAY_TOKEN}"}, Body: json.RawMessage(`"json"`), Timeout: 1500, MaxBytes: 2048, Retries: &none, AllowPrivate: true}
	if diff := cmp.Diff(want, d.Tools[0].HTTP); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"PAY_TOKEN"}, d.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	again, err := agent.Decode(d.Encode())
	if diff := cmp.Diff(d, again); err != nil || diff != "" {
		t.Errorf("after Encode and Decode: %v (-want +got):\n%s", err, diff)
	}
}

func TestWhatAnHTTPToolPromises(t *testing.T) {
	for _, tt := range []struct {
		said     string
		delivery core.Delivery
		readOnly bool
	}{
		{"http: {url: 'https://a/'}", core.AtLeastOnce, true},
		{"http: {url: 'https://a/', method: HEAD}", core.AtLeastOnce, true},
		{"read_only: false, http: {url: 'https://a/'}", core.AtLeastOnce, false},
		{"idempotent: false, http: {url: 'https://a/'}", core.DeliveryDefault, true},
		{"delivery: at_most_once, http: {url: 'https://a/'}", core.AtMostOnce, true},
		{"http: {url: 'https://a/', method: POST}", core.AtMostOnce, false},
		{"http: {url: 'https://a/', method: PUT}", core.AtMostOnce, false},
		{"http: {url: 'https://a/', method: DELETE}", core.AtMostOnce, false},
		{"idempotent: true, http: {url: 'https://a/', method: PUT}", core.AtLeastOnce, false},
		{"delivery: at_least_once, http: {url: 'https://a/', method: POST}", core.DeliveryDefault, false},
		{"read_only: true, http: {url: 'https://a/', method: POST}", core.AtMostOnce, true},
	} {
		rules, err := parse(t, head+"tools: [{name: a, parameters: {type: object}, "+tt.said+"}]\n").Rules(nil, agent.Layers{})
		if err != nil {
			t.Fatal(err)
		}
		if spec, ok := rules.Tool("a"); !ok || spec.Delivery != tt.delivery || spec.ReadOnly != tt.readOnly {
			t.Errorf("%s: %+v", tt.said, spec)
		}
	}
}

func TestMistakesInAnHTTPToolAreNamed(t *testing.T) {
	// tool has a request on line 4 and its parameters on line 5.
	tool := func(request string) string {
		return head + "tools:\n  - name: a\n    http: {" + request + "}\n" +
			"    parameters: {type: object, properties: {x: {type: string}, list: {type: array}, o: {}}, required: [x, list]}\n"
	}
	post := func(more string) string { return tool("method: POST, url: 'https://a/{x}', " + more) }
	url := func(text string) string { return tool("method: POST, url: '" + text + "'") }
	tests := []struct{ name, text, want string }{
		{"no url", tool("method: POST"), "a.yaml:4: http needs a url"},
		{"a relative url", url("/v1/x"), "a.yaml:4: url must be absolute"},
		{"no scheme", url("example.com/x"), "url must be absolute"},
		{"no host", url("https:///x"), `"" in url is not a host`},
		{"another scheme", url("ftp://example.com/"), `"ftp"; it must be http or https`},
		{"a file", url("file:///etc/passwd"), `it must be http or https`},
		{"a user in the url", url("https://me:pw@example.com/"), "url holds a user name or password; remove them"},
		{"a placeholder as host", url("https://{x}/"), "a placeholder can't choose the host"},
		{"a placeholder in the host", url("https://{x}.example.com/"), "a placeholder can't choose the host"},
		{"a placeholder as port", url("https://example.com:{x}/"), "a placeholder can't choose the host"},
		{"a placeholder behind the host", url("https://example.com{x}"), "a placeholder can't choose the host"},
		{"a placeholder as scheme", url("{x}://example.com/"), "url must be absolute"},
		{"a port that is none", url("https://example.com:http/"), "is not a host"},
		{"a port that is missing", url("https://example.com:/"), "is not a host"},
		{"a blank in the host", url("https://exa mple.com/"), "is not a host"},
		{"a backslash in the host", url(`https://example.com\\@evil.com/`), "url holds a user name"},
		{"a fragment", url("https://example.com/#x"), "remove it"},
		{"dots in the path", url("https://example.com/a/../b"), `has a ".." in its path`},
		{"escaped dots in the path", url("https://example.com/a/%2e%2e/b"), `has a ".." in its path`},
		{"a bad escape", url("https://example.com/%zz"), "is not escaped correctly"},
		{"a secret in the path", url("https://example.com/{secret:K}"), "put it into a header"},
		{"a placeholder as name of a query parameter", url("https://example.com/?{x}=1"), "can only be its value"},
		{"an unknown argument in the url", url("https://example.com/{y}"), `the tool has no argument {y}; describe "y" under properties`},
		{"an optional argument in the path", url("https://example.com/{o}"), `name it under required`},
		{"a list in the path", url("https://example.com/{list}"), "make it text, a number or a boolean"},
		{"a brace that is open", url("https://example.com/{x"), "belongs to no placeholder"},
		{"a brace too many", url("https://example.com/x}"), "belongs to no placeholder"},
		{"a strange placeholder", url("https://example.com/{a b}"), "{a b} is not a placeholder"},
		{"a bad method", tool("method: TRACE, url: 'https://a/{x}'"), `method cannot be "TRACE"; it is one of GET, HEAD`},
		{"an empty method", tool("method: '', url: 'https://a/{x}'"), `a.yaml:4: method cannot be ""; it is one of GET, HEAD`},
		{"empty parameters", head + "tools: [{name: a, http: {url: 'https://a/'}, parameters: null}]\n", "a.yaml:2: parameters is empty; write it as a mapping"},
		{"nothing required", head + "tools: [{name: a, http: {url: 'https://a/'}, parameters: {type: object, required: [null]}}]\n",
			"a.yaml:2: required in parameters must be a list of names, and one is empty"},
		{"an empty required", head + "tools: [{name: a, http: {url: 'https://a/'}, parameters: {type: object, required: null}}]\n", "required in parameters is empty; fill it"},
		{"a method in lower case", tool("method: post, url: 'https://a/{x}'"), `method cannot be "post"`},
		{"an unknown member", post("cookies: yes"), `unknown field "cookies" in http; it takes method, url, query, headers, body, timeout, max_bytes, retries, allow_private`},
		{"an unknown argument in the query", post("query: {q: '{y}'}"), "the tool has no argument {y}"},
		{"a placeholder without quotes", post("query: {q: {x}}"), `put a placeholder in quotes`},
		{"a number as header", post("headers: {A: 1}"), "A must be text, not a number; put it in quotes"},
		{"a header that is ours", post("headers: {host: x}"), "the header Host is set by this program; remove it"},
		{"the header of the key", post("headers: {idempotency-key: '{x}'}"), "the header Idempotency-Key is set by this program"},
		{"the length", post("headers: {Content-Length: '1'}"), "the header Content-Length is set by this program"},
		{"a header twice", post("headers: {X-A: a, x-a: b}"), "the header X-A is set twice"},
		{"a header with a line break", post(`headers: {A: "a\r\nB: c"}`), "one line of plain ASCII"},
		{"a header without a name", post("headers: {'a b': c}"), `"a b" is not a valid header name`},
		{"a bad name of a secret", post("headers: {A: '{secret:token}'}"), "{secret:NAME} takes the name of a secret, not the secret itself"},
		{"a secret in the clear", tool("method: POST, url: 'http://a/{x}', headers: {A: '{secret:K}'}"), "a secret would be sent unencrypted"},
		{"a secret in the body", post("body: {a: '{secret:K}'}"), "a secret is only allowed in headers and in the query"},
		{"a placeholder as name in the body", post("body: {a: {'{o}': 1}, o: '{o}'}"), `a.yaml:4: "{o}" in body is the name of a member`},
		{"a strange body", post("body: xml"), "body must be json, form, none, or a mapping or list"},
		{"a body of a GET", tool("url: 'https://a/{x}', body: json"), "GET sends no body"},
		{"an unknown argument in the body", post("body: {a: ['{y}']}"), "the tool has no argument {y}"},
		{"an argument that is sent nowhere", tool("url: 'https://a/{x}', query: {q: '{list}'}"), `a.yaml:5: the argument "o" is sent nowhere`},
		{"a required argument that is sent nowhere", head + "tools: [{name: a, http: {url: 'https://a/'}, parameters: {type: object, required: [z]}}]\n",
			`the argument "z" is sent nowhere`},
		{"a timeout that is too long", post("timeout: 10m"), "timeout may be at most 1m30s"},
		{"a timeout that is none", post("timeout: soon"), "timeout of http must be a duration"},
		{"too many bytes", post("max_bytes: 2MiB"), "max_bytes may be at most 1MiB"},
		{"a size that is none", post("max_bytes: much"), "max_bytes must be a size such as"},
		{"too many retries", post("retries: 11"), "retries may be at most 10"},
		{"retries below zero", post("retries: -1"), "retries must be a whole number"},
		{"http as text", head + "tools: [{name: a, http: 'https://a/', parameters: {type: object}}]\n", "http is text; write it as a mapping"},
		{"no parameters", head + "tools: [{name: a, http: {url: 'https://a/'}}]\n", "an http tool needs parameters"},
		{"two bodies", head + "tools: [{name: a, go: a, http: {url: 'https://a/'}, parameters: {type: object}}]\n", "exactly one of go, http, lambda, mcp, agent, a2a, client: true and recorded"},
		{"a client, too", head + "tools: [{name: a, client: true, http: {url: 'https://a/'}, parameters: {type: object}}]\n", "exactly one of go, http"},
		{"result of a tool that is no client's", head + "tools: [{name: a, go: a, result: {type: object}}]\n", "only client tools and tools with agent or a2a have a result; remove it"},
		{"a result that is no schema", head + "tools: [{name: a, client: true, result: text}]\n", "a.yaml:2: result: not a JSON Schema; write it as a mapping"},
		{"a result with a bad type", head + "tools: [{name: a, client: true, result: {type: strin}}]\n", `"strin" is not a JSON Schema type`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := agentfile.Parse("a.yaml", []byte(tt.text), noFiles)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error\n%v\ndoes not contain\n%s", err, tt.want)
			}
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "a.yaml:") {
					t.Errorf("line %q names no place", line)
				}
			}
		})
	}
}

func TestResultOfAClientToolMayBeAnyType(t *testing.T) {
	for _, schema := range []string{"{type: string}", "{}", "true", "{type: [object, 'null']}"} {
		d := parse(t, head+"tools: [{name: a, client: true, result: "+schema+"}]\n")
		rules, err := d.Rules(nil, agent.Layers{})
		if err != nil {
			t.Fatal(err)
		}
		if spec, _ := rules.Tool("a"); string(spec.Result) != string(d.Tools[0].Result) || spec.Result == nil {
			t.Errorf("%s: %+v", schema, spec)
		}
	}
}

// TestWhatARequestHasNoPlaceForIsRefused: whoever approves a call would be shown it, and the
// service would not.
func TestWhatARequestHasNoPlaceForIsRefused(t *testing.T) {
	const parameters = "parameters: {type: object, required: [x], properties: {x: {}, y: {}}}"
	for _, tt := range []struct {
		name, request, parameters, args, want string
	}{
		{"a template", "method: POST, url: 'https://a/{x}', body: {y: ['{y}']}", parameters, `{"x":1,"y":2,"unsent":3}`, `unknown "unsent"; this tool takes only "x", "y"`},
		{"no body", "method: POST, url: 'https://a/{x}', query: {y: '{y}'}, body: none", parameters, `{"x":1,"b":2,"a":3}`, `unknown "a", "b"; this tool takes only "x", "y"`},
		{"a GET", "url: 'https://a/{x}', headers: {Y: 'a {y}'}", parameters, `{"x":1,"unsent":null}`, `unknown "unsent"`},
		{"no arguments", "url: 'https://a/'", "parameters: {type: object}", `{"unsent":1}`, `unknown "unsent"; this tool takes none`},
		{"though the schema allows it", "url: 'https://a/{x}{y}'", "parameters: {type: object, additionalProperties: true, required: [x, y], properties: {x: {}, y: {}}}",
			`{"x":1,"y":2,"unsent":3}`, `unknown "unsent"`},
		{"all of them there", "method: POST, url: 'https://a/{x}', body: {y: ['{y}']}", parameters, `{"x":1,"y":2}`, ""},
		{"none of them there", "url: 'https://a/', query: {x: '{x}'}", "parameters: {type: object, properties: {x: {}}}", ``, ""},
		{"a body that takes the rest", "method: POST, url: 'https://a/{x}'", "parameters: {type: object, additionalProperties: true, required: [x], properties: {x: {}}}", `{"x":1,"more":3}`, ""},
		{"a form that takes the rest", "method: POST, url: 'https://a/{x}', body: form", "parameters: {type: object, additionalProperties: true, required: [x], properties: {x: {}}}", `{"x":1,"more":3}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules, err := parse(t, head+"tools: [{name: a, http: {"+tt.request+"}, "+tt.parameters+"}]\n").Rules(nil, agent.Layers{})
			if err != nil {
				t.Fatal(err)
			}
			err = rules.Check(core.ToolCall{Name: "a", Arguments: json.RawMessage(tt.args)})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), "invalid arguments: "+tt.want)) {
				t.Errorf("%v; want %q", err, tt.want)
			}
		})
	}
}
