package suites

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/platform"
)

const noticeAgent = "notice-desk"

// notices: a webhook starts a run, once, although the receiving function is killed between its
// deliveries. The suspension reaches a receiver, signed, although the delivering function is killed
// while the receiver has not answered; the link in it decides.
func notices(ctx context.Context, t *Target, b *book) {
	if t.Receiver == nil {
		b.say("not run: a stack elsewhere cannot reach this machine")
		return
	}
	dir := filepath.Join(t.Dir, "notice-agents")
	err := errors.Join(os.MkdirAll(filepath.Join(dir, "hooks"), 0o700),
		os.WriteFile(filepath.Join(dir, noticeAgent+".yaml"), []byte(fmt.Sprintf(noticeDesk, t.Receiver.Host())), 0o600),
		os.WriteFile(filepath.Join(dir, "hooks", hookName+".yaml"), []byte(hookFile), 0o600))
	if !b.check("an agent with a target and a hook are deployed", errors.Join(err, t.deploy(ctx, dir))) {
		return
	}
	n := &noticeStory{t: t, b: b, api: t.client(t.Token)}
	for _, step := range []func(context.Context) bool{n.start, n.killed, n.again, n.decided} {
		if !step(ctx) {
			return
		}
	}
}

const hookName = "notice-hook"

// HookSecret is the name of the secret that verifies webhooks, and HookKey its value, which the
// functions have in their environment.
const (
	HookSecret = "HOOK_PROOF"
	HookKey    = "a-key-of-this-proof-alone"
)

const hookFile = `verify: {scheme: github, secret: ` + HookSecret + `}
when: action == "opened"
start: {agent: ` + noticeAgent + `, input: "Refund order 7 of issue {number}"}
`

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

// start sends deliveries as a sender does that repeats them.
func (n *noticeStory) start(ctx context.Context) bool {
	event := fmt.Sprintf(`{"action":"opened","number":%d}`, n.t.Seed)
	_, err := n.deliver(ctx, event, "another-key-of-16-bytes", http.StatusUnauthorized)
	if !n.b.check("a webhook that another key signed is refused", err) {
		return false
	}
	_, err = n.deliver(ctx, `{"action":"closed"}`, HookKey, http.StatusOK)
	n.b.check("a webhook that the hook is not for is taken and ignored", err)
	first, err := n.deliver(ctx, event, HookKey, http.StatusOK)
	if err == nil && (first.RunID == "" || first.Replayed) {
		err = fmt.Errorf("the answer is %+v", first)
	}
	if !n.b.check("a webhook starts a run", err) {
		return false
	}
	err = nil
	if n.t.Platform.Lambda.Kill(n.t.Platform.FunctionName(platform.HookFunction)) == 0 {
		err = errors.New("it had no process")
	}
	n.b.check("the function that received it is killed", err)
	again, err := n.deliver(ctx, event, HookKey, http.StatusOK)
	if err == nil && (again.RunID != first.RunID || !again.Replayed) {
		err = fmt.Errorf("the answers are %+v and %+v", first, again)
	}
	n.b.check("the same webhook again starts no other run", err)
	n.run, err = n.api.PollRun(ctx, first.RunID, 0)
	if err == nil && (n.run.StartedBy == nil || n.run.StartedBy.By != "hook:"+hookName) {
		err = fmt.Errorf("it was started by %+v", n.run.StartedBy)
	}
	return n.b.check("the run says which hook started it", err)
}

// deliver sends a webhook as GitHub does.
func (n *noticeStory) deliver(ctx context.Context, body, key string, want int) (answer wire.HookAnswer, err error) {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.t.API+"/v1/hooks/"+hookName, strings.NewReader(body))
	if err != nil {
		return answer, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := (&http.Client{Timeout: requestLimit}).Do(req)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != want {
		err = fmt.Errorf("it was answered with %d and not with %d: %s", resp.StatusCode, want, text)
	}
	if err != nil || want != http.StatusOK {
		return answer, err
	}
	return answer, json.Unmarshal(text, &answer)
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
	code, answer, err := n.t.status(ctx, "POST", pathOf(got[0].Links.Show), "", `{"action":"resume","reason":"as ordered"}`)
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
