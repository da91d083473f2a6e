package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/dormouse-dev/dormouse/client"
)

// refundLimit is what the bot approves on its own.
const refundLimit = 200

// judge returns the bot's decision on a call, or false if a person has to decide.
func judge(a client.Approval) (client.Decision, bool) {
	var refund struct {
		Order  string
		Amount int
	}
	// Warnings name what is easy to overlook, such as characters that aren't visible.
	if a.Tool != "issue_refund" || len(a.Warnings) > 0 || json.Unmarshal(a.Arguments, &refund) != nil {
		return client.Decision{}, false
	}
	switch {
	case refund.Amount <= refundLimit:
		return a.Approve(), true
	case refund.Amount > 10*refundLimit:
		return a.Deny("Refunds above $2000 are not possible."), true
	}
	return client.Decision{}, false
}

// decideAll decides what waits, and returns what it left to people. It may be interrupted at any
// time and run again: a decision that was accepted before is recognized.
func decideAll(ctx context.Context, c *client.Client) (left []client.Approval, err error) {
	for a, err := range c.Approvals(ctx, client.ApprovalFilter{Kind: client.KindApproval}) {
		if err != nil {
			return left, err
		}
		decision, ok := judge(a)
		if !ok {
			left = append(left, a)
			continue
		}
		answer, err := c.Decide(ctx, a.RunID, decision)
		if refused, ok := errors.AsType[*client.Error](err); ok && refused.Winner != nil {
			continue // a person was faster
		}
		if err != nil {
			return left, err
		}
		fmt.Println(decision.Action, string(a.Arguments), answer.Code)
	}
	return left, nil
}

// A bot approves small refunds, denies impossible ones and leaves the rest to people. In production
// it would call decideAll again whenever [client.Client.Feed] returns a suspension.
func Example_bot() {
	desk := newRefundDesk()
	defer desk.Close()
	ctx := context.Background()

	c := client.New(desk.URL)
	for i, amount := range []int{180, 900, 5000} {
		run, err := c.StartRun(ctx, client.StartRequest{
			Agent: "refund-desk",
			Input: client.Text(fmt.Sprintf("Refund $%d for order A-%d.", amount, i)),
		}, "")
		if err != nil {
			log.Fatal(err)
		}
		if _, err := c.WaitRun(ctx, run.ID); err != nil {
			log.Fatal(err)
		}
	}

	left, err := decideAll(ctx, c)
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range left {
		fmt.Println("left to people:", a.Tool, string(a.Arguments))
	}
	// Output:
	// resume {"amount":180,"order":"A-0"} accepted
	// cancel {"amount":5000,"order":"A-2"} accepted
	// left to people: issue_refund {"amount":900,"order":"A-1"}
}
