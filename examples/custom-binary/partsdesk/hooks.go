package partsdesk

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/dormouse-dev/dormouse"
)

// limit is the amount in dollars above which an order needs approval. Orders above twice the limit
// are denied.
const limit = 500

// handover hands a thread over to a person after two failed orders: the run ends, and later runs of
// the thread end at their start.
var handover = dormouse.Hook{
	Name: "parts.handover",
	RunStart: func(_ context.Context, run dormouse.Run) (dormouse.Opening, error) {
		taken, err := dormouse.Value[bool](run.State.Thread.Get(handedOver))
		if err != nil || !taken {
			return dormouse.Opening{}, err
		}
		return dormouse.Opening{End: &dormouse.Reason{Kind: dormouse.Blocked, Code: "handed_over", Detail: "A person has taken over this thread."}}, nil
	},
	AfterToolExecute: func(_ context.Context, run dormouse.Run, call dormouse.ToolCall, result dormouse.Result) (note string, err error) {
		if call.Name != "order_part" || !result.Failed {
			return "", nil
		}
		run.State.Run.Add(failedOrders, 1)
		return "If the next order fails, too, a person takes over.", nil
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

// customer adds to each request what the model may know about the customer, with a masked address.
// It is not stored in the conversation.
var customer = dormouse.Hook{
	Name: "parts.customer",
	BeforeInference: func(_ context.Context, run dormouse.Run) (dormouse.Request, error) {
		number, err := dormouse.Value[int](run.State.Thread.Get(customerKey))
		if err != nil || number == 0 {
			// an unknown customer cannot order
			return dormouse.Request{Without: []string{"order_part"}}, err
		}
		used, err := dormouse.Value[int](run.State.Thread.Get(spent))
		text := fmt.Sprintf("The customer is %s (%s) and has spent $%d of $%d.", customers[number].Name, masked(customers[number].Mail), used, limit)
		return dormouse.Request{Context: []dormouse.Context{{Key: "customer", Text: text, Cooldown: 3}}}, err
	},
}

// masked keeps the first letter and the domain of an address.
func masked(mail string) string {
	name, domain, _ := strings.Cut(mail, "@")
	if name == "" {
		return "***"
	}
	return name[:1] + "***@" + domain
}

// oneOrder drops all orders but the first from an answer: a gate checks each call alone, so several
// orders could exceed the limit together.
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

// budget is pure: it reads what was spent from the state.
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
			return dormouse.Verdict{Effect: dormouse.Deny, Reason: fmt.Sprintf("A total of $%d is above the maximum of $%d.", total, 2*limit)}
		case total > limit:
			return dormouse.Verdict{Effect: dormouse.Ask, Reason: fmt.Sprintf("The total would reach $%d, above the limit of $%d.", total, limit)}
		}
		return dormouse.Verdict{}
	},
}

// hours refuses orders while the shop is closed. It reads a clock, so it can't be a gate: it runs
// right before the body of the tool, which may be days after the approval.
func hours(s Shop) dormouse.Hook {
	refuse := func(_ context.Context, _ dormouse.Run, call dormouse.ToolCall) (refusal string, err error) {
		if call.Name != "order_part" || s.Opens == s.Closes {
			return "", nil
		}
		if hour := s.Now().Hour(); hour < s.Opens || hour >= s.Closes {
			return fmt.Sprintf("The shop is closed; it opens at %d:00.", s.Opens), nil
		}
		return "", nil
	}
	return dormouse.Hook{Name: "parts.hours", BeforeToolExecute: refuse}
}

// audit is the audit line of a run.
type audit struct {
	Run    string `json:"run"`
	Reason string `json:"reason"`
	Code   string `json:"code,omitempty"`
	Spent  int    `json:"spent"`
}

// auditHook writes a line for each run. After a crash it may be called twice; the journal drops the
// repeated line.
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

// noCards stops a run if an answer of the model contains what looks like a card number.
var noCards = dormouse.Hook{
	Name: "parts.no_cards",
	StopRule: func(p dormouse.Progress) *dormouse.Reason {
		if !cardNumber.MatchString(p.Turn.Text) {
			return nil
		}
		return &dormouse.Reason{Code: "card_number", Detail: "The answer contains what looks like a card number."}
	},
}
