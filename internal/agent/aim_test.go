package agent_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// payTool is an agent with one HTTP tool that is allowed to do whatever it does.
func payTool(name, method, url string) string {
	return head + `tools: [{name: ` + name + `, http: {method: ` + method + `, url: "` + url + `"}, parameters: {type: object, properties: {to: {type: string}}, required: [to]}}]
permissions: {allow: ["*"]}
`
}

// reaching is an agent with a tool of each kind.
const reaching = head + `servers:
  crm: {url: "https://Tools.Example.com./mcp"}
  local: {url: "http://[::1]:9000/mcp", allow_private: true}
tools:
  - {name: bill, lambda: {function: "arn:aws:lambda:eu-central-1:123456789012:function:pay-invoice"}, parameters: {type: object}}
  - {name: refund, mcp: {server: crm, tool: give_back}, parameters: {type: object}}
  - {name: look, mcp: {server: local}, parameters: {type: object}}
  - {name: review, a2a: {url: "https://Reviews.Example.com./v1/"}, parameters: {type: object}}
  - {name: check, a2a: {url: "http://[::1]:9000/card.json", allow_private: true}, parameters: {type: object}}
  - {name: odd, a2a: {url: "http://0x7f000001/"}, parameters: {type: object}}
  - {name: helper, agent: desk, parameters: {type: object}}
  - {name: shell, go: bash}
permissions: {allow: ["*"]}
`

func gateOf(t *testing.T, text string, layers agent.Layers, tool, args string) core.Verdict {
	t.Helper()
	return layered(t, text, layers).Gate(core.ToolCall{ID: "c", Name: tool, Arguments: json.RawMessage(args)}, core.State{})
}

// TestADenyByTargetOutlivesTheToolsName: the name, the case and the spelling of a URL are the agent
// author's to choose, and where the call goes is not.
func TestADenyByTargetOutlivesTheToolsName(t *testing.T) {
	for _, tt := range []struct {
		target, method, url string
		want                core.Effect
	}{
		{"http:api.pay.example.com/*", "POST", "https://api.pay.example.com/pay/{to}", core.Deny},
		{"http:api.pay.example.com", "POST", "https://api.pay.example.com/pay/{to}", core.Deny},
		{"http:API.pay.Example.com", "POST", "https://api.PAY.example.COM/pay/{to}", core.Deny},
		{"http:api.pay.example.com", "POST", "https://api.pay.example.com./pay/{to}", core.Deny},
		{"http:api.pay.example.com.", "POST", "https://api.pay.example.com/pay/{to}", core.Deny},
		{"http:api.pay.example.com", "POST", "https://api.pay.example.com:8443/pay/{to}", core.Deny},
		{"http:api.pay.example.com:443", "POST", "https://api.pay.example.com/pay/{to}", core.Deny},
		{"http:api.pay.example.com:443", "POST", "https://api.pay.example.com:0443/pay/{to}", core.Deny},
		{"http:api.pay.example.com:80", "POST", "https://api.pay.example.com/pay/{to}", core.Allow},
		{"http:*.example.com", "POST", "https://api.pay.example.com/pay/{to}", core.Deny},
		{"http:*.example.com", "POST", "https://example.com/pay/{to}", core.Allow},
		{"http:api.pay.example.com", "POST", "https://api.pay.example.com.evil.test/pay/{to}", core.Allow},
		{"http:POST api.pay.example.com", "POST", "https://api.pay.example.com/pay/{to}", core.Deny},
		{"http:POST api.pay.example.com", "GET", "https://api.pay.example.com/pay/{to}", core.Allow},
		{"http:api.pay.example.com/pay/*", "POST", "https://api.pay.example.com/pay/{to}", core.Deny},
		{"http:api.pay.example.com/pay/*", "POST", "https://api.pay.example.com/look/{to}", core.Allow},
		{"http:api.pay.example.com/pay/*", "POST", "https://api.pay.example.com/PAY/{to}", core.Deny},
		{"http:api.pay.example.com/pay/*", "POST", "https://api.pay.example.com/%70ay/{to}", core.Deny},
		{"http:api.pay.example.com/pay/*", "POST", "https://api.pay.example.com//pay/{to}", core.Deny},
		{"http:api.pay.example.com/pay/*", "POST", "https://api.pay.example.com/pay;v=1/{to}", core.Deny},
		{"http:api.pay.example.com/pay/mallory", "POST", "https://api.pay.example.com/pay/{to}", core.Deny},
		{"http:api.pay.example.com/pay/anna", "POST", "https://api.pay.example.com/pay/{to}", core.Allow},
		{"http:api.pay.example.com/pay/mallory", "POST", "https://api.pay.example.com/{to}", core.Allow},
		{"http:xn--bcher-kva.example", "POST", "https://XN--bcher-kva.example/pay/{to}", core.Deny},
		{"http:10.0.0.7", "POST", "https://10.0.0.7:8443/pay/{to}", core.Deny},
		{"http:10.0.0.7", "POST", "https://[::ffff:a00:7]/pay/{to}", core.Deny},
		{"http:[fd00::7]", "POST", "https://[FD00:0:0::7]/pay/{to}", core.Deny},
		{"http:10.0.0.7", "POST", "http://167772167/pay/{to}", core.Deny},
		// nobody can tell where that leads
		{"http:api.pay.example.com", "POST", "http://0x0a000007/pay/{to}", core.Deny},
		{"http:*", "POST", "https://anywhere.example/pay/{to}", core.Deny},
		{"lambda:pay", "POST", "https://api.pay.example.com/pay/{to}", core.Allow},
	} {
		for _, name := range []string{"pay", "pay2"} {
			p := policy(t, "deny: [{target: '"+tt.target+"', reason: no}]")
			if v := gateOf(t, payTool(name, tt.method, tt.url), agent.Layers{Policy: p}, name, `{"to":"mallory"}`); v.Effect != tt.want {
				t.Errorf("%s, %s %s as %s: %+v", tt.target, tt.method, tt.url, name, v)
			}
		}
	}
}

func TestATargetNamesFunctionsServersAndTheirTools(t *testing.T) {
	for _, tt := range []struct {
		target, tool string
		want         core.Effect
	}{
		{"lambda:pay-invoice", "bill", core.Deny}, {"lambda:PAY-*", "bill", core.Deny}, {"lambda:pay", "bill", core.Allow},
		{"mcp:crm", "refund", core.Deny}, {"mcp:crm/give_back", "refund", core.Deny}, {"mcp:crm/refund", "refund", core.Allow},
		{"mcp:tools.example.com/give_*", "refund", core.Deny}, {"mcp:tools.example.com:443", "refund", core.Deny}, {"mcp:tools.example.com:80", "refund", core.Allow},
		{"mcp:[::1]:9000/look", "look", core.Deny}, {"mcp:*/look", "look", core.Deny}, {"mcp:crm", "look", core.Allow},
		{"go:bash", "shell", core.Deny}, {"go:*", "shell", core.Deny}, {"go:ash", "shell", core.Allow}, {"http:tools.example.com", "refund", core.Allow},
		{"a2a:reviews.example.com", "review", core.Deny}, {"a2a:REVIEWS.example.com.:443", "review", core.Deny}, {"a2a:*.example.com", "review", core.Deny},
		{"a2a:*", "review", core.Deny}, {"a2a:reviews.example.com:80", "review", core.Allow}, {"a2a:example.com", "review", core.Allow}, {"a2a:review", "review", core.Allow},
		{"a2a:[::1]", "check", core.Deny}, {"a2a:[0:0::1]:9000", "check", core.Deny}, {"a2a:[::1]:443", "check", core.Allow},
		// no one can tell where that leads
		{"a2a:127.0.0.1", "odd", core.Deny}, {"a2a:*", "helper", core.Allow},
		{"http:reviews.example.com", "review", core.Allow}, {"mcp:reviews.example.com", "review", core.Allow}, {"a2a:tools.example.com", "refund", core.Allow},
	} {
		for _, short := range []string{"deny: ['" + tt.target + "']", "deny: [{target: '" + tt.target + "'}]", "deny: [{tool: '*', target: '" + tt.target + "'}]"} {
			if v := gateOf(t, reaching, agent.Layers{Policy: policy(t, short)}, tt.tool, `{}`); v.Effect != tt.want {
				t.Errorf("%s, %s: %+v", short, tt.tool, v)
			}
		}
	}
}

// TestADenyByTargetThatIsDeployedNowCountsForRunsOfBefore: the tool of the pinned version goes
// where the new version's rule says that nothing goes any more, by whatever name.
func TestADenyByTargetThatIsDeployedNowCountsForRunsOfBefore(t *testing.T) {
	now := parse(t, head+"permissions: {deny: ['http:api.pay.example.com']}\n")
	pinned := payTool("send_money", "POST", "https://api.pay.example.com/pay/{to}")
	if v := gateOf(t, pinned, agent.Layers{Deployed: &now}, "send_money", `{"to":"a"}`); v.Effect != core.Deny {
		t.Errorf("%+v", v)
	}
	if got := offered(layered(t, pinned, agent.Layers{Deployed: &now})); got != "" {
		t.Errorf("offered %q", got)
	}
	asks := parse(t, head+"tools: [{name: p, http: {url: 'https://api.pay.example.com'}, parameters: {type: object}}]\npermissions: {ask: ['http:api.pay.example.com']}\n")
	if v := gateOf(t, pinned, agent.Layers{Deployed: &asks}, "send_money", `{"to":"a"}`); v.Effect != core.Allow {
		t.Errorf("what the deployed version asks counts: %+v", v)
	}
}

func TestTargetsGoWithConditionsAndOtherRules(t *testing.T) {
	url := "https://api.pay.example.com/pay/{to}"
	for _, tt := range []struct {
		permissions string
		want        core.Effect
	}{
		{`{allow: ["*"], ask: ['http:api.pay.example.com(to == "mallory")']}`, core.Ask},
		{`{allow: ["*"], ask: ['http:api.pay.example.com(to == "anna")']}`, core.Allow},
		{`{ask: ["*"], allow: ['http:api.pay.example.com']}`, core.Allow}, // narrower
		{`{ask: ["http:*.example.com"], allow: ['http:POST api.pay.example.com']}`, core.Allow},
		{`{ask: ["http:POST api.pay.example.com"], allow: ['http:*.example.com']}`, core.Ask},
		// neither is narrower
		{`{ask: ["http:api.pay.example.com"], allow: ["pay"]}`, core.Ask},
		{`{ask: [{tool: pay, target: 'http:api.pay.example.com'}], allow: ["pay"]}`, core.Ask},
		{`{ask: ["pay"], allow: [{tool: pay, target: 'http:api.pay.example.com'}]}`, core.Allow},
		{`{default: deny, allow: ['http:api.pay.example.com/pay/*']}`, core.Allow},
		// only the server can tell
		{`{default: deny, allow: ['http:api.pay.example.com/PAY/*']}`, core.Deny},
		{`{default: allow, deny: [{tool: other, target: 'http:api.pay.example.com'}]}`, core.Allow},
	} {
		text := strings.Replace(payTool("pay", "POST", url), `{allow: ["*"]}`, tt.permissions, 1)
		if v := gateOf(t, text, agent.Layers{}, "pay", `{"to":"mallory"}`); v.Effect != tt.want {
			t.Errorf("%s: %+v", tt.permissions, v)
		}
	}
}

// TestTargetsOfAgentsElsewhereGoWithOtherRules as those of requests do.
func TestTargetsOfAgentsElsewhereGoWithOtherRules(t *testing.T) {
	const tool = head + "tools: [{name: review, a2a: {url: 'https://reviews.example.com/'}, input: '{draft}'}]\npermissions: "
	for _, tt := range []struct {
		permissions string
		want        core.Effect
	}{
		{`{allow: ["*"], ask: ['a2a:reviews.example.com(draft == "secret")']}`, core.Ask},
		{`{allow: ["*"], ask: ['a2a:reviews.example.com(draft == "plain")']}`, core.Allow},
		// narrower
		{`{ask: ["*"], allow: ['a2a:reviews.example.com']}`, core.Allow},
		{`{ask: ['a2a:*.example.com'], allow: ['a2a:reviews.example.com']}`, core.Allow},
		{`{ask: ['a2a:reviews.example.com'], allow: ['a2a:*.example.com']}`, core.Ask},
		{`{ask: ['a2a:*.example.com'], allow: ['a2a:reviews.example.com:443']}`, core.Allow},
		// neither is narrower
		{`{ask: ['a2a:reviews.example.com'], allow: [review]}`, core.Ask},
		{`{default: deny, allow: ['a2a:reviews.example.com']}`, core.Allow},
		{`{default: deny, allow: ['a2a:*']}`, core.Allow},
		{`{default: allow, block: [{tool: other, target: 'a2a:*'}]}`, core.Allow},
		{`{default: allow, block: ['a2a:*']}`, core.Block},
	} {
		if v := gateOf(t, tool+tt.permissions+"\n", agent.Layers{}, "review", `{"draft":"secret"}`); v.Effect != tt.want {
			t.Errorf("%s: %+v", tt.permissions, v)
		}
	}
	now := parse(t, head+"permissions: {deny: ['a2a:reviews.example.com']}\n")
	for name, layers := range map[string]agent.Layers{
		"the policy":               {Policy: policy(t, "deny: ['a2a:reviews.example.com']")},
		"the run":                  {Narrow: narrow(t, `{"deny":["a2a:reviews.example.com"]}`)},
		"the version deployed now": {Deployed: &now},
	} {
		if got := offered(layered(t, tool+"{allow: [review]}\n", layers)); got != "" {
			t.Errorf("%s: offered %q", name, got)
		}
	}
	_, err := agentfile.Parse("a.yaml", []byte(tool+"{ask: ['a2a:review.example.com']}\n"), noFiles)
	if err == nil || !strings.Contains(err.Error(), `no tool of the agent goes to the target "a2a:review.example.com"`) {
		t.Errorf("an ask about nothing: %v", err)
	}
}

func TestTargetsThatAreRefused(t *testing.T) {
	for rule, want := range map[string]string{
		"'http:'":                         "is no request; write http:HOST",
		"'http:https://a.example/'":       "is no request; write http:HOST",
		"'http:a.example/?x=1'":           "is no request; write http:HOST",
		"'http:POKE a.example'":           "one of the methods GET",
		"'http:post a.example'":           "is no request",
		"'http:a.example:0'":              `"a.example:0" in a target is not a host`,
		"'http:a.example:70000'":          "is not a host",
		"'http:b\u00fccher.example'":      "in plain ASCII",
		"'http:{host}.example'":           `"{host}.example" in a target is not a host`,
		"{target: 'smtp:a.example'}":      "is not a target; write http:METHOD HOST/PATH",
		"{target: 'pay'}":                 "is not a target",
		"{target: 5}":                     "target must be text",
		"'lambda:arn:aws:lambda:x:1:f:y'": "without the rest of its ARN",
		"'mcp:a b'":                       "is no MCP server",
		"'a2a:'":                          "is not the host of an agent; write a2a:HOST",
		"'a2a:https://a.example'":         "is not the host of an agent",
		"'a2a:a.example/v1'":              "without a scheme or a path",
		"'a2a:a.example:0'":               `"a.example:0" in a target is not a host`,
		"'command:'":                      "names nothing",
		"{tool: a, target: 'command:rm'}": "takes neither a tool nor conditions",
		"'command:rm(-rf *)'":             "takes neither a tool nor conditions",
	} {
		_, err := agentfile.Parse("a.yaml", []byte(withTool+"permissions:\n  deny:\n    - "+rule+"\n"), noFiles)
		if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:5: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
	for _, list := range []string{"ask", "allow", "block"} {
		_, err := agentfile.Parse("a.yaml", []byte(withTool+"permissions:\n  "+list+":\n    - 'command:rm'\n"), noFiles)
		if err == nil || !strings.Contains(err.Error(), `"command:rm" can only be denied; move the rule to deny`) {
			t.Errorf("%s: %v", list, err)
		}
	}
	_, err := agentfile.Parse("a.yaml", []byte(withTool+"permissions:\n  ask:\n    - 'http:api.example.com'\n"), noFiles)
	if err == nil || !strings.Contains(err.Error(), `no tool of the agent goes to the target "http:api.example.com"`) {
		t.Errorf("an ask about nothing: %v", err)
	}
}

// TestNoHostOfAToolCanBeWrittenSoThatARuleMissesIt: neither by an argument nor by letters that a
// resolver turns into others.
func TestNoHostOfAToolCanBeWrittenSoThatARuleMissesIt(t *testing.T) {
	for url, want := range map[string]string{"https://{to}.example.com/": "a placeholder can't choose the host", "https://b\u00fccher.example/{to}": "xn--bcher-kva.example",
		"https://api.pay.ex\u0430mple.com/{to}": "not plain ASCII", "https://api%2epay.example.com/{to}": "is not a host"} {
		if _, err := agentfile.Parse("a.yaml", []byte(payTool("pay", "POST", url)), noFiles); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestARedirectIsHeldToTheTargetsOfRules(t *testing.T) {
	text := payTool("look", "GET", "https://api.example.com/v1/{to}")
	for _, tt := range []struct{ policy, to, want string }{
		{"deny: [{target: 'http:api.pay.example.com', reason: not there}]", "https://API.pay.example.com.:443/x", "it redirected to API.pay.example.com.:443: not there"},
		{"block: ['http:api.pay.example.com']", "https://api.pay.example.com/x", "do not allow look"},
		{"deny: ['http:api.example.com/admin/*']", "https://api.example.com/%61dmin/x", "do not allow look"},
		{"deny: ['http:api.example.com/admin/*']", "https://api.example.com/v1/%2e%2e/admin/x", "do not allow look"},
		{"deny: ['http:api.example.com/admin/*']", "https://api.example.com/v1/..;x/admin/x", "do not allow look"},
		{"deny: ['http:api.example.com/admin/*']", "https://api.example.com/v1/..x/a.b", ""},
		{"deny: ['http:xn--bcher-kva.example']", "https://b\u00fccher.example/", "do not allow look"},
		{"deny: ['http:POST api.pay.example.com']", "https://api.pay.example.com/x", ""},
		{"deny: ['http:api.pay.example.com']", "https://other.example.com/x", ""},
		{"deny: [{tool: pay, target: 'http:api.pay.example.com'}]", "https://api.pay.example.com/x", ""},
		{"ask: ['http:api.pay.example.com']", "https://api.pay.example.com/x", "needs a separate approval"},
		// it asked about the call
		{"ask: ['http:*.example.com']", "https://api.pay.example.com/x", ""},
		{"deny: [pay]", "https://api.pay.example.com/x", ""},
	} {
		to, err := url.Parse(tt.to)
		if err != nil {
			t.Fatal(err)
		}
		r := layered(t, text, agent.Layers{Policy: policy(t, tt.policy)})
		err = r.Redirect(core.ToolCall{Name: "look", Arguments: json.RawMessage(`{"to":"a"}`)}, "GET", to)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, to %s: %v, want %q", tt.policy, tt.to, err, tt.want)
		}
	}
}

func TestACommandIsDeniedByAnyLayer(t *testing.T) {
	text := func(permissions string) string {
		return withTool + "permissions: {allow: [a]" + permissions + "}\neffects: [{name: e, tools: [a], command: [/usr/bin/git, push], workspace: w}]\n"
	}
	now := parse(t, text(", deny: ['command:git']"))
	for name, layers := range map[string]agent.Layers{
		"the policy":               {Policy: policy(t, "deny: [{target: 'command:*', reason: 'not allow'}]")},
		"the policy, by the path":  {Policy: policy(t, "deny: ['command:/usr/*']")},
		"the run":                  {Narrow: narrow(t, `{"deny":["command:git"]}`)},
		"the version deployed now": {Deployed: &now},
	} {
		d := parse(t, text(""))
		if got := layered(t, text(""), layers).RefusedCommand(d.Effects[0].Command[0]); !strings.Contains(got, "not allow") {
			t.Errorf("%s: %q", name, got)
		}
		if v := gateOf(t, text(""), layers, "a", `{}`); v.Effect != core.Allow {
			t.Errorf("%s: the call itself is judged %+v", name, v)
		}
	}
	d := parse(t, text(""))
	if got := layered(t, text(""), agent.Layers{Policy: policy(t, "deny: ['command:gitk', '*']")}).RefusedCommand(d.Effects[0].Command[0]); got != "" {
		t.Errorf("a rule about something else: %q", got)
	}
}

// TestATargetThatCannotBeReadRefuses: a stored rule is not read again before it counts.
func TestATargetThatCannotBeReadRefuses(t *testing.T) {
	broken := agent.Permissions{Deny: []agent.Rule{{Tool: "*", Target: "gopher:x"}}}
	if v := gateOf(t, payTool("pay", "POST", "https://a.example/{to}"), agent.Layers{Policy: &broken}, "pay", `{"to":"a"}`); v.Effect != core.Deny {
		t.Errorf("%+v", v)
	}
	d := parse(t, payTool("pay", "POST", "https://a.example/{to}"))
	d.Permissions = agent.Permissions{Default: core.Deny, Allow: []agent.Rule{{Tool: "*", Target: "gopher:x"}}}
	r, err := d.Rules(nil, agent.Layers{})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Gate(core.ToolCall{Name: "pay", Arguments: json.RawMessage(`{"to":"a"}`)}, core.State{}); v.Effect != core.Deny {
		t.Errorf("an allow that cannot be read: %+v", v)
	}
}
