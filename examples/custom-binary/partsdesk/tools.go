package partsdesk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse"
)

// Keys of the state.
const (
	// of the thread: what was ordered, in whole units of the shop's currency
	spent        = "spent"
	customerKey  = "customer"      // of the thread: the number of the customer
	failedOrders = "failed_orders" // of the run: orders that failed
	handedOver   = "handed_over"   // of the thread: a person has taken over
)

type person struct{ Name, Mail string }

var customers = map[int]person{
	7: {"Ada Holm", "ada.holm@example.org"},
	9: {"Ben Okoye", "b@example.org"},
}

var prices = map[string]int{"seal": 20, "pump": 180, "motor": 900}

type lookup struct {
	Number int `json:"number" jsonschema:"the number of the customer"`
}

var findCustomerTool = dormouse.Func("parts.find_customer", "Who a customer is.", findCustomer, dormouse.ReadOnly)

// findCustomer notes the customer for the hooks. It does not show the model an address: hook
// parts.customer says what it may know.
func findCustomer(_ context.Context, call dormouse.Call, args lookup) (any, error) {
	p, ok := customers[args.Number]
	if !ok {
		return nil, fmt.Errorf("there is no customer %d", args.Number)
	}
	return map[string]string{"name": p.Name}, call.State.Thread.Set(customerKey, args.Number)
}

type search struct {
	Name string `json:"name" jsonschema:"the name of the part, in the singular"`
}

var findPartTool = dormouse.Func("parts.find_part", "What a part costs.", findPart, dormouse.ReadOnly)

func findPart(_ context.Context, _ dormouse.Call, args search) (any, error) {
	price, ok := prices[args.Name]
	if !ok {
		return nil, fmt.Errorf("there is no part %q", args.Name)
	}
	return map[string]any{"part": args.Name, "price": price}, nil
}

type purchase struct {
	Part     string `json:"part" jsonschema:"the name of the part"`
	Quantity int    `json:"quantity" jsonschema:"how many"`
}

func (p purchase) total() int { return prices[p.Part] * p.Quantity }

// orderPartTool is idempotent, since the orders know the key of a call: after a crash it may run
// again, even if a person had approved it.
func orderPartTool(orders *journal[order]) dormouse.Tool {
	return dormouse.Func("parts.order_part", "Orders a part.", func(_ context.Context, call dormouse.Call, args purchase) (any, error) {
		if prices[args.Part] == 0 || args.Quantity < 1 {
			return nil, fmt.Errorf("%d of the part %q cannot be ordered", args.Quantity, args.Part)
		}
		if err := orders.add(order{Key: call.Key, Tenant: call.Tenant, Part: args.Part, Quantity: args.Quantity}); err != nil {
			return nil, err
		}
		call.State.Thread.Add(spent, int64(args.total()))
		return fmt.Sprintf("ordered %d %s for %d", args.Quantity, args.Part, args.total()), nil
	}, dormouse.Idempotent)
}

var chooseDeliveryTool = dormouse.Func("parts.choose_delivery", "Asks the customer when to deliver.", chooseDelivery)

// chooseDelivery is called twice: to ask, and with the answer. In between nothing of it is in
// memory.
func chooseDelivery(_ context.Context, call dormouse.Call, _ struct{}) (any, error) {
	if call.Answer == nil {
		return nil, dormouse.Suspend{Action: "choose_delivery", Message: "In the morning or in the afternoon?", Then: dormouse.HandAnswer,
			Schema: json.RawMessage(`{"enum":["morning","afternoon"]}`)}
	}
	slot, err := dormouse.Value[string](call.Answer.Value)
	return "delivery in the " + slot, err
}
