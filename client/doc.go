// Package client calls the HTTP API of a Dormouse server, version 1. It starts runs, reads and
// streams their events, and answers the calls that wait for a person or a program.
//
// # Start and wait
//
//	c := client.New("https://dormouse.example.com", client.WithToken(token))
//	run, err := c.StartRun(ctx, client.StartRequest{
//		Agent: "refund-desk",
//		Input: client.Text("Refund order A-2, please."),
//	}, "ticket-4711")
//	...
//	run, err = c.WaitRun(ctx, run.ID)
//
// [Client.WaitRun] returns when the run is done or suspended. A suspended run holds no connection
// and no worker: it waits until its Pending calls are answered, for days if necessary.
//
// # Answer
//
// [Client.Approvals] lists the suspended calls of all runs. [Client.Decide] answers one, and
// [Pending.Approve], [Pending.Deny], [Pending.ApproveWith] and [Pending.Answer] make the decision:
//
//	for a, err := range c.Approvals(ctx, client.ApprovalFilter{Kind: client.KindApproval}) {
//		if err != nil {
//			return err
//		}
//		if _, err := c.Decide(ctx, a.RunID, a.Deny("outside office hours")); err != nil {
//			return err
//		}
//	}
//
// # Lists and streams
//
// Methods that return an [iter.Seq2], such as [Client.Runs], read page after page. [Client.Events],
// [Client.ThreadEvents] and [Client.Feed] read a stream and reopen it when it breaks. An error is
// the last value of an iterator. [Collect] turns an iterator into a slice. Methods that end in Page
// read one page.
//
// # Errors and retries
//
// A refusal is an [*Error] with a stable Code. Any other error means that the client read no
// answer.
//
// The client sends a request again, with backoff and jitter, if its answer was lost or the server
// is unavailable. That never acts twice: requests that start something carry an idempotency key,
// and the server recognizes a repeated decision. Pass your own key to be safe across restarts of
// your program; with an empty key the client makes one for each call. [WithRetries] changes or
// disables retries. [Client.MakeLink] is retried only if nothing was stored.
package client
