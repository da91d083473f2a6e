package local

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/proof/slackdouble"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

const slackTarget = "notify:\n  - {name: desk, on: [suspended], slack: {channel: " + slackdouble.Channel + ", token: SLACK_TOKEN}}\n"

const slackHook = "verify: {scheme: slack, secret: SLACK_SIGNING}\nslack_app: {token: SLACK_TOKEN, team: " + slackdouble.Team + "}\n"

// channel is a server whose agent asks in a channel of a double of Slack.
type channel struct {
	t *testing.T
	*slackdouble.Slack
	rig  *rig
	paid *atomic.Int64
	running
}

func newChannel(t *testing.T, agent string) channel {
	t.Helper()
	r, paid := countingRig(t)
	c := channel{t: t, Slack: slackdouble.New(), rig: r, paid: paid}
	t.Cleanup(c.Close)
	o := r.options()
	o.SlackAPI = c.API()
	o.Secrets = func(_ context.Context, name string) (string, error) {
		value, known := map[string]string{"SLACK_TOKEN": slackdouble.Token, "SLACK_SIGNING": slackdouble.Key}[name]
		if !known {
			return "", secret.ErrNotSet
		}
		return value, nil
	}
	var err error
	if o.Private, err = netguard.ReadPrivate([]string{strings.TrimPrefix(c.URL, "http://")}); err != nil {
		t.Fatal(err)
	}
	r.hook("slack", slackHook)
	r.deploy(agent)
	c.running = r.startWith(o)
	return c
}

// asked starts a run, and returns the message that asks.
func (c channel) asked() (wire.Run, slackdouble.Message) {
	c.t.Helper()
	before := len(c.State().Messages)
	run := c.begin(c.t)
	now := c.shows(func(s slackdouble.State) bool { return len(s.Messages) > before })
	return run, now.Messages[len(now.Messages)-1]
}

func (c channel) shows(wanted func(slackdouble.State) bool) slackdouble.State {
	c.t.Helper()
	now, ok := c.Await(wanted)
	if !ok {
		c.t.Fatalf("the channel never showed it: %+v", now)
	}
	return now
}

// changed is the first message once it was changed.
func (c channel) changed() slackdouble.Message {
	c.t.Helper()
	m := c.shows(func(s slackdouble.State) bool { return s.Messages[0].Changes > 0 }).Messages[0]
	if len(m.Buttons()) > 0 {
		c.t.Errorf("the message has still buttons: %s", m.Raw)
	}
	return m
}

// send posts what Slack sends, and returns the answer.
func (c channel) send(h http.Header, body string) (int, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), "POST", "http://"+c.Addr()+"/v1/hooks/slack", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = h
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// act sends what a member does, signed, and wants it to be accepted. It returns the answer.
func (c channel) act(body string) string {
	c.t.Helper()
	status, text := c.send(slackdouble.Sign(slackdouble.Key, time.Now(), body), body)
	if status != http.StatusOK {
		c.t.Fatalf("%d %s", status, text)
	}
	return text
}

// ends checks that nothing was wrong with the calls of the API, and that no secret was kept.
func (c channel) ends(refused int) {
	c.t.Helper()
	if faults := c.State().Faults; len(faults) != refused {
		c.t.Errorf("Slack refused: %s", faults)
	}
	c.end(c.t)
	c.rig.hides(slackdouble.Token)
	c.rig.hides(slackdouble.Key)
}

func TestAButtonInSlackApproves(t *testing.T) {
	c := newChannel(t, asked+slackTarget)
	run, m := c.asked()
	if len(m.Buttons()) != 3 || !strings.Contains(string(m.Raw), `"text":"amount: 5"`) && !strings.Contains(string(m.Raw), "amount") {
		t.Fatalf("%s", m.Raw)
	}
	press := c.Press("U0ANNA", m, m.Button("dormouse_approve"))
	if text := c.act(press); text != "" {
		t.Errorf("the answer is %s", text)
	}
	c.await(t, run.ID, "done")
	if now := c.changed(); now.Text != "Approved by hook:slack/U0ANNA: pay" || !strings.Contains(string(now.Raw), `Approved by <@U0ANNA>`) {
		t.Errorf("%s", now.Raw)
	}
	// the same press again is a repeat; another member is told who was first
	c.act(c.Press("U0ANNA", m, m.Button("dormouse_approve")))
	c.act(c.Press("U0BOB", m, m.Button("dormouse_deny")))
	now := c.shows(func(s slackdouble.State) bool { return len(s.Whispers) > 0 })
	if len(now.Whispers) != 1 || now.Whispers[0].User != "U0BOB" || !strings.Contains(now.Whispers[0].Text, "Already approved by <@U0ANNA>") || len(now.Dialogs) > 0 {
		t.Errorf("%+v", now)
	}
	if c.paid.Load() != 1 || len(now.Messages) != 1 {
		t.Errorf("paid %d times, %d messages", c.paid.Load(), len(now.Messages))
	}
	c.ends(0)
}

func TestADialogInSlackDeniesWithAReason(t *testing.T) {
	c := newChannel(t, asked+slackTarget)
	run, m := c.asked()
	c.act(c.Press("U0ANNA", m, m.Button("dormouse_deny")))
	dialog := c.shows(func(s slackdouble.State) bool { return len(s.Dialogs) == 1 }).Dialogs[0]
	if text := c.act(c.Submit(dialog, "a <!channel> duplicate")); text != "" {
		t.Errorf("the answer is %s", text)
	}
	c.await(t, run.ID, "done")
	if now := c.changed(); now.Text != "Denied by hook:slack/U0ANNA: pay" || !strings.Contains(string(now.Raw), "a &lt;!channel&gt; duplicate") {
		t.Errorf("%s", now.Raw)
	}
	// another member's dialog was still open
	dialog.User = "U0BOB"
	if text := c.act(c.Submit(dialog, "no")); !strings.Contains(text, `"response_action":"errors"`) || !strings.Contains(text, "Already denied by hook:slack/U0ANNA") {
		t.Errorf("%s", text)
	}
	if c.paid.Load() != 0 {
		t.Error("it paid")
	}
	c.ends(0)
}

func TestADecisionByTheAPIChangesTheMessage(t *testing.T) {
	c := newChannel(t, asked+slackTarget)
	run, m := c.asked()
	pending := c.await(t, run.ID, "waiting").Pending[0]
	if _, err := c.Decide(t.Context(), run.ID, wire.Decision{Target: pending.Suspension.ID, Action: "cancel", Reason: "duplicate"}); err != nil {
		t.Fatal(err)
	}
	if now := c.changed(); now.TS != m.TS || now.Text != "Denied by api: pay" || !strings.Contains(string(now.Raw), "duplicate") {
		t.Errorf("%s", now.Raw)
	}
	c.ends(0)
}

func TestOnlyApproversApproveInSlack(t *testing.T) {
	c := newChannel(t, "approvers: ['hook:slack/U0ANNA']\n"+strings.TrimPrefix(asked, "\n")+slackTarget)
	run, m := c.asked()
	c.act(c.Press("U0BOB", m, m.Button("dormouse_approve")))
	now := c.shows(func(s slackdouble.State) bool { return len(s.Whispers) == 1 })
	if w := now.Whispers[0]; w.User != "U0BOB" || !strings.HasPrefix(w.Text, "Nothing was changed: only the agent's approvers may approve pay") || now.Messages[0].Changes > 0 {
		t.Errorf("%+v", now)
	}
	c.act(c.Press("U0ANNA", m, m.Button("dormouse_approve")))
	c.await(t, run.ID, "done")
	c.changed()
	c.ends(0)
}

// The buttons of a question that an escalation has replaced do nothing, and go.
func TestAnEscalationReplacesTheButtons(t *testing.T) {
	c := newChannel(t, "groups:\n  team: ['hook:slack/U0ANNA']\n  board: ['hook:slack/U0BOB']\n"+
		"approvals:\n  default: {group: team, escalate: {after: 1s, to: board, replace: true}}\n"+strings.TrimPrefix(asked, "\n")+slackTarget)
	run, old := c.asked()
	now := c.shows(func(s slackdouble.State) bool { return len(s.Messages) == 2 })
	if m := c.changed(); m.Text != "Replaced by a newer question: pay" {
		t.Errorf("%s", m.Raw)
	}
	c.act(c.Press("U0ANNA", old, old.Button("dormouse_approve")))
	c.shows(func(s slackdouble.State) bool { return len(s.Whispers) == 1 })
	if c.paid.Load() > 0 {
		t.Error("a button of the group that was replaced approved")
	}
	c.act(c.Press("U0BOB", now.Messages[1], now.Messages[1].Button("dormouse_approve")))
	c.await(t, run.ID, "done")
	if c.paid.Load() != 1 {
		t.Errorf("paid %d times", c.paid.Load())
	}
	c.ends(0)
}

// A member's own vote is what a second answer of theirs meets, and the others have to vote yet.
func TestAVoteLeavesTheButtonsToTheOthers(t *testing.T) {
	c := newChannel(t, "groups:\n  team: ['hook:slack/U0ANNA', 'hook:slack/U0BOB', 'hook:slack/U0CY']\napprovals:\n  default: {group: team, need: 2}\n"+strings.TrimPrefix(asked, "\n")+slackTarget)
	run, m := c.asked()
	c.act(c.Press("U0ANNA", m, m.Button("dormouse_approve")))
	c.act(c.Press("U0ANNA", m, m.Button("dormouse_deny")))
	dialog := c.shows(func(s slackdouble.State) bool { return len(s.Dialogs) == 1 }).Dialogs[0]
	if text := c.act(c.Submit(dialog, "changed my mind")); !strings.Contains(text, "Already approved by hook:slack/U0ANNA") {
		t.Errorf("%s", text)
	}
	if now := c.State().Messages[0]; now.Changes > 0 || len(now.Buttons()) != 3 {
		t.Fatalf("the others can't answer any more: %s", now.Raw)
	}
	c.act(c.Press("U0BOB", m, m.Button("dormouse_approve")))
	c.await(t, run.ID, "done")
	c.changed()
	c.act(c.Press("U0CY", m, m.Button("dormouse_approve")))
	now := c.shows(func(s slackdouble.State) bool { return len(s.Whispers) == 1 && s.Messages[0].Changes > 1 })
	if w := now.Whispers[0]; w.User != "U0CY" || !strings.Contains(w.Text, "Already approved by <@U0") || c.paid.Load() != 1 {
		t.Errorf("%+v, paid %d times", w, c.paid.Load())
	}
	c.ends(0)
}

// Without the error, nobody would learn why a question that is over keeps its buttons.
func TestAMessageThatCannotBeChangedFromADialogIsAFailure(t *testing.T) {
	c := newChannel(t, asked+slackTarget)
	run, m := c.asked()
	c.act(c.Press("U0BOB", m, m.Button("dormouse_deny")))
	dialog := c.shows(func(s slackdouble.State) bool { return len(s.Dialogs) == 1 }).Dialogs[0]
	c.act(c.Press("U0ANNA", m, m.Button("dormouse_approve")))
	c.await(t, run.ID, "done")
	c.changed()
	c.FailNext(http.StatusOK, "internal_error")
	late := c.Submit(dialog, "no")
	if status, text := c.send(slackdouble.Sign(slackdouble.Key, time.Now(), late), late); status != http.StatusServiceUnavailable || !strings.Contains(text, "hook_unavailable") {
		t.Errorf("%d %s", status, text)
	}
	if text := c.act(late); !strings.Contains(text, "Already approved by hook:slack/U0ANNA") {
		t.Errorf("%s", text)
	}
	c.ends(0)
}

// Nothing that Slack did not sign, and no button that the server did not make for exactly this
// question, decides anything.
func TestForgedPressesDecideNothing(t *testing.T) {
	c := newChannel(t, asked+slackTarget)
	run, m := c.asked()
	_, other := c.asked()
	good := c.Press("U0ANNA", m, m.Button("dormouse_approve"))
	for name, h := range map[string]http.Header{
		"unsigned":    {},
		"another key": slackdouble.Sign("another", time.Now(), good),
		"another one": slackdouble.Sign(slackdouble.Key, time.Now(), good+"&x=1"),
		"too old":     slackdouble.Sign(slackdouble.Key, time.Now().Add(-6*time.Minute), good),
	} {
		if status, text := c.send(h, good); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	approve := m.Button("dormouse_approve")
	fingerprint := func(b slackdouble.Button) string { return b.Value[strings.Index(b.Value, `"f"`):] }
	for name, value := range map[string]string{"empty": "", "no JSON": "sus_1", "no fingerprint": `{"s":"sus_1"}`} {
		b := approve
		b.Value = value
		body := c.Press("U0ANNA", m, b)
		if status, text := c.send(slackdouble.Sign(slackdouble.Key, time.Now(), body), body); status != http.StatusUnprocessableEntity && status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	swapped := approve
	swapped.Value = strings.Replace(approve.Value, fingerprint(approve), fingerprint(other.Button("dormouse_approve")), 1)
	if swapped.Value == approve.Value {
		swapped.Value = strings.Replace(other.Button("dormouse_approve").Value, fingerprint(other.Button("dormouse_approve")), fingerprint(approve), 1)
	}
	c.act(c.Press("U0ANNA", m, swapped))
	c.shows(func(s slackdouble.State) bool {
		return len(s.Whispers) == 1 && strings.Contains(s.Whispers[0].Text, "the question has changed")
	})
	// of the member, and of the workspace
	for _, member := range []string{`"team_id":`, `"id":`} {
		outside := strings.ReplaceAll(good, url.QueryEscape(member+`"`+slackdouble.Team), url.QueryEscape(member+`"T0OTHER`))
		if status, _ := c.send(slackdouble.Sign(slackdouble.Key, time.Now(), outside), outside); outside == good || status == http.StatusOK {
			t.Errorf("with another %s a member was heard", member)
		}
	}
	if now := c.await(t, run.ID, "waiting"); len(now.Pending) != 1 || c.paid.Load() != 0 {
		t.Errorf("%+v, paid %d times", now, c.paid.Load())
	}
	c.ends(0)
}

// If the answer to a post is lost, the question is posted again, and the server knows nothing of
// the first message.
func TestAMessageThatTheServerDoesNotKnowIsChangedWhenItIsPressed(t *testing.T) {
	c := newChannel(t, asked+slackTarget)
	run, m := c.asked()
	lost := c.Copy(m)
	c.act(c.Press("U0ANNA", m, m.Button("dormouse_approve")))
	c.await(t, run.ID, "done")
	c.changed()
	c.act(c.Press("U0BOB", lost, lost.Button("dormouse_approve")))
	now := c.shows(func(s slackdouble.State) bool { return s.Messages[1].Changes > 0 })
	if m := now.Messages[1]; m.Text != "Already approved by <@U0ANNA>." || len(m.Buttons()) > 0 || c.paid.Load() != 1 {
		t.Errorf("%s, paid %d times", m.Raw, c.paid.Load())
	}
	c.ends(0)
}
