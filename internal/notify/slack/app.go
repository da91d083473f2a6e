package slack

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/frontend/hooks"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// API is the address of Slack's API.
const API = "https://slack.com/api"

// Messages stores which Slack message asks for which decision.
type Messages interface {
	// PutPosted records a message. If one is recorded for the same tenant, run, target and
	// suspension, it changes nothing.
	PutPosted(ctx context.Context, p notice.Posted) error

	// Posted returns the message recorded for the tenant, run, target and suspension of p. The
	// error is [engine.ErrNotFound] if there is none.
	Posted(ctx context.Context, p notice.Posted) (notice.Posted, error)
}

// AppOptions are what an app needs. All but API, Agent and Limit are required.
type AppOptions struct {
	Messages Messages
	Secrets  secret.Source
	Guard    http.RoundTripper // a [netguard.Guard]
	Clock    engine.Clock
	API      string        // [API] if empty
	Agent    string        // the User-Agent; "dormouse" if empty
	Limit    time.Duration // how long one call of the API may take; 10 seconds if zero
}

// App is a Slack app. It posts messages as a notify.Sender, and responds to their buttons as a
// hooks.SlackApp.
type App struct{ o AppOptions }

// NewApp returns an app. Each call uses the bot token that its target or hook names.
func NewApp(o AppOptions) *App {
	o.API = strings.TrimSuffix(cmp.Or(o.API, API), "/")
	o.Agent = cmp.Or(o.Agent, "dormouse")
	o.Limit = cmp.Or(o.Limit, 10*time.Second)
	return &App{o}
}

// post is the body of chat.postMessage and chat.update.
type post struct {
	message
	Channel   string `json:"channel"`
	TS        string `json:"ts,omitempty"`
	Thread    string `json:"thread_ts,omitempty"`       // the message that this one replies to
	Broadcast bool   `json:"reply_broadcast,omitempty"` // show a reply in the channel, too
}

// Send implements notify.Sender. It posts one message for each suspension, and replaces it with the
// decision, however the decision was made. Slack has no idempotency keys: if Slack's response to a
// post is lost, the message is posted again, and the first one keeps its buttons. A member who
// presses one of these reads what was decided, and the press updates the message.
func (a *App) Send(ctx context.Context, to notice.Target, n client.Notice) delivery.Result {
	if to.Slack == nil {
		return delivery.Result{Outcome: notice.Hopeless, Error: "the target names no channel"}
	}
	s := notify.Summarize(n)
	key := notice.Posted{Tenant: n.Tenant, Run: n.Event.RunID, Target: to.Name, Suspension: suspension(n)}
	if key.Suspension == "" {
		return a.post(ctx, to, post{message: compose(s), Channel: to.Slack.Channel}, nil)
	}
	if r := a.replaced(ctx, to, key, n, s); r.Outcome != notice.Delivered {
		return r
	}
	posted, err := a.o.Messages.Posted(ctx, key)
	there := err == nil
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return refused("which message asks could not be read")
	}
	switch decided := notice.Kind(n.Type) == notice.Decided; {
	case decided && there:
		return a.update(ctx, to, posted, n, s)
	case decided:
		return a.announce(ctx, to, n, s)
	case n.Approval == nil: // the call no longer waits; the notice of its decision says why
		return delivery.Result{Outcome: notice.Delivered}
	case there && again(n):
		return a.post(ctx, to, post{message: reminder(s), Channel: posted.Channel, Thread: posted.TS, Broadcast: true}, nil)
	// A worker posted the question and crashed before it recorded the delivery.
	case there:
		return delivery.Result{Outcome: notice.Delivered}
	}
	key.Channel, key.Tool, key.At = to.Slack.Channel, n.Approval.Tool, a.o.Clock.Now().UnixMilli()
	return a.post(ctx, to, post{message: question(s, *n.Approval), Channel: key.Channel}, &key)
}

// suspension returns the id of the suspension that a notice is about, or "".
func suspension(n client.Notice) string {
	if n.Approval != nil {
		return n.Approval.Suspension.ID
	}
	return notify.SuspensionOf(n.Event.Data)
}

// again reports whether people may have been asked the question of a notice before.
func again(n client.Notice) bool { return notice.Kind(n.Type) != notice.Suspended }

// reminder is a reply to the question. It has no buttons, because the question has them.
func reminder(s notify.Summary) message {
	return compose(notify.Summary{Title: s.Title, Facts: s.Facts})
}

// question is a message with buttons. It omits the Approve button if the arguments don't fit,
// because an approver must see all of them.
func question(s notify.Summary, a client.Approval) message {
	m := compose(s)
	if a.Kind != client.KindApproval || a.Fingerprint == "" {
		return m
	}
	b := block{Type: "actions"}
	value := string(core.Encode(hooks.SlackQuestion{Suspension: a.Suspension.ID, Shown: a.Fingerprint}))
	add := func(id, label, style, url string) {
		e := button{Type: "button", ID: id, Text: plain(label, mostButton), URL: url, Style: style}
		if url == "" {
			e.Value = value
		}
		b.Elements = append(b.Elements, e)
	}
	if !s.Cut && whole(s) {
		add(hooks.SlackApprove, "Approve", "primary", "")
	}
	add(hooks.SlackDeny, "Deny…", "danger", "")
	if s.Links != nil {
		add("show", "Show", "", s.Links.Show)
	}
	m.Blocks = append(m.Blocks, b)
	return m
}

const mostButton = 75

// whole reports whether the title and each text fit into their blocks.
func whole(s notify.Summary) bool {
	cut := func(t notify.Passage) bool { return !fits(t.Text, mostText) }
	return fits(s.Title, mostHeader) && !slices.ContainsFunc(s.Texts, cut) && len(s.Facts)+2*len(s.Texts) < mostBlocks/2
}

// update replaces the question with the decision.
func (a *App) update(ctx context.Context, to notice.Target, p notice.Posted, n client.Notice, s notify.Summary) delivery.Result {
	m := decided(n, s, p.Tool)
	_, failed := a.call(ctx, to.Slack.Token, "chat.update", post{message: m, Channel: p.Channel, TS: p.TS})
	return failed.result()
}

// announce posts the decision about a question that was never posted, if the target lists
// decisions.
func (a *App) announce(ctx context.Context, to notice.Target, n client.Notice, s notify.Summary) delivery.Result {
	if _, wanted := (notice.Set)(to.On).Of(core.Event{Type: core.EventType(n.Event.Type), Data: n.Event.Data}); !wanted {
		return delivery.Result{Outcome: notice.Delivered}
	}
	return a.post(ctx, to, post{message: decided(n, s, ""), Channel: to.Slack.Channel}, nil)
}

// post posts a message. If asks isn't nil, post records the message as the question.
func (a *App) post(ctx context.Context, to notice.Target, m post, asks *notice.Posted) delivery.Result {
	answer, failed := a.call(ctx, to.Slack.Token, "chat.postMessage", m)
	if failed != nil || asks == nil {
		return failed.result()
	}
	if answer.TS == "" {
		return refused("Slack named no message")
	}
	if asks.TS = answer.TS; answer.Channel != "" {
		asks.Channel = answer.Channel
	}
	// record the post even if ctx has ended
	if err := a.o.Messages.PutPosted(context.WithoutCancel(ctx), *asks); err != nil {
		return refused("the message was posted, and could not be recorded")
	}
	return failed.result()
}

func refused(why string) delivery.Result {
	return delivery.Result{Outcome: notice.Refused, Error: why}
}
