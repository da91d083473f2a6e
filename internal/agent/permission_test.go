package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// command is a call of a shell.
func command(text string) core.ToolCall {
	return core.ToolCall{ID: "c1", Name: "Bash", Arguments: core.Encode(map[string]string{"command": text})}
}

// shell is an agent with a shell and a few other tools under these permissions.
func shell(permissions string) string {
	return head + "tools: [{name: Bash, go: bash}, {name: pay, go: pay}, {name: mcp__safe__read, go: read}, {name: mcp__dangerous__execute, go: x}]\n" +
		"permissions: " + permissions + "\n"
}

var shellFunctions = map[string]core.ToolSpec{"bash": {}, "pay": {}, "read": {}, "x": {}}

func TestRulesOnArgumentsOfCases(t *testing.T) {
	tests := []struct {
		name, permissions string
		call              core.ToolCall
		want              core.Effect
	}{
		{"C206 allow Bash, deny Bash(rm *): rm -rf /", `{allow: [Bash], deny: ["Bash(rm *)"]}`, command("rm -rf /"), core.Deny},
		{"C206 allow Bash, deny Bash(rm *): ls -la", `{allow: [Bash], deny: ["Bash(rm *)"]}`, command("ls -la"), core.Allow},
		{"C207 allow npm by glob: npm install", `{allow: ['Bash(command ~ "npm *")']}`, command("npm install"), core.Allow},
		{"C207 allow npm by glob: cargo build is asked", `{allow: ['Bash(command ~ "npm *")']}`, command("cargo build"), core.Ask},
		{"C208 deny by regex", `{allow: [Bash], deny: ['Bash(command =~ "(?i)eval|exec")']}`, command("EVAL malicious"), core.Deny},
		{"C208 and not what it does not match", `{allow: [Bash], deny: ['Bash(command =~ "(?i)eval|exec")']}`, command("ls"), core.Allow},
		{"C210 deny by pattern on the name", `{deny: ['mcp__dangerous__*']}`, core.ToolCall{Name: "mcp__dangerous__execute"}, core.Deny},
		{"C210 and ask for the rest", `{deny: ['mcp__dangerous__*']}`, core.ToolCall{Name: "mcp__safe__read"}, core.Ask},
		{"C213 no rule: ask", `{}`, command("ls"), core.Ask},
		{"C214 a narrow ask beats a broad allow", `{allow: [Bash], ask: ["Bash(git push *)"]}`, command("git push origin"), core.Ask},
		{"C214 and leaves the rest allowed", `{allow: [Bash], ask: ["Bash(git push *)"]}`, command("git pull"), core.Allow},
		{"a block beats a deny", `{block: ["Bash(rm *)"], deny: [Bash]}`, command("rm x"), core.Block},
		{"a block beats an allow by name", `{block: ["*"], allow: [Bash]}`, command("rm x"), core.Block},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := rulesOf(t, shell(tt.permissions), nil, nil)
			if got := r.Gate(tt.call, core.State{}); got.Effect != tt.want {
				t.Errorf("got %v, want %v", got.Effect, tt.want)
			}
		})
	}
}

// TestConditions holds one condition to one call. A rule that denies and one that allows tell the
// three answers apart.
func TestConditions(t *testing.T) {
	const yes, no, untold = "yes", "no", "cannot be told"
	tests := []struct{ name, when, args, want string }{
		{"not_equals, another text", `{argument: x, not_equals: a}`, `{"x":"b"}`, yes},
		{"not_equals, the same text", `{argument: x, not_equals: a}`, `{"x":"a"}`, no},
		{"not_equals, a number for a text", `{argument: x, not_equals: a}`, `{"x":1}`, untold},
		{"not_equals, missing", `{argument: x, not_equals: a}`, `{}`, untold},
		{"at_least, the bound itself", `{argument: x, at_least: 5}`, `{"x":5.0}`, yes},
		{"at_least, just below", `{argument: x, at_least: 5}`, `{"x":4.999999999999999999999}`, no},
		{"at_most, the bound itself", `{argument: x, at_most: 5}`, `{"x":5e0}`, yes},
		{"at_most, just above", `{argument: x, at_most: 9007199254740992}`, `{"x":9007199254740993}`, no},
		{"bounds together", `{argument: x, at_least: 5, below: 7}`, `{"x":7}`, no},
		{"glob", `{argument: x, glob: "a*c"}`, `{"x":"a\nbc"}`, yes},
		{"glob matches the whole text", `{argument: x, glob: "b*"}`, `{"x":"abc"}`, no},
		{"glob on a number", `{argument: x, glob: "1*"}`, `{"x":12}`, untold},
		{"not_glob", `{argument: x, not_glob: "a*"}`, `{"x":"b"}`, yes},
		{"not_glob on a list", `{argument: x, not_glob: "a*"}`, `{"x":["b"]}`, untold},
		{"regex anywhere in the text", `{argument: x, regex: 'b\d'}`, `{"x":"ab1c"}`, yes},
		{"regex without a match", `{argument: x, regex: '^b'}`, `{"x":"ab"}`, no},
		{"not_regex", `{argument: x, not_regex: '^b'}`, `{"x":"ab"}`, yes},
		{"in, one of them", `{argument: x, in: [a, 5, true]}`, `{"x":5.0}`, yes},
		{"in, none of them", `{argument: x, in: [a, 5, true]}`, `{"x":"b"}`, no},
		{"in, a type that none has", `{argument: x, in: [a, b]}`, `{"x":5}`, untold},
		{"exists", `{argument: x.y, exists: true}`, `{"x":{"y":null}}`, yes},
		{"exists, missing", `{argument: x.y, exists: true}`, `{"x":"y"}`, no},
		{"exists: false, missing", `{argument: x, exists: false}`, `{}`, yes},
		{"exists: false, there", `{argument: x, exists: false}`, `{"x":1}`, no},
		{"exists, arguments that are no object", `{argument: x, exists: false}`, `[]`, untold},
		{"a place in a list", `{argument: x.1.y, equals: 2}`, `{"x":[{"y":1},{"y":2}]}`, yes},
		{"a place the list does not have", `{argument: x.2.y, equals: 2}`, `{"x":[{"y":1}]}`, untold},
		{"digits as a member", `{argument: x.1, equals: 2}`, `{"x":{"1":2}}`, yes},
		{"a list, all hold", `[{argument: x, above: 1}, {argument: y, equals: a}]`, `{"x":2,"y":"a"}`, yes},
		{"a list, one does not", `[{argument: x, above: 1}, {argument: y, equals: a}]`, `{"x":2,"y":"b"}`, no},
		{"a list, one cannot be told", `[{argument: x, above: 1}, {argument: y, equals: a}]`, `{"x":2}`, untold},
		{"a list, one does not and one cannot be told", `[{argument: x, above: 1}, {argument: y, equals: a}]`, `{"x":0}`, no},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			denies := gate(t, "{default: allow, deny: [{tool: pay, when: "+tt.when+"}]}", "pay", tt.args).Effect == core.Deny
			allows := gate(t, "{default: deny, allow: [{tool: pay, when: "+tt.when+"}]}", "pay", tt.args).Effect == core.Allow
			got := map[[2]bool]string{{true, true}: yes, {false, false}: no, {true, false}: untold}[[2]bool{denies, allows}]
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestC215AnExpressionThatDoesNotCompile(t *testing.T) {
	t.Run("C215 is refused on load, with its line", func(t *testing.T) {
		for _, rule := range []string{"'Bash(command =~ \"(\")'", "{tool: Bash, when: {argument: command, regex: '('}}", "{tool: Bash, when: {argument: command, not_regex: '('}}"} {
			_, err := agentfile.Parse("a.yaml", []byte(withTool+"permissions:\n  deny:\n    - "+rule+"\n"), noFiles)
			if err == nil || !strings.Contains(err.Error(), "a.yaml:5: not a regular expression") {
				t.Errorf("%s: error %v", rule, err)
			}
		}
	})
	for _, member := range []string{"regex", "not_regex"} {
		t.Run("C215 stored all the same it cannot be told: "+member, func(t *testing.T) {
			rules := `[{"tool":"pay","when":{"argument":"x","` + member + `":"("}}]`
			for list, want := range map[string]core.Effect{"block": core.Block, "deny": core.Deny, "ask": core.Ask, "allow": core.Deny} {
				fallback := "allow"
				if list == "allow" {
					fallback = "deny"
				}
				d, err := agent.Decode([]byte(`{"name":"a","model":{"provider":"scripted"},"tools":[{"name":"pay","go":"pay"}],"permissions":{"default":"` + fallback + `","` + list + `":` + rules + `}}`))
				if err != nil {
					t.Fatal(err)
				}
				r, err := d.Rules(nil, agent.Layers{})
				if err != nil {
					t.Fatal(err)
				}
				if got := r.Gate(core.ToolCall{Name: "pay", Arguments: rawJSON(`{"x":"y"}`)}, core.State{}); got.Effect != want {
					t.Errorf("%s: got %v, want %v", list, got.Effect, want)
				}
			}
		})
	}
}

func TestShorthandIsTheLongForm(t *testing.T) {
	tests := []struct{ short, long string }{
		{`'Bash(command ~ "npm *")'`, `{tool: Bash, when: {argument: command, glob: 'npm *'}}`},
		{`'Bash(command !~ "npm *")'`, `{tool: Bash, when: {argument: command, not_glob: 'npm *'}}`},
		{`'Bash(command =~ "^a\d\"$")'`, `{tool: Bash, when: {argument: command, regex: '^a\d"$'}}`},
		{`'Bash(command !=~ "\\")'`, `{tool: Bash, when: {argument: command, not_regex: '\\'}}`},
		{`'mcp__*(a.0.b == 1.50)'`, `{tool: 'mcp__*', when: {argument: a.0.b, equals: 1.50}}`},
		{`'Bash(a != true)'`, `{tool: Bash, when: {argument: a, not_equals: true}}`},
		{`'Bash(a == "1")'`, `{tool: Bash, when: {argument: a, equals: "1"}}`},
		{`'Bash(a >= -1 && a < 1e3 && b == " && ")'`,
			`{tool: Bash, when: [{argument: a, at_least: -1}, {argument: a, below: 1e3}, {argument: b, equals: " && "}]}`},
		{`'Bash(a > 1 && a <= 2)'`, `{tool: Bash, when: [{argument: a, above: 1}, {argument: a, at_most: 2}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.short, func(t *testing.T) {
			short := parse(t, head+"permissions: {deny: ["+tt.short+"]}\n")
			long := parse(t, head+"permissions: {deny: ["+tt.long+"]}\n")
			if short.Digest() != long.Digest() {
				t.Errorf("got\n%s\nwant\n%s", short.Encode(), long.Encode())
			}
		})
	}
}

func TestAGlobInParenthesesIsOnTheOnlyText(t *testing.T) {
	const denies, allows = `{default: allow, deny: ["pay(rm *)"]}`, `{default: deny, allow: ["pay(rm *)"]}`
	tests := []struct {
		name, args   string
		deny, permit core.Effect
	}{
		{"matches", `{"n":1,"x":"rm a"}`, core.Deny, core.Allow},
		{"does not", `{"n":1,"x":"ls"}`, core.Allow, core.Deny},
		{"two texts: cannot be told", `{"x":"ls","y":"ls"}`, core.Deny, core.Deny},
		{"no text: cannot be told", `{"x":1}`, core.Deny, core.Deny},
		{"a text further in does not count", `{"x":{"y":"rm a"}}`, core.Deny, core.Deny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := gate(t, denies, "pay", tt.args).Effect; got != tt.deny {
				t.Errorf("deny: got %v, want %v", got, tt.deny)
			}
			if got := gate(t, allows, "pay", tt.args).Effect; got != tt.permit {
				t.Errorf("allow: got %v, want %v", got, tt.permit)
			}
		})
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	tests := []struct{ rule, want string }{
		{`'Bash()'`, "are empty; remove them"},
		{`'(rm *)'`, `"" is not a tool name or pattern`},
		{`'Bash(rm *'`, "is not a tool name or pattern"},
		{`'Bash(a == b)'`, "text in double quotes"},
		{`'Bash(a ~ 5)'`, "a ~ needs text"},
		{`'Bash(a ~ "")'`, "a ~ needs text"},
		{`'Bash(a < "5")'`, "a < needs a number"},
		{`'Bash(a == 1.2.3)'`, "is not a number"},
		{`'Bash(a == 1 or b == 2)'`, "join comparisons with &&"},
		{`'Bash(a == 1 && b)'`, "is not a comparison"},
		{`5`, "a rule is a number"},
		{`{tool: a, when: []}`, "when is an empty list"},
		{`{tool: a, when: {argument: x, equals: 1, glob: x}}`, "when needs one test"},
		{`{tool: a, when: {argument: x, above: 1, exists: true}}`, "when needs one test"},
		{`{tool: a, when: [{argument: x, equals: 1}, {argument: x}]}`, "when needs one test"},
		{`{tool: a, when: {argument: x, in: []}}`, "in is an empty list"},
		{`{tool: a, when: {argument: x, in: [[1]]}}`, "in must be text, a number, true or false"},
		{`{tool: a, when: {argument: x, glob: ''}}`, "glob is empty"},
		{`{tool: a, when: {argument: x, glob: 5}}`, "glob must be text"},
		{`{tool: a, when: {argument: x, exists: maybe}}`, "exists must be true or false"},
		{`{tool: a, grant: false}`, "grant belongs to rules that ask"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			_, err := agentfile.Parse("a.yaml", []byte(withTool+"permissions:\n  deny:\n    - "+tt.rule+"\n"), noFiles)
			if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:5: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want a.yaml:5 and %s", err, tt.want)
			}
		})
	}
}

func TestGrantNamesToolAndWhatAsked(t *testing.T) {
	const limit, other = "{tool: pay, when: {argument: amount, above: 100}}", "{tool: pay, when: {argument: to, not_equals: me}}"
	grant := func(permissions, args string) string { return gate(t, permissions, "pay", args).Grant }
	both := "{default: allow, ask: [" + limit + ", " + other + "]}"
	first, again := grant(both, `{"amount":200,"to":"me"}`), grant(both, `{"amount":300,"to":"me"}`)
	if first == "" || first != again || !strings.HasPrefix(first, "pay:") || len(first) > 90 {
		t.Errorf("grants %q and %q of one rule", first, again)
	}
	if got := grant(both, `{"amount":200,"to":"you"}`); got == first {
		t.Error("a call that a second rule asks about as well has the grant of the first alone")
	}
	if byDefault := grant("{}", `{}`); byDefault == "" || byDefault == first || byDefault != grant("{deny: [other]}", `{"x":1}`) {
		t.Errorf("grant of the default %q", byDefault)
	}
	if gate(t, "{}", "bash", `{}`).Grant == grant("{}", `{}`) {
		t.Error("two tools have one grant")
	}
	if got := grant("{ask: [{tool: pay, grant: false}]}", `{}`); got != "" {
		t.Errorf("grant: false, and the grant is %q", got)
	}
	if got := grant("{ask: ['*', {tool: pay, grant: false}]}", `{}`); got != "" {
		t.Errorf("one of two rules says grant: false, and the grant is %q", got)
	}
	if v := gate(t, "{allow: [pay]}", "pay", `{}`); v.Grant != "" {
		t.Errorf("a call that is allowed has the grant %q", v.Grant)
	}
}

func TestPermissionOfBlockAndConditions(t *testing.T) {
	d := parse(t, head+"finish: true\ntools: [{name: a, go: a}, {name: b, go: a}, {name: c, go: a}, {name: d, go: a}, {name: e, go: a}]\n"+
		"permissions: {block: [a, {tool: c, when: {argument: x, equals: 1}}, 'd(x)'], deny: [a, b, d], ask: ['*'], allow: [e]}\n")
	for tool, want := range map[string]string{"a": "block", "b": "deny", "c": "conditional", "d": "deny", "e": "allow", "finish": "allow"} {
		if got := d.Permission(tool); got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
}

func TestOldFilesKeepTheirDigest(t *testing.T) {
	const before = "sha256:38ef09c577bb49fc469a23b8d752f62b1bbbaeb8fc769b8498a7ed9be921e6ba"
	if got := parse(t, complete).Digest(); got != before {
		t.Errorf("%s, and it was %s before there was more to say", got, before)
	}
	defaults := complete + "executor: sequential\nwhile_waiting: wait\nyield_when: never\nstop: []\nbudget: {}\ndeadlines: {}\nfinish: false\nhooks: []\neffects: []\n"
	if got := parse(t, defaults).Digest(); got != before {
		t.Errorf("%s once the defaults are said, want %s", got, before)
	}
	const unbounded = "sha256:5f2c27c74aec1133dceed11b241529055efecdf881404e005c5dc642dcbee2ad"
	d := parse(t, complete)
	d.Stop = nil
	if got := d.Digest(); got != unbounded {
		t.Errorf("%s, and a version from before max_rounds had a default is %s", got, unbounded)
	}
}

func FuzzShorthand(f *testing.F) {
	for _, text := range []string{"Bash", "Bash(rm *)", `Bash(a ~ "b" && c.0 >= 1e3)`, `a(b =~ "(")`, `a(b == "\"")`, "a(", "a()"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := fmt.Sprintf("%spermissions: {deny: [%s]}\n", head, core.Encode(text))
		d, err := agentfile.Parse("a.yaml", []byte(file), noFiles)
		if err != nil {
			return
		}
		if again, err := agent.Decode(d.Encode()); err != nil || again.Digest() != d.Digest() {
			t.Fatalf("%q does not survive storage: %v", text, err)
		}
		if strings.Contains(text, "(") && len(d.Permissions.Deny[0].When) == 0 {
			t.Fatalf("%q lost its condition", text)
		}
	})
}
