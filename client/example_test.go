package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/dormouse-dev/dormouse/client"
)

// Start a run and wait for its end. The key makes the request safe to repeat: a program that
// crashes here and starts again gets the same run.
func ExampleClient_StartRun() {
	desk := newRefundDesk()
	defer desk.Close()
	ctx := context.Background()

	c := client.New(desk.URL, client.WithUserAgent("shop/1.0"))
	run, err := c.StartRun(ctx, client.StartRequest{
		Agent:    "refund-desk",
		Input:    client.Text("Refund $80 for order A-2."),
		Metadata: json.RawMessage(`{"ticket":"4711"}`),
	}, "ticket-4711")
	if err != nil {
		log.Fatal(err)
	}
	run, err = c.WaitRun(ctx, run.ID)
	if err != nil {
		log.Fatal(err)
	}
	text, _ := run.OutputText()
	fmt.Println(run.Status, *run.Reason)
	fmt.Println(text)
	// Output:
	// done natural_end
	// Refunded $80 for order A-2.
}

// A suspended run waits for the decision on its pending call. Arguments that the approver edits
// replace the model's.
func ExampleClient_Decide() {
	desk := newRefundDesk()
	defer desk.Close()
	ctx := context.Background()

	c := client.New(desk.URL)
	run, err := c.StartRun(ctx, client.StartRequest{Agent: "refund-desk", Input: client.Text("Refund $180 for order A-2.")}, "")
	if err != nil {
		log.Fatal(err)
	}
	run, err = c.WaitRun(ctx, run.ID)
	if err != nil {
		log.Fatal(err)
	}
	p := run.Pending[0]
	fmt.Println(run.Status, p.Tool, string(p.Arguments))

	decision, err := p.ApproveWith(map[string]any{"order": "A-2", "amount": 120})
	if err != nil {
		log.Fatal(err)
	}
	decision.Reason = "shipping isn't refunded"
	answer, err := c.Decide(ctx, run.ID, decision)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Code)

	// A different decision is refused, with the one that was accepted.
	_, err = c.Decide(ctx, run.ID, p.Deny("too late"))
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Winner != nil {
		fmt.Println(refused.Status, refused.Code, refused.Winner.Action)
	}
	for e, err := range c.Events(ctx, run.ID, client.EventOptions{After: answer.Cursor, Follow: true}) {
		if err != nil {
			log.Fatal(err)
		}
		if e.Type == client.EventTextEnded {
			var said client.SaidData
			if err := e.Decode(&said); err != nil {
				log.Fatal(err)
			}
			fmt.Println(said.Text)
		}
	}
	// Output:
	// waiting issue_refund {"amount":180,"order":"A-2"}
	// accepted
	// 409 already_decided resume
	// Refunded $120 for order A-2.
}

// Several calls of one run can be decided in one request: all of them, or none.
func ExampleClient_DecideAll() {
	desk := newRefundDesk()
	defer desk.Close()
	ctx := context.Background()

	c := client.New(desk.URL)
	run, err := c.StartRun(ctx, client.StartRequest{Agent: "refund-desk", Input: client.Text("Refund $180 for order A-2.")}, "")
	if err != nil {
		log.Fatal(err)
	}
	run, err = c.WaitRun(ctx, run.ID)
	if err != nil {
		log.Fatal(err)
	}
	batch := client.Decisions{AllOrNone: true}
	for _, p := range run.Pending {
		batch.Decisions = append(batch.Decisions, p.Approve())
	}
	answers, err := c.DecideAll(ctx, run.ID, batch)
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range answers {
		fmt.Println(a.Status, a.Code)
	}
	// Output: 202 accepted
}

// An iterator reads page after page; Collect reads all of them.
func ExampleClient_Runs() {
	desk := newRefundDesk()
	defer desk.Close()
	ctx := context.Background()

	c := client.New(desk.URL)
	for _, order := range []string{"A-1", "A-2", "A-3"} {
		_, err := c.StartRun(ctx, client.StartRequest{Agent: "refund-desk", Input: client.Text("Refund $80 for order " + order + ".")}, order)
		if err != nil {
			log.Fatal(err)
		}
	}
	for run, err := range c.Runs(ctx, client.RunFilter{Agent: "refund-desk", Limit: 2}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(run.FirstLine)
	}
	runs, err := client.Collect(c.Runs(ctx, client.RunFilter{Reason: client.ReasonError}))
	fmt.Println(len(runs), err)
	// Output:
	// Refund $80 for order A-3.
	// Refund $80 for order A-2.
	// Refund $80 for order A-1.
	// 0 <nil>
}

// A thread holds a conversation of several runs. Its key is your own id for it, such as the number
// of a ticket.
func ExampleClient_SendMessage() {
	desk := newRefundDesk()
	defer desk.Close()
	ctx := context.Background()

	c := client.New(desk.URL)
	run, err := c.StartRun(ctx, client.StartRequest{Agent: "refund-desk", ThreadKey: "ticket-4711", Input: client.Text("Hello?")}, "")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.WaitRun(ctx, run.ID); err != nil {
		log.Fatal(err)
	}
	thread, err := c.FindThread(ctx, "ticket-4711")
	if err != nil {
		log.Fatal(err)
	}
	run, err = c.SendMessage(ctx, thread.ID, client.MessageRequest{Input: client.Text("Refund $80 for order A-2.")}, "")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.WaitRun(ctx, run.ID); err != nil {
		log.Fatal(err)
	}
	for m, err := range c.Messages(ctx, thread.ID, client.MessageOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		if m.Text != "" {
			fmt.Printf("%s: %s\n", m.Role, m.Text)
		}
	}
	// Output:
	// user: Hello?
	// assistant: I could not issue the refund.
	// user: Refund $80 for order A-2.
	// tool: Refunded $80 for order A-2.
	// assistant: Refunded $80 for order A-2.
}

// A refusal has a stable code for programs and a detail for people.
func ExampleError() {
	desk := newRefundDesk()
	defer desk.Close()

	_, err := client.New(desk.URL).StartRun(context.Background(), client.StartRequest{Agent: "nobody", Input: client.Text("Hello?")}, "")
	if refused, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(refused.Status, refused.Code, refused.Retryable())
	}
	// Output: 404 agent_not_found false
}

// With the AWS SDK, credentials is an aws.CredentialsProvider and signer comes from v4.NewSigner in
// github.com/aws/aws-sdk-go-v2/aws/signer/v4:
//
//	sign := func(ctx context.Context, req *http.Request, payloadHash string) error {
//		keys, err := credentials.Retrieve(ctx)
//		if err != nil {
//			return err
//		}
//		now := time.Now()
//		return signer.SignHTTP(ctx, keys, req, payloadHash, "execute-api", region, now)
//	}
func ExampleWithSigner() {
	sign := func(_ context.Context, req *http.Request, payloadHash string) error {
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 ... over "+payloadHash[:8])
		return nil
	}
	c := client.New("https://abc123.execute-api.eu-central-1.amazonaws.com", client.WithSigner(sign))
	fmt.Println(c.BaseURL())
	// Output: https://abc123.execute-api.eu-central-1.amazonaws.com
}

// Send a photo with the request. The agent's model must accept images.
func ExampleParts() {
	photo := []byte("\x89PNG...")

	input := client.Parts(
		client.Part{Type: "text", Text: "Refund $80 for order A-2, it arrived broken."},
		client.Part{Type: "image", MediaType: "image/png", Data: photo},
	)

	var parts []client.Part
	if err := json.Unmarshal(input, &parts); err != nil {
		log.Fatal(err)
	}
	for _, p := range parts {
		fmt.Println(p.Type, p.MediaType, len(p.Data))
	}
	// Output:
	// text  0
	// image image/png 7
}
