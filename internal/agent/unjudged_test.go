package agent_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
)

func TestArgumentsThatNoRuleIsAskedAboutAreNamed(t *testing.T) {
	const (
		open   = "{type: object, additionalProperties: true, properties: {amount: {}, order: {type: object, properties: {id: {}}}}}"
		inside = "{type: object, properties: {amount: {}, order: {type: object, additionalProperties: {type: string}, properties: {id: {}}}}}"
		list   = "{type: object, properties: {amount: {}, orders: {type: array, prefixItems: [{type: object, additionalProperties: true}]}}}"
		named  = "{type: object, properties: {amount: {}}, patternProperties: {'^x-': {type: object, additionalProperties: true}}}"
		above  = "permissions: {ask: [{tool: pay, when: {argument: amount, above: 1}}]}\n"
	)
	policy, err := agentfile.ParsePolicy("p.yaml", []byte("deny: [{tool: 'p*', when: {argument: order.id, equals: x}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, body, parameters, permissions string
		policy                              *agent.Permissions
		want                                string // empty: no note
	}{
		{"open at the top", "lambda: {function: pay}", open, above, nil, `tool "pay" sends its service members that its parameters don't name (additionalProperties, at the top)`},
		{"what the rules decide by", "lambda: {function: pay}", open, above, &policy, "but rules check only amount, order.id;"},
		{"open inside", "lambda: {function: pay}", inside, above, nil, "(additionalProperties, order)"},
		{"open in a list", "lambda: {function: pay}", list, above, nil, "(additionalProperties, orders[])"},
		{"open behind a pattern", "lambda: {function: pay}", named, above, nil, "(additionalProperties, *)"},
		{"only the policy decides by one", "http: {method: POST, url: 'https://a/'}", open, "", &policy, "but rules check only order.id;"},
		{"another agent reads them", "agent: payer", open, above, nil, `tool "pay" sends its agent members that its parameters don't name (additionalProperties, at the top), but rules check only amount; name every member that the agent reads`},
		{"an agent elsewhere reads them", "a2a: {url: 'https://a/'}", open, above, nil, `tool "pay" sends its agent members that its parameters don't name (additionalProperties, at the top), but rules check only amount; name every member that the agent reads`},
		{"no rule decides by one", "lambda: {function: pay}", open, "permissions: {ask: [pay]}\n", nil, ""},
		{"closed", "lambda: {function: pay}", payment, above, nil, ""},
		{"nobody else reads them", "client: true", open, "permissions: {deny: [{tool: pay, when: {argument: amount, above: 1}}]}\n", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			notes := parse(t, head+tt.permissions+"tools: [{name: pay, "+tt.body+", parameters: "+tt.parameters+"}]\n").Unjudged(tt.policy)
			if (tt.want == "") != (len(notes) == 0) || len(notes) > 1 || len(notes) == 1 && !strings.Contains(notes[0], tt.want) {
				t.Errorf("notes %q, want %q", notes, tt.want)
			}
		})
	}
}
