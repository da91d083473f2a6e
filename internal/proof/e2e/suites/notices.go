package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/platform"
)

const noticeAgent = "notice-desk"

// notices: a suspension reaches a receiver, signed, although the delivering function is killed
// while the receiver has not answered; the link in it decides.
func notices(ctx context.Context, t *Target, b *book) {
	if t.Receiver == nil {
		b.say("not run: a stack elsewhere cannot reach this machine")
		return
	}
	dir := filepath.Join(t.Dir, "notice-agents")
	err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, noticeAgent+".yaml"), []byte(fmt.Sprintf(noticeDesk, t.Receiver.Host())), 0o600))
	if !b.check("an agent with a target is deployed", errors.Join(err, t.deploy(ctx, dir))) {
		return
	}
	n := &noticeStory{t: t, b: b, api: t.client(t.Token)}
	for _, step := range []func(context.Context) bool{n.start, n.killed, n.again, n.decided} {
		if !step(ctx) {
			return
		}
	}
}

const noticeDesk = `name: ` + noticeAgent + `
model:
  provider: scripted
  turns:
    - given: {step: 1}
      calls: [{tool: pay, arguments: {order: 7}}]
    - say: Done.
tools:
  - name: pay
    description: Refunds an order.
    recorded: [{result: paid}]
    parameters: {type: object, properties: {order: {type: integer}}, required: [order]}
permissions: {ask: [pay]}
notify:
  - {name: proof, on: [suspended, done], url: "http://%s/hook", secret: ` + ReceiverSecret + `, allow_private: true}
`

type noticeStory struct {
	t   *Target
	b   *book
	api *client.Client
	run wire.Run
}

func (n *noticeStory) start(ctx context.Context) (ok bool) {
	var err error
	n.run, err = n.api.StartRun(ctx, wire.StartRequest{Agent: noticeAgent, Input: json.RawMessage(`"Refund order 7"`)}, fmt.Sprintf("notices-%d", n.t.Seed))
	return n.b.check("a run is started", err)
}

// killed waits for the first attempt, and kills the function that makes it.
func (n *noticeStory) killed(ctx context.Context) bool {
	var err error
	select {
	case <-n.t.Receiver.first:
	case <-time.After(patience):
		err = fmt.Errorf("not within %s", patience)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !n.b.check("a notice reaches the receiver, which does not answer", err) {
		return false
	}
	if n.t.Platform.Lambda.Kill(n.t.Platform.FunctionName(platform.NotifyFunction)) == 0 {
		err = errors.New("it had no process")
	}
	n.t.Receiver.release()
	return n.b.check("the function that delivers is killed", err)
}

// again waits for the attempt of another process.
func (n *noticeStory) again(ctx context.Context) bool {
	err := until(ctx, 2*patience, func() error { return n.received(client.NoticeSuspended, 2) })
	return n.b.check("the notice comes again under the same id, and is signed", err)
}

// received is nil if so many notices of the run came of a type, all with one id.
func (n *noticeStory) received(kind string, least int) error {
	got, bad := n.t.Receiver.notices()
	ids, found := map[string]bool{}, 0
	for _, one := range got {
		if one.Type == kind && one.Run != nil && one.Run.ID == n.run.ID {
			ids[one.ID] = true
			found++
		}
	}
	if found < least || len(ids) != 1 || len(bad) > 0 {
		return fmt.Errorf("%d notices of type %s under %d ids, and %d requests that were not signed: %v", found, kind, len(ids), len(bad), bad)
	}
	return nil
}

// decided answers by the link of the notice.
func (n *noticeStory) decided(ctx context.Context) bool {
	got, _ := n.t.Receiver.notices()
	if len(got) == 0 || got[0].Links == nil {
		return n.b.check("the notice has links", errors.New("it has none"))
	}
	_, path, _ := strings.Cut(got[0].Links.Show, "/v1/")
	code, answer, err := n.t.status(ctx, "POST", "/v1/"+path, "", `{"action":"resume","reason":"as ordered"}`)
	if err == nil && code/100 != 2 {
		err = fmt.Errorf("it was answered with %d: %s", code, answer)
	}
	if !n.b.check("the link of the notice approves the call", err) {
		return false
	}
	_, err = settled(ctx, n.api, n.run.ID)
	if err == nil {
		err = until(ctx, patience, func() error { return n.received(client.NoticeDone, 1) })
	}
	return n.b.check("the receiver is notified of the end of the run", err)
}
