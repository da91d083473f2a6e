// Package partsdesk is a program for dormouse that uses only its public packages: the tools of a
// shop for spare parts, a hook for each phase of a run, an effect and a memory. It stores orders in
// a file; a real shop would use a database.
package partsdesk

import (
	"path/filepath"
	"time"

	"github.com/dormouse-dev/dormouse"
)

// Shop is the configuration of the desk.
type Shop struct {
	// Now is the clock of the shop, in its time zone.
	Now func() time.Time

	// Opens and Closes are the hours between which orders are accepted; 0 and 0 means always.
	Opens, Closes int

	// Off reports whether the desk is switched off; nil means never.
	Off func() bool
}

// Files of the desk in the data directory, with one JSON object per line.
const (
	OrdersFile = "orders.jsonl"
	AuditFile  = "audit.jsonl"
)

// Program returns the program of the desk. Every process of a deployment uses the same one.
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
