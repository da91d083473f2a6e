package partsdesk

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/dormouse-dev/dormouse"
)

// limit is what a customer may order before a person is asked, and twice as much is refused.
const limit = 500

// handover gives a conversation to a person when two orders failed: the run ends, and later ones of
// the thread do not begin.
var handover = dormouse.Hook{
	Name: "parts.handover",
	RunStart: func(_ context.Context, run dormouse.Run) (dormouse.Opening, error) {
		taken, err := dormouse.Value[bool](run.State.Thread.Get(handedOver))
		if err != nil || !taken {
			return dormouse.Opening{}, err
		}
		return dormouse.Opening{End: &dormouse.Reason{Kind: dormouse.Blocked, Code: "handed_over", Detail: "A person answers in this thread."}}, nil
	},
	AfterToolExecute: func(_ context.Context, run dormouse.Run, call dormouse.ToolCall, result dormouse.Result) (note string, err error) {
		if call.Name != "order_part" || !result.Failed {
			return "", nil
		}
		run.State.Run.Add(failedOrders, 1)
		return "If it fails again, a person takes over.", nil
	},
	StepEnd: func(_ context.Context, run dormouse.Run) (*dormouse.Reason, error) {
		failed, err := dormouse.Value[int](run.State.Run.Get(failedOrders))
		if err != nil || failed < 2 {
			return nil, err
		}
		end := &dormouse.Reason{Kind: dormouse.Requested, Code: "handed_over", Detail: "Two orders failed."}
		return end, run.State.Thread.Set(handedOver, true)
	},
}

// mainSwitch ends runs before their next step while the desk is switched off.
func mainSwitch(off func() bool) dormouse.Hook {
	return dormouse.Hook{Name: "parts.switch", StepStart: func(context.Context, dormouse.Run) (*dormouse.Reason, error) {
		if off == nil || !off() {
			return nil, nil
		}
		return &dormouse.Reason{Kind: dormouse.Blocked, Code: "switched_off", Detail: "The desk is switched off."}, nil
	}}
}

// customer tells the model what it may know of the customer, and no address. It is shown in the
// request and kept nowhere.
var customer = dormouse.Hook{
	Name: "parts.customer",
	BeforeInference: func(_ context.Context, run dormouse.Run) (dormouse.Request, error) {
		number, err := dormouse.Value[int](run.State.Thread.Get(customerKey))
		if err != nil || number == 0 {
			// who nobody knows cannot order
			return dormouse.Request{Without: []string{"order_part"}}, err
		}
		used, err := dormouse.Value[int](run.State.Thread.Get(spent))
		text := fmt.Sprintf("The customer is %s (%s). %d of %d are spent.", customers[number].Name, masked(customers[number].Mail), used, limit)
		return dormouse.Request{Context: []dormouse.Context{{Key: "customer", Text: text, Cooldown: 3}}}, err
	},
}

// masked keeps the first letter of an address, and its domain.
func masked(mail string) string {
	name, domain, _ := strings.Cut(mail, "@")
	if name == "" {
		return "***"
	}
	return name[:1] + "***@" + domain
}

// oneOrder takes all orders but the first out of an answer: gates look at each by itself, and
// several could pass the limit together.
var oneOrder = dormouse.Hook{
	Name: "parts.one_order",
	AfterInference: func(_ context.Context, _ dormouse.Run, turn dormouse.Turn) (review dormouse.Review, err error) {
		seen := false
		for _, c := range turn.Calls {
			if c.Name == "order_part" && seen {
				review.Drop = append(review.Drop, c.ID)
			}
			seen = seen || c.Name == "order_part"
		}
		return review, nil
	},
}

// budget is pure: what was spent is in the state.
var budget = dormouse.Hook{
	Name: "parts.budget",
	ToolGate: func(call dormouse.ToolCall, state dormouse.View) dormouse.Verdict {
		var args purchase
		if call.Name != "order_part" || json.Unmarshal(call.Arguments, &args) != nil {
			return dormouse.Verdict{}
		}
		before, err := dormouse.Value[int](state.Thread[spent])
		switch total := before + args.total(); {
		case err != nil || total > 2*limit:
			return dormouse.Verdict{Effect: dormouse.Deny, Reason: fmt.Sprintf("%d is more than a customer can order here.", total)}
		case total > limit:
			return dormouse.Verdict{Effect: dormouse.Ask, Reason: fmt.Sprintf("It would be %d, and %d is the limit.", total, limit)}
		}
		return dormouse.Verdict{}
	},
}

// hours refuses orders while the shop is closed. It looks at a clock, so it is no gate: it is asked
// when the body is about to run, also if that is days after the approval.
func hours(s Shop) dormouse.Hook {
	refuse := func(_ context.Context, _ dormouse.Run, call dormouse.ToolCall) (refusal string, err error) {
		if call.Name != "order_part" || s.Opens == s.Closes {
			return "", nil
		}
		if hour := s.Now().Hour(); hour < s.Opens || hour >= s.Closes {
			return fmt.Sprintf("The shop is closed; it opens at %d.", s.Opens), nil
		}
		return "", nil
	}
	return dormouse.Hook{Name: "parts.hours", BeforeToolExecute: refuse}
}

// audit is a line about a run.
type audit struct {
	Run    string `json:"run"`
	Reason string `json:"reason"`
	Code   string `json:"code,omitempty"`
	Spent  int    `json:"spent"`
}

// auditHook writes a line for each run. After a crash it may write a run twice; the journal knows a
// line that it has.
func auditHook(audits *journal[audit]) dormouse.Hook {
	return dormouse.Hook{Name: "parts.audit", RunEnd: func(_ context.Context, run dormouse.Run, end dormouse.Reason) error {
		total, err := dormouse.Value[int](run.State.Thread.Get(spent))
		if err != nil {
			return err
		}
		return audits.add(audit{Run: run.ID, Reason: string(end.Kind), Code: end.Code, Spent: total})
	}}
}

var cardNumber = regexp.MustCompile(`\b\d{4}([ -]?\d{4}){3}\b`)

// noCards stops a run whose model writes down what looks like the number of a card.
var noCards = dormouse.Hook{
	Name: "parts.no_cards",
	StopRule: func(p dormouse.Progress) *dormouse.Reason {
		if !cardNumber.MatchString(p.Turn.Text) {
			return nil
		}
		return &dormouse.Reason{Code: "card_number", Detail: "The answer holds what looks like a card number."}
	},
}
