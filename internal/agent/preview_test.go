package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// dns has a tool whose preview is given, and tools to read with.
func dns(preview string) string {
	return head + `tools:
  - {name: get_dns, http: {url: "https://dns.example.com/{name}"}, parameters: {type: object, properties: {name: {type: string}}, required: [name]}}
  - {name: asked, recorded: [{result: 1}], read_only: true}
  - {name: refused, recorded: [{result: 1}], read_only: true}
  - {name: caller, client: true, read_only: true}
  - {name: changes, recorded: [{result: 1}]}
  - name: set_dns
    recorded: [{result: done}]
    parameters: {type: object, properties: {name: {type: string}, ip: {type: string}, ttl: {type: number}, old: {type: object}}}
    preview: ` + preview + `
permissions:
  default: allow
  deny: [refused]
  ask: [set_dns, {tool: asked, when: {argument: a, equals: 1}}]
`
}

func TestAPreviewOnlyReads(t *testing.T) {
	for preview, want := range map[string]string{
		`{tool: changes}`:     `"changes" may change something`,
		`{tool: asked}`:       `"asked" needs an approval itself`,
		`{tool: refused}`:     `"refused" is refused by a rule`,
		`{tool: caller}`:      `"caller" is run by the caller`,
		`{tool: set_dns}`:     `"set_dns" cannot be its own preview`,
		`{tool: nothing}`:     `the agent has no tool "nothing"`,
		`{arguments: {a: b}}`: `preview needs a tool`,
		`{tool: get_dns, arguments: {nam: "{name}"}}`:            `"get_dns" has no argument "nam"; it has name`,
		`{tool: get_dns, arguments: {name: "{host}"}}`:           `set_dns has no argument {host}`,
		`{tool: get_dns, arguments: {name: "{secret:DNS_KEY}"}}`: `it cannot hold a secret`,
		`"{name} -> {host}"`:                                     `set_dns has no argument {host}`,
		`"{secret:DNS_KEY}"`:                                     `it cannot hold a secret`,
		`"{name"`:                                                `a brace belongs to no placeholder`,
		`" "`:                                                    `preview is empty`,
		`1`:                                                      `preview must be text`,
		`{tool: get_dns, template: x}`:                           `template`,
	} {
		if _, err := agentfile.Parse("a.yaml", []byte(dns(preview)), noFiles); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", preview, err, want)
		}
	}
	for _, preview := range []string{`"{name}: {old.ip} -> {ip}"`, `{tool: get_dns, arguments: {name: "{name}"}}`} {
		if _, err := agentfile.Parse("a.yaml", []byte(dns(preview)), noFiles); err != nil {
			t.Errorf("%s: %v", preview, err)
		}
	}
}

func TestWhatAPreviewIsMadeOf(t *testing.T) {
	const arguments = `{"ip":"192.0.2.99","name":"www","old":{"ip":"192.0.2.20"},"ttl":1.50}`
	for _, tt := range []struct{ preview, text, read string }{
		{`"{old.ip} -> {ip}"`, "192.0.2.20 -> 192.0.2.99", ""},
		{`"{{{name}}} {ttl} {old}"`, `{www} 1.50 {"ip":"192.0.2.20"}`, ""},
		{`"{old.nothing} {name.x}"`, "(not given) (not given)", ""},
		{`{tool: get_dns, arguments: {name: "{name}"}}`, "", `{"name":"www"}`},
		{`{tool: get_dns, arguments: {name: "{ttl}"}}`, "", `{"name":1.50}`},
		{`{tool: get_dns, arguments: {name: "a {ttl} {ip}"}}`, "", `{"name":"a 1.50 192.0.2.99"}`},
		{`{tool: get_dns, arguments: {name: "{old.gone}"}}`, "", `{}`},
	} {
		d, err := agentfile.Parse("a.yaml", []byte(dns(tt.preview)), noFiles)
		if err != nil {
			t.Fatal(err)
		}
		rules, err := d.Rules(nil, agent.Layers{})
		if err != nil {
			t.Fatal(err)
		}
		got := rules.Preview(core.ToolCall{Name: "set_dns", Arguments: json.RawMessage(arguments)})
		switch {
		case tt.read == "" && (got.Read != nil || got.Text != tt.text):
			t.Errorf("%s: %+v, want %s", tt.preview, got, tt.text)
		case tt.read != "" && (got.Read == nil || got.Read.Name != "get_dns" || string(got.Read.Arguments) != tt.read):
			t.Errorf("%s: %+v, want %s", tt.preview, got, tt.read)
		}
		if rules.Preview(core.ToolCall{Name: "get_dns"}) != nil {
			t.Error("a tool without a preview has one")
		}
	}
}
