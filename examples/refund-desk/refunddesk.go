// Package refunddesk holds the tools of the refund-desk example: orders are a small table, and a refund is a line in a
// ledger file. It moves no money and never looks at what a call is allowed to do: that is the agent's permissions.
package refunddesk

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/dormouse-dev/dormouse/internal/tool"
)

// LedgerFile is the ledger's name in the data directory.
const LedgerFile = "refunds.jsonl"

// Order is what the shop knows of an order. Amounts are whole units of the shop's currency.
type Order struct {
	Order  string `json:"order"`
	Item   string `json:"item"`
	Amount int    `json:"amount"`
}

// Register adds the tools refund_desk.lookup_order and refund_desk.issue_refund. The ledger is [LedgerFile] in dir, made
// with the first refund. Since a ledger cannot take a refund back, issue_refund runs at most once.
func Register(r *tool.Registry, dir string) error {
	d := desk{Ledger{Path: filepath.Join(dir, LedgerFile)}}
	return r.Register(
		tool.Func("refund_desk.lookup_order", "What was ordered, and what it cost.", lookupOrder),
		tool.Func("refund_desk.issue_refund", "Pays an order back, all of it or a part.", d.issueRefund, tool.AtMostOnce()),
	)
}

var orders = map[string]Order{
	"A-17": {Order: "A-17", Item: "espresso machine", Amount: 120},
	"B-02": {Order: "B-02", Item: "kettle", Amount: 40},
	"C-30": {Order: "C-30", Item: "coffee grinder", Amount: 100},
}

// lookup are the arguments of lookup_order.
type lookup struct {
	Order string `json:"order" jsonschema:"the order's number, for example A-17"`
}

func lookupOrder(_ context.Context, _ tool.Call, args lookup) (any, error) {
	order, ok := orders[args.Order]
	if !ok {
		return nil, fmt.Errorf("there is no order %s", args.Order)
	}
	return order, nil
}

// refund are the arguments of issue_refund.
type refund struct {
	Order  string `json:"order" jsonschema:"the order's number"`
	Amount int    `json:"amount" jsonschema:"how much is paid back"`
}

// receipt is the result of issue_refund.
type receipt struct {
	Order    string `json:"order"`
	Refunded int    `json:"refunded"`
}

// desk issues refunds into one ledger.
type desk struct{ ledger Ledger }

func (d desk) issueRefund(_ context.Context, call tool.Call, args refund) (any, error) {
	order, ok := orders[args.Order]
	switch {
	case !ok:
		return nil, fmt.Errorf("there is no order %s", args.Order)
	case args.Amount < 1 || args.Amount > order.Amount:
		return nil, fmt.Errorf("order %s cost %d; %d cannot be paid back", order.Order, order.Amount, args.Amount)
	}
	if err := d.ledger.Append(Entry{Key: call.Key, Order: args.Order, Amount: args.Amount}); err != nil {
		return nil, err
	}
	return receipt{Order: args.Order, Refunded: args.Amount}, nil
}
