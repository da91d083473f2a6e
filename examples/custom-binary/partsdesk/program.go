// Package partsdesk is a program for dormouse, written against its public packages alone: the tools
// of a shop for spare parts, a hook for each phase of a run, an effect and a memory. It keeps its
// orders in a file, so a real shop it is not.
package partsdesk

import (
	"path/filepath"
	"time"

	"github.com/dormouse-dev/dormouse"
)

// Shop is what the desk knows from outside.
type Shop struct {
	// Now is the clock of the shop, in its time zone.
	Now func() time.Time

	// Opens and Closes are the hours between which orders are taken; both 0 is day and night.
	Opens, Closes int

	// Off says whether the desk is switched off; nil is never.
	Off func() bool
}

// Files that the desk keeps in the data directory, one JSON object a line.
const (
	OrdersFile = "orders.jsonl"
	AuditFile  = "audit.jsonl"
)

// Program is the desk as a program. Every process of a deployment has the same.
func Program(s Shop) dormouse.Program {
	return dormouse.Program{
		Version: "v0.1.0",
		Tools:   []dormouse.Tool{findCustomerTool, findPartTool, chooseDeliveryTool},
		Hooks:   []dormouse.Hook{handover, customer, oneOrder, budget, noCards, mainSwitch(s.Off), hours(s)},
		Open: func(data string) (dormouse.Program, error) {
			orders := &journal[order]{path: filepath.Join(data, OrdersFile)}
			audits := &journal[audit]{path: filepath.Join(data, AuditFile)}
			return dormouse.Program{
				Tools:    []dormouse.Tool{orderPartTool(orders)},
				Hooks:    []dormouse.Hook{auditHook(audits)},
				Effects:  []dormouse.Effect{stockEffect(orders)},
				Memories: []dormouse.Memory{lately(orders)},
			}, nil
		},
	}
}
