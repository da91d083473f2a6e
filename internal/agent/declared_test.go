package agent_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// forwarding are the kinds of tools whose arguments leave the program, for somebody else to read.
var forwarding = map[string]string{
	"http":   "http: {method: POST, url: 'https://a/pay'}",
	"lambda": "lambda: {function: pay}",
	"mcp":    "mcp: {server: s}",
}

func forwardingRules(t *testing.T, body, parameters string) *agent.Rules {
	t.Helper()
	servers := ""
	if strings.HasPrefix(body, "mcp") {
		servers = "servers: {s: {url: 'https://a/mcp'}}\n"
	}
	rules, err := parse(t, head+servers+"tools: [{name: pay, "+body+", parameters: "+parameters+"}]\n").Rules(nil, agent.Layers{})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

const (
	payment = "{type: object, properties: {amountCents: {type: integer}, order: {type: string}}}"
	nesting = "{type: object, properties: {order: {type: object, properties: {id: {}}}, any: {type: object}, list: {type: array, items: {properties: {id: {}}}}, open: {type: object, additionalProperties: true, properties: {id: {}}}}}"
	joined  = "{type: object, allOf: [{properties: {a: {properties: {x: {}}}}}, {$ref: '#/$defs/more'}], $defs: {more: {properties: {a: {properties: {y: {}}}, b: {}}}}}"
	either  = "{type: object, properties: {kind: {}}, oneOf: [{required: [card], properties: {card: {}}}, {required: [iban], properties: {iban: {}}}], if: {properties: {kind: {const: 1}}}, then: {properties: {note: {}}}, dependentSchemas: {card: {properties: {cvc: {}}}}}"
	tree    = "{type: object, properties: {name: {}, children: {type: array, items: {$ref: '#'}}}}"
	pattern = "{type: object, patternProperties: {'^x-': {type: object, properties: {v: {}}}}}"
)

func TestUndeclaredArgumentsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name, parameters, args string
		want                   string // empty: fits
	}{
		{"all declared", payment, `{"amountCents":1,"order":"A-1"}`, ""},
		{"an undeclared one", payment, `{"amountCents":1,"override":true}`, `unknown "override"; this tool takes only "amountCents", "order"`},
		{"one that is like a declared one", payment, `{"amountcents":1}`, `unknown "amountcents"; write it as "amountCents"`},
		{"no properties: it takes none", "{type: object}", `{"a":1}`, `unknown "a"; this tool takes none`},
		{"propertyNames declares nothing", "{type: object, propertyNames: {pattern: '^a'}}", `{"a":1}`, `unknown "a"`},
		{"required declares", "{type: object, required: [a]}", `{"a":1}`, ""},
		{"additionalProperties: true", "{type: object, additionalProperties: true, properties: {a: {}}}", `{"a":1,"b":{"c":{}}}`, ""},
		{"additionalProperties: a schema", "{type: object, additionalProperties: {type: object, properties: {x: {}}}}", `{"a":{"x":1}}`, ""},
		{"inside of what additionalProperties describes", "{type: object, additionalProperties: {type: object, properties: {x: {}}}}", `{"a":{"y":1}}`, `argument "a": unknown "y"; it takes only "x"`},
		{"additionalProperties: false", "{type: object, additionalProperties: false, properties: {a: {}}}", `{"b":1}`, `unknown "b"`},
		{"unevaluatedProperties: true", "{type: object, unevaluatedProperties: true, properties: {a: {}}}", `{"b":1}`, ""},
		{"nested", nesting, `{"order":{"id":1,"override":1}}`, `argument "order": unknown "override"; it takes only "id"`},
		{"in a list", nesting, `{"list":[{"id":1},{"di":1}]}`, `argument "list[1]": unknown "di"`},
		{"nested and free", nesting, `{"any":{"a":{"b":1}}}`, ""},
		{"nested and open", nesting, `{"open":{"a":{"b":1}}}`, ""},
		{"what several parts declare", joined, `{"a":{"x":1,"y":2},"b":{"free":1}}`, ""},
		{"what no part declares", joined, `{"a":{"z":1}}`, `argument "a": unknown "z"; it takes only "x", "y"`},
		{"what one of several declares", either, `{"kind":1,"card":1,"cvc":2,"note":3}`, ""},
		{"what none of several declares", either, `{"card":1,"iba":1}`, `unknown "iba"`},
		{"a schema that refers to itself", tree, `{"children":[{"children":[{"name":1}]}]}`, ""},
		{"deep in a schema that refers to itself", tree, `{"children":[{"children":[{"nam":1}]}]}`, `argument "children[0].children[0]": unknown "nam"`},
		{"a pattern", pattern, `{"x-a":{"v":1}}`, ""},
		{"inside of what a pattern describes", pattern, `{"x-a":{"w":1}}`, `argument "x-a": unknown "w"`},
		{"beside a pattern", pattern, `{"y":1}`, `unknown "y"`},
	} {
		for kind, body := range forwarding {
			t.Run(tt.name+", "+kind, func(t *testing.T) {
				err := forwardingRules(t, body, tt.parameters).Check(core.ToolCall{Name: "pay", Arguments: rawJSON(tt.args)})
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("%v; want %q", err, tt.want)
				}
			})
		}
	}
	for _, body := range []string{"client: true", "recorded: [{result: 1}]"} {
		if err := forwardingRules(t, body, payment).Check(core.ToolCall{Name: "pay", Arguments: rawJSON(`{"more":1}`)}); err != nil {
			t.Errorf("%s goes by JSON Schema alone: %v", body, err)
		}
	}
}

// Of two names that some service takes for one, rules look at the one and the service may take the
// other.
func TestNamesThatAServiceMayTakeForOneAreRefused(t *testing.T) {
	const open = "{type: object, additionalProperties: true, properties: {amount: {}}}"
	bodies := []string{"client: true", "recorded: [{result: 1}]"}
	for _, body := range forwarding {
		bodies = append(bodies, body)
	}
	for _, tt := range []struct{ name, args, want string }{
		{"other case", `{"amount":1,"Amount":2}`, "differ only by case"},
		{"other case, nested", `{"x":[{"a":1,"A":2}]}`, "differ only by case"},
		{"composed and decomposed", `{"caf\u00e9":1,"cafe\u0301":2}`, "Unicode normalization"},
		{"fullwidth letters", `{"amount":1,"\uff41mount":2}`, "Unicode normalization"},
		{"fullwidth capitals", `{"amount":1,"\uff21mount":2}`, "Unicode normalization"},
		{"a ligature", `{"final":1,"\ufb01nal":2}`, "Unicode normalization"},
		{"a superscript", `{"m2":1,"m\u00b2":2}`, "Unicode normalization"},
		{"mathematical letters", `{"amount":1,"\ud835\udc1amount":2}`, "Unicode normalization"},
		{"the angstrom sign", `{"x":{"\u212b":1,"\u00e5":2}}`, "differ only by case"},
		{"like a declared one, alone", `{"AMOUNT":1}`, `write it as "amount"`},
		{"normalized like a declared one, alone", `{"\uff41mount":1}`, `unknown "\uff41mount"; write it as "amount"`},
		{"twice", `{"x":{"a":1,"a":2}}`, `"a" is given twice`},
		{"half a character", `{"x":"Ann\ud800"}`, "half a character"},
	} {
		for _, body := range bodies {
			t.Run(tt.name+", "+body, func(t *testing.T) {
				err := forwardingRules(t, body, open).Check(core.ToolCall{Name: "pay", Arguments: rawJSON(tt.args)})
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v; want %q", err, tt.want)
				}
			})
		}
	}
	if err := forwardingRules(t, bodies[0], open).Check(core.ToolCall{Name: "pay", Arguments: rawJSON(`{"amount":1,"été":1,"ete":2,"日本":3}`)}); err != nil {
		t.Errorf("names that differ otherwise: %v", err)
	}
}
