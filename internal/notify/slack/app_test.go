package slack_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend/hooks"
	"github.com/dormouse-dev/dormouse/internal/notify/slack"
	"github.com/dormouse-dev/dormouse/internal/proof/slackdouble"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// kept are messages in memory.
type kept struct {
	mu   sync.Mutex
	all  map[notice.Posted]notice.Posted
	fail error
}

func keyOf(p notice.Posted) notice.Posted {
	return notice.Posted{Tenant: p.Tenant, Run: p.Run, Target: p.Target, Suspension: p.Suspension}
}

func (k *kept) PutPosted(_ context.Context, p notice.Posted) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, there := k.all[keyOf(p)]; !there && k.fail == nil {
		k.all[keyOf(p)] = p
	}
	return k.fail
}

func (k *kept) Posted(_ context.Context, p notice.Posted) (notice.Posted, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, there := k.all[keyOf(p)]
	if !there {
		return found, engine.ErrNotFound
	}
	return found, nil
}

type desk struct {
	*testing.T
	*slackdouble.Slack
	app   *slack.App
	kept  *kept
	clock *enginetest.Clock
}

func newDesk(t *testing.T) desk {
	d := desk{T: t, Slack: slackdouble.New(), kept: &kept{all: map[notice.Posted]notice.Posted{}}, clock: enginetest.NewClock(time.Unix(1_700_000_000, 0))}
	t.Cleanup(d.Close)
	d.Now = d.clock.Now
	find := secret.Source(func(_ context.Context, name string) (string, error) {
		if name == "WRONG" {
			return "xoxb-wrong", nil
		}
		if name != "SLACK_TOKEN" {
			return "", secret.ErrNotSet
		}
		return slackdouble.Token, nil
	})
	d.app = slack.NewApp(slack.AppOptions{Messages: d.kept, Secrets: find, Guard: http.DefaultTransport, Clock: d.clock, API: d.API()})
	return d
}

var room = notice.Target{Name: "desk", On: notice.Set{notice.Suspended}, Slack: &notice.SlackChannel{Channel: slackdouble.Channel, Token: "SLACK_TOKEN"}}

// waits is a notice of a call that waits.
func waits(kind, arguments string) client.Notice {
	n := client.Notice{ID: "run_a:7", Type: kind, Tenant: "acme", Event: client.Event{RunID: "run_a", Type: "call.suspended", Data: json.RawMessage(`{"suspension":{"id":"sus_1"}}`)}}
	n.Approval = &client.Approval{RunID: "run_a", Agent: "desk", Pending: client.Pending{Kind: client.KindApproval, Tool: "pay", Arguments: json.RawMessage(arguments),
		Suspension: client.Suspension{ID: "sus_1"}, Fingerprint: "v1:abc"}}
	return n
}

func decided() client.Notice {
	data := `{"suspension":"sus_1","call_id":"c1","action":"resume","by":"token:anna","via":"api","applied":true}`
	return client.Notice{ID: "run_a:9", Type: client.NoticeDecided, Tenant: "acme", Event: client.Event{RunID: "run_a", Type: "decision.recorded", Data: json.RawMessage(data)}}
}

func (d desk) send(to notice.Target, n client.Notice, want notice.Outcome) delivery.Result {
	d.Helper()
	r := d.app.Send(d.Context(), to, n)
	if r.Outcome != want || (r.Error == "") != (want == notice.Delivered) || strings.Contains(r.Error, "xoxb") {
		d.Errorf("%s: %+v, want %d", n.Type, r, want)
	}
	return r
}

func TestOneMessageAsksAndReceivesTheDecision(t *testing.T) {
	d := newDesk(t)
	for range 2 {
		d.send(room, waits(client.NoticeSuspended, `{"amount":5}`), notice.Delivered)
	}
	for range 2 {
		d.send(room, decided(), notice.Delivered)
	}
	now := d.State()
	if len(now.Messages) != 1 || len(now.Faults) > 0 {
		t.Fatalf("%+v", now)
	}
	asked := now.Messages[0]
	if asked.Changes != 2 || asked.Text != "Approved by token:anna, by api: pay" || len(asked.Buttons()) > 0 {
		t.Errorf("%s", asked.Raw)
	}
}

// The run was cancelled: the question loses its buttons, and does not look approved.
func TestAQuestionOfARunThatEndedLosesItsButtons(t *testing.T) {
	d := newDesk(t)
	d.send(room, waits(client.NoticeSuspended, `{"amount":5}`), notice.Delivered)
	n := decided()
	n.Event.Type, n.Event.Data = client.EventCallCancelled, json.RawMessage(`{"suspension":"sus_1","call_id":"c1","status":"cancelled"}`)
	d.send(room, n, notice.Delivered)
	now := d.State().Messages
	if len(now) != 1 || now[0].Text != "No answer is needed any more: pay" || len(now[0].Buttons()) > 0 {
		t.Errorf("%s", now[0].Raw)
	}
}

// An escalation, a next stage or an edit asks anew: the first question loses its buttons, whether
// the second still waits or not.
func TestAQuestionThatWasReplacedLosesItsButtons(t *testing.T) {
	next := waits(client.NoticeSuspended, `{"amount":5}`)
	next.Approval.Suspension.ID = "sus_2"
	next.Event.Data = json.RawMessage(`{"suspension":{"id":"sus_2"},"follows":"sus_1"}`)
	over := next
	over.Approval = nil
	for name, c := range map[string]struct {
		first    bool
		n        client.Notice
		messages int
	}{
		"waiting":      {true, next, 2},
		"over":         {true, over, 1},
		"never posted": {false, next, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			if c.first {
				d.send(room, waits(client.NoticeSuspended, `{"amount":5}`), notice.Delivered)
			}
			d.send(room, c.n, notice.Delivered)
			now := d.State()
			if len(now.Messages) != c.messages || len(now.Faults) > 0 {
				t.Fatalf("%+v", now)
			}
			if first := now.Messages[0]; c.first && (first.Text != "Replaced by a newer question: pay" || len(first.Buttons()) > 0) {
				t.Errorf("%s", first.Raw)
			}
			if last := now.Messages[c.messages-1]; c.n.Approval != nil && len(last.Buttons()) == 0 {
				t.Errorf("the new question: %s", last.Raw)
			}
		})
	}
}

// A reminder answers the question, which keeps its buttons. Without a question, it is one itself.
func TestAReminderPointsToItsQuestion(t *testing.T) {
	d := newDesk(t)
	again := waits(client.NoticeReminded, `{"amount":5}`)
	again.Event.Type = client.EventCallReminded
	d.send(room, again, notice.Delivered)
	d.send(room, again, notice.Delivered)
	now := d.State()
	if len(now.Messages) != 2 || len(now.Faults) > 0 {
		t.Fatalf("%+v", now)
	}
	asked, reminder := now.Messages[0], now.Messages[1]
	if asked.Text != "Reminder: Approval needed: pay" || len(asked.Buttons()) == 0 || asked.Thread != "" {
		t.Errorf("the question: %s", asked.Raw)
	}
	if reminder.Text != asked.Text || len(reminder.Buttons()) > 0 || reminder.Thread != asked.TS || !strings.Contains(string(reminder.Raw), `"reply_broadcast":true`) {
		t.Errorf("the reminder: %s", reminder.Raw)
	}
	d.send(room, decided(), notice.Delivered)
	if asked = d.State().Messages[0]; asked.Changes != 1 || len(asked.Buttons()) > 0 {
		t.Errorf("after the decision: %s", asked.Raw)
	}
}

// Slack refuses a message with a mistake in one block, which would leave the question its buttons.
func TestAMemberWhoDecidedIsMentioned(t *testing.T) {
	d := newDesk(t)
	d.send(room, waits(client.NoticeSuspended, `{}`), notice.Delivered)
	n := decided()
	n.Event.Data = json.RawMessage(`{"suspension":"sus_1","call_id":"c1","action":"resume","by":"hook:slack/U0ANNA","via":"hook","applied":true}`)
	d.send(room, n, notice.Delivered)
	if now := d.State(); now.Messages[0].Changes != 1 || !strings.Contains(string(now.Messages[0].Raw), "Approved by <@U0ANNA>") {
		t.Errorf("%+v", now)
	}
}

func TestAQuestionThatIsNotShownInFullHasNoButtonThatApproves(t *testing.T) {
	truncated := waits(client.NoticeSuspended, `{"amount":5}`)
	truncated.Truncated = []string{"approval.preview"}
	unread := waits(client.NoticeSuspended, `{"amount":5}`)
	unread.Error = &client.RunError{Detail: "unreadable"}
	preview := waits(client.NoticeSuspended, `{"amount":5}`)
	preview.Approval.Preview = &client.Preview{Text: strings.Repeat("a line\n", 400)}
	for name, n := range map[string]client.Notice{
		"long":      waits(client.NoticeSuspended, `{"text":"`+strings.Repeat("long ", 600)+`"}`),
		"escaped":   waits(client.NoticeSuspended, `{"text":"`+strings.Repeat("& ", 1000)+`"}`),
		"left out":  waits(client.NoticeSuspended, ``),
		"truncated": truncated, "unread": unread, "preview": preview,
	} {
		d := newDesk(t)
		d.send(room, n, notice.Delivered)
		now := d.State()
		if len(now.Messages) != 1 || now.Messages[0].Button(hooks.SlackApprove).Value != "" || now.Messages[0].Button(hooks.SlackDeny).Value == "" {
			t.Errorf("%s: %+v", name, now)
		}
	}
}

// A text is approved only if it is shown in full: 3000 characters are what a block of Slack holds.
func TestATextThatJustFitsHasAButtonThatApproves(t *testing.T) {
	for _, c := range []struct {
		char  string
		shown string
	}{{"\u200b", `\u200b`}, {"&", "&amp;"}} {
		for length, approves := range map[int]bool{2999: true, 3000: true, 3001: false} {
			many := 400
			rest := strings.Repeat("x", length-many*len(c.shown))
			n := waits(client.NoticeSuspended, `{"amount":5}`)
			n.Approval.Preview = &client.Preview{Text: strings.Repeat(c.char, many) + rest}
			d := newDesk(t)
			d.send(room, n, notice.Delivered)
			m := d.State().Messages[0]
			var blocks struct {
				Blocks []struct{ Text struct{ Text string } }
			}
			if err := json.Unmarshal(m.Raw, &blocks); err != nil {
				t.Fatal(err)
			}
			shown := false
			for _, b := range blocks.Blocks {
				shown = shown || b.Text.Text == strings.Repeat(c.shown, many)+rest
			}
			if shown != approves || (m.Button(hooks.SlackApprove).Value != "") != approves {
				t.Errorf("%d characters of %q: shown %t, button %+v", length, c.shown, shown, m.Button(hooks.SlackApprove))
			}
		}
	}
}

func TestACallThatWaitsForAnotherAnswerHasNoButtons(t *testing.T) {
	d := newDesk(t)
	n := waits(client.NoticeSuspended, `{"amount":5}`)
	n.Approval.Kind = client.KindClient
	d.send(room, n, notice.Delivered)
	if now := d.State(); len(now.Messages) != 1 || len(now.Messages[0].Buttons()) != 0 {
		t.Errorf("%+v", now)
	}
}

func TestWhatSlackRefuses(t *testing.T) {
	for code, want := range map[string]notice.Outcome{"ratelimited": notice.Refused, "channel_not_found": notice.Refused, "invalid_auth": notice.Refused,
		"not_in_channel": notice.Refused, "internal_error": notice.Refused, "<b>": notice.Refused, "is_archived": notice.Hopeless, "invalid_blocks": notice.Hopeless} {
		d := newDesk(t)
		d.FailNext(http.StatusOK, code)
		if r := d.send(room, waits(client.NoticeSuspended, `{}`), want); strings.Contains(r.Error, "<") || code[0] != '<' && !strings.Contains(r.Error, code) {
			t.Errorf("%s: %+v", code, r)
		}
	}
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusFound} {
		d := newDesk(t)
		d.FailNext(status, "")
		if r := d.send(room, waits(client.NoticeSuspended, `{}`), notice.Refused); r.Status != status {
			t.Errorf("%d: %+v", status, r)
		}
	}
	d := newDesk(t)
	for _, to := range []notice.SlackChannel{{Channel: slackdouble.Channel, Token: "WRONG"}, {Channel: slackdouble.Channel, Token: "MISSING"}, {Channel: "C0OTHER", Token: "SLACK_TOKEN"}} {
		d.send(notice.Target{Name: "desk", Slack: &to}, waits(client.NoticeSuspended, `{}`), notice.Refused)
	}
	if now := d.State(); len(now.Messages) > 0 {
		t.Errorf("%+v", now)
	}
}

// A message whose answer was lost is posted again, and the second one is changed.
func TestAPostWhoseAnswerWasLost(t *testing.T) {
	d := newDesk(t)
	d.LoseNext()
	d.send(room, waits(client.NoticeSuspended, `{}`), notice.Refused)
	d.send(room, waits(client.NoticeSuspended, `{}`), notice.Delivered)
	d.send(room, decided(), notice.Delivered)
	if now := d.State(); len(now.Messages) != 2 || now.Messages[0].Changes != 0 || now.Messages[1].Changes != 1 {
		t.Errorf("%+v", now)
	}
}

func TestADecisionOnAQuestionThatWasNotPosted(t *testing.T) {
	d := newDesk(t)
	d.send(room, decided(), notice.Delivered) // implied, not asked for
	gone := waits(client.NoticeSuspended, `{}`)
	gone.Approval = nil
	d.send(room, gone, notice.Delivered)
	if now := d.State(); len(now.Messages) > 0 {
		t.Errorf("%+v", now)
	}
	all := room
	all.On = notice.Set{notice.Decided}
	d.send(all, decided(), notice.Delivered)
	if now := d.State(); len(now.Messages) != 1 || now.Messages[0].Text != "Approved by token:anna, by api" {
		t.Errorf("%+v", now)
	}
}

// Who decided is mentioned. What callers wrote is plain text, and mentions none.
func TestOnlyTheCallerOfADecisionIsMentioned(t *testing.T) {
	const evil = "*ask* hook:slack/U0EVE, <@U0EVE> or <!here>"
	for name, c := range map[string]struct {
		words  hooks.SlackWords
		text   string
		marked []string
	}{
		"a member":          {hooks.SlackWords{Text: "Already denied", By: "hook:slack/U0ANNA", Reason: evil}, "Already denied by <@U0ANNA> (*ask* hook:slack/U0EVE, &lt;@U0EVE&gt; or &lt;!here&gt;).", []string{"by <@U0ANNA>"}},
		"no reason":         {hooks.SlackWords{Text: "Already approved", By: "hook:slack/U0ANNA"}, "Already approved by <@U0ANNA>.", []string{"by <@U0ANNA>."}},
		"another caller":    {hooks.SlackWords{Text: "Already approved", By: "link:<!here> hook:slack/U0EVE"}, "Already approved by link:&lt;!here&gt; hook:slack/U0EVE.", nil},
		"a name of no form": {hooks.SlackWords{Text: "Already approved", By: "hook:slack/U0EVE> <!here"}, "Already approved by hook:slack/U0EVE&gt; &lt;!here.", nil},
		"no caller":         {hooks.SlackWords{Text: evil}, "*ask* hook:slack/U0EVE, &lt;@U0EVE&gt; or &lt;!here&gt;.", nil},
		"no one's reason":   {hooks.SlackWords{Text: "Already denied", Reason: "hook:slack/U0EVE"}, "Already denied (hook:slack/U0EVE).", nil},
	} {
		d := newDesk(t)
		d.send(room, waits(client.NoticeSuspended, `{}`), notice.Delivered)
		m := hooks.SlackMessage{Channel: slackdouble.Channel, TS: d.State().Messages[0].TS}
		if err := errors.Join(d.app.Whisper(t.Context(), "SLACK_TOKEN", "U0BOB", m, c.words), d.app.Close(t.Context(), "SLACK_TOKEN", m, c.words)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		now := d.State()
		for _, shows := range []slackdouble.Message{{Text: now.Whispers[0].Text, Raw: now.Whispers[0].Raw}, now.Messages[0]} {
			var shown struct {
				Blocks []struct{ Elements []slackdouble.Text }
			}
			var marked []string
			if err := json.Unmarshal(shows.Raw, &shown); err != nil || len(shown.Blocks) != 1 {
				t.Fatalf("%s: %s, %v", name, shows.Raw, err)
			}
			for _, e := range shown.Blocks[0].Elements {
				if e.Type != "plain_text" {
					marked = append(marked, e.Text)
				}
			}
			if shows.Text != c.text || !slices.Equal(marked, c.marked) {
				t.Errorf("%s: %q, markup %q", name, shows.Text, marked)
			}
		}
	}
}

func TestADialogNeedsItsTriggerWithinThreeSeconds(t *testing.T) {
	d := newDesk(t)
	m := hooks.SlackMessage{SlackQuestion: hooks.SlackQuestion{Suspension: "sus_1", Shown: "v1:abc"}, Channel: slackdouble.Channel, TS: "1.1"}
	open := func(trigger string) error { return d.app.OpenReason(t.Context(), "SLACK_TOKEN", trigger, m) }
	trigger := d.Trigger("U0ANNA")
	if err := open(trigger); err != nil {
		t.Fatal(err)
	}
	if err := open(trigger); err == nil || !strings.Contains(err.Error(), "exchanged_trigger_id") {
		t.Errorf("the trigger again: %v", err)
	}
	trigger = d.Trigger("U0ANNA")
	d.clock.Advance(4 * time.Second)
	if err := open(trigger); err == nil || !strings.Contains(err.Error(), "expired_trigger_id") {
		t.Errorf("too late: %v", err)
	}
}
