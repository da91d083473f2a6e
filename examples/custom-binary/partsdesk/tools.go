package partsdesk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse"
)

// Keys of the state.
const (
	spent        = "spent"         // of the thread: the total of its orders in dollars
	customerKey  = "customer"      // of the thread: the customer number
	failedOrders = "failed_orders" // of the run: how many orders failed
	handedOver   = "handed_over"   // of the thread: whether a person has taken over
)

type person struct{ Name, Mail string }

var customers = map[int]person{
	7: {"Ada Holm", "ada.holm@example.org"},
	9: {"Ben Okoye", "b@example.org"},
}

var prices = map[string]int{"seal": 20, "pump": 180, "motor": 900}

type lookup struct {
	Number int `json:"number" jsonschema:"the customer number"`
}

var findCustomerTool = dormouse.Func("parts.find_customer", "Returns the name of a customer.", findCustomer, dormouse.ReadOnly)

// findCustomer stores the customer number for the hooks. It returns no address: the hook
// parts.customer decides what the model sees.
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

var findPartTool = dormouse.Func("parts.find_part", "Returns the price of a part.", findPart, dormouse.ReadOnly)

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

// orderPartTool is idempotent, because the orders contain the key of each call: after a crash it
// may run again, even if a person had approved it.
func orderPartTool(orders *journal[order]) dormouse.Tool {
	return dormouse.Func("parts.order_part", "Orders a part.", func(_ context.Context, call dormouse.Call, args purchase) (any, error) {
		if prices[args.Part] == 0 || args.Quantity < 1 {
			return nil, fmt.Errorf("cannot order %d of the part %q", args.Quantity, args.Part)
		}
		if err := orders.add(order{Key: call.Key, Tenant: call.Tenant, Part: args.Part, Quantity: args.Quantity}); err != nil {
			return nil, err
		}
		call.State.Thread.Add(spent, int64(args.total()))
		return fmt.Sprintf("ordered %d %s for $%d", args.Quantity, args.Part, args.total()), nil
	}, dormouse.Idempotent)
}

var chooseDeliveryTool = dormouse.Func("parts.choose_delivery", "Asks the customer when to deliver.", chooseDelivery)

// chooseDelivery is called twice: first to ask, and then with the answer. Nothing stays in memory
// in between.
func chooseDelivery(_ context.Context, call dormouse.Call, _ struct{}) (any, error) {
	if call.Answer == nil {
		return nil, dormouse.Suspend{Action: "choose_delivery", Message: "In the morning or in the afternoon?", Then: dormouse.HandAnswer,
			Schema: json.RawMessage(`{"enum":["morning","afternoon"]}`)}
	}
	slot, err := dormouse.Value[string](call.Answer.Value)
	return "delivery in the " + slot, err
}
