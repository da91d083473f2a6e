// Package refunddesk is a program with two tools: one looks up an order, the other refunds it. The
// orders are a small table, and a refund is a line in a ledger file. The tools don't check whether
// a refund is allowed: the agent's permissions do.
package refunddesk

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/dormouse-dev/dormouse"
)

// LedgerFile is the ledger's name in the data directory.
const LedgerFile = "refunds.jsonl"

// Order is an order of the shop. Amounts are whole dollars.
type Order struct {
	Order  string `json:"order"`
	Item   string `json:"item"`
	Amount int    `json:"amount"`
}

// Program has the tools refund_desk.lookup_order and refund_desk.issue_refund. The ledger is
// [LedgerFile] in the data directory, created with the first refund. A refund can't be undone, so
// issue_refund runs at most once.
func Program() dormouse.Program {
	return dormouse.Program{
		Name:  "refund-desk",
		Tools: []dormouse.Tool{dormouse.Func("refund_desk.lookup_order", "Returns the item and the price of an order.", lookupOrder)},
		Open: func(data string) (dormouse.Program, error) {
			d := desk{Ledger{Path: filepath.Join(data, LedgerFile)}}
			return dormouse.Program{Tools: []dormouse.Tool{
				dormouse.Func("refund_desk.issue_refund", "Issues a full or partial refund for an order.", d.issueRefund, dormouse.AtMostOnce),
			}}, nil
		},
	}
}

var orders = map[string]Order{
	"A-17": {Order: "A-17", Item: "espresso machine", Amount: 120},
	"B-02": {Order: "B-02", Item: "kettle", Amount: 40},
	"C-30": {Order: "C-30", Item: "coffee grinder", Amount: 100},
}

// lookup are the arguments of lookup_order.
type lookup struct {
	Order string `json:"order" jsonschema:"the order number, for example A-17"`
}

func lookupOrder(_ context.Context, _ dormouse.Call, args lookup) (any, error) {
	order, ok := orders[args.Order]
	if !ok {
		return nil, fmt.Errorf("there is no order %s", args.Order)
	}
	return order, nil
}

// refund are the arguments of issue_refund.
type refund struct {
	Order  string `json:"order" jsonschema:"the order number"`
	Amount int    `json:"amount" jsonschema:"the amount to refund, in dollars"`
}

// receipt is the result of issue_refund.
type receipt struct {
	Order    string `json:"order"`
	Refunded int    `json:"refunded"`
}

// desk issues refunds into one ledger.
type desk struct{ ledger Ledger }

func (d desk) issueRefund(_ context.Context, call dormouse.Call, args refund) (any, error) {
	order, ok := orders[args.Order]
	switch {
	case !ok:
		return nil, fmt.Errorf("there is no order %s", args.Order)
	case args.Amount < 1 || args.Amount > order.Amount:
		return nil, fmt.Errorf("order %s cost %d; a refund of %d is not possible", order.Order, order.Amount, args.Amount)
	}
	if err := d.ledger.Append(Entry{Key: call.Key, Order: args.Order, Amount: args.Amount}); err != nil {
		return nil, err
	}
	return receipt{Order: args.Order, Refunded: args.Amount}, nil
}
