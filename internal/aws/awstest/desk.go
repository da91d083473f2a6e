// Package awstest is what tests of the functions of a stack share.
package awstest

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// Desk is an agent that asks a person before it refunds an order. A test adds its own keys.
const Desk = `name: desk
model:
  provider: scripted
  turns:
    - given: {step: 1}
      calls: [{tool: pay, arguments: {order: 7}}]
    - say: Done.
tools:
  - name: pay
    description: Refunds an order.
    parameters: {type: object, properties: {order: {type: integer}}}
    recorded: [{result: paid}]
permissions: {ask: [pay]}
`

// Deploy deploys an agent for a tenant.
func Deploy(t *testing.T, store *dynamo.Store, tenant, text string) {
	t.Helper()
	def, err := agentfile.Parse("desk.yaml", []byte(text), nil)
	if err == nil {
		err = store.PutDefinition(t.Context(), engine.Definition{Tenant: tenant, Name: def.Name, Digest: def.Digest(), Body: def.Encode()})
	}
	if err == nil {
		err = store.Deploy(t.Context(), tenant, def.Name, def.Digest())
	}
	if err != nil {
		t.Fatal(err)
	}
}
