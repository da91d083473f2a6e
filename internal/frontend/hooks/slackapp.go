package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Ids of the buttons, the dialog and its input.
const (
	SlackApprove = "dormouse_approve"
	SlackDeny    = "dormouse_deny"
	SlackReason  = "reason"
)

// SlackQuestion is the value of a button: which question its message shows. A member who forges the
// value can only name a question whose fingerprint they know.
type SlackQuestion struct {
	Suspension string `json:"s"`
	Shown      string `json:"f"` // the fingerprint
}

// SlackMessage is a message with a question. The dialog carries it.
type SlackMessage struct {
	SlackQuestion
	Channel string `json:"c"`
	TS      string `json:"t"`
}

// SlackApp is what the buttons need of Slack. Token is the name of the secret with the bot token.
// No error holds its value.
type SlackApp interface {
	// OpenReason opens the dialog that asks why a call is denied. A trigger works once, within
	// three seconds.
	OpenReason(ctx context.Context, token, trigger string, m SlackMessage) error

	// Whisper shows words to one member of the message's channel.
	Whisper(ctx context.Context, token, user string, m SlackMessage, words SlackWords) error

	// Close puts words in the place of a message that asks no more.
	Close(ctx context.Context, token string, m SlackMessage, words SlackWords) error
}

// SlackWords are a sentence for members of Slack. Only By may become a mention: the rest may hold
// what a caller or a model wrote.
type SlackWords struct {
	Text   string
	By     string // the caller who did it; "" if it names none
	Reason string // as that caller gave it
}

// String is the sentence.
func (w SlackWords) String() string { return strings.Join(w.Parts(), " ") }

// Parts are what Text, By and Reason, if they are there, add to the sentence.
func (w SlackWords) Parts() []string {
	parts := []string{w.Text}
	if w.By != "" {
		parts = append(parts, "by "+w.By)
	}
	if w.Reason != "" {
		parts = append(parts, "("+w.Reason+")")
	}
	parts[len(parts)-1] += "."
	return parts
}

// press is what a member of Slack did, in a message or in the dialog that it opened.
type press struct {
	SlackMessage
	action, user, trigger, reason string
	dialog                        bool
}

// slackApp acts on a button or a submitted dialog of a Slack app. A decision is refused by the same
// rules as everywhere; its sender reads why in Slack.
func (r *Receiver) slackApp(ctx context.Context, h hookfile.Hook, body agent.Values, admit func(string, pace.Kind) error) (wire.HookAnswer, error) {
	p, ours, err := readPress(h, body)
	if err != nil || !ours {
		return wire.HookAnswer{}, err
	}
	if r.Slack == nil {
		return wire.HookAnswer{}, notReady(fmt.Errorf("hook %s: this server has no Slack app", h.Name))
	}
	if admit != nil {
		if err := admit(h.Tenant, pace.Decisions); err != nil {
			return wire.HookAnswer{}, err
		}
	}
	if p.action == SlackDeny && !p.dialog {
		err = r.askReason(ctx, h, p)
	} else {
		err = r.decidePressed(ctx, h, p)
	}
	if err == nil {
		return wire.HookAnswer{}, nil
	}
	return r.explain(ctx, h, p, err)
}

var memberForm = lazyregexp.New(`^[UW][A-Z0-9]{2,30}$`)

// readPress reads what a member did; ours is false for what needs no act, such as a button that
// opens a link.
func readPress(h hookfile.Hook, body agent.Values) (p press, ours bool, err error) {
	at := func(path string) string { text, _ := body.Text(path); return text }
	var packed string
	switch kind := at("type"); {
	case kind == "view_submission" && at("view.callback_id") == SlackDeny:
		p.action, p.dialog, packed = SlackDeny, true, at("view.private_metadata")
		p.reason = strings.TrimSpace(at("view.state.values." + SlackReason + "." + SlackReason + ".value"))
	case kind == "block_actions" && (at("actions.0.action_id") == SlackApprove || at("actions.0.action_id") == SlackDeny):
		p.action, p.trigger, packed = at("actions.0.action_id"), at("trigger_id"), at("actions.0.value")
	default:
		return p, false, nil
	}
	if json.Unmarshal([]byte(packed), &p.SlackMessage) != nil || p.Suspension == "" || p.Shown == "" {
		return p, false, refusal.New(refusal.CodeHookMismatch, "the button is not one of this app; nothing was done")
	}
	if !p.dialog {
		p.Channel, p.TS = at("container.channel_id"), at("container.message_ts")
	}
	// members of other workspaces see the messages of shared channels
	if p.user = at("user.id"); !memberForm.MatchString(p.user) || at("team.id") != h.SlackApp.Team || at("user.team_id") != "" && at("user.team_id") != h.SlackApp.Team {
		return p, false, refusal.New(refusal.CodeHookMismatch, "the member does not belong to the workspace of this hook; nothing was done")
	}
	return p, true, nil
}

// askReason opens the dialog, unless there is nothing to deny any more.
func (r *Receiver) askReason(ctx context.Context, h hookfile.Hook, p press) error {
	place, err := r.reached(ctx, h, h.Tenant, p.Suspension)
	if err != nil {
		return err
	}
	if !journal.OpenSuspensions(place)[p.Suspension] {
		return r.decidePressed(ctx, h, p) // which says why not
	}
	if err := r.Slack.OpenReason(ctx, h.SlackApp.Token, p.trigger, p.SlackMessage); err != nil {
		return notReady(fmt.Errorf("hook %s: opening the dialog: %w", h.Name, err))
	}
	return nil
}

// decidePressed stores the decision. Its id names the suspension, the member and the action, so
// that a second press is a repeat.
func (r *Receiver) decidePressed(ctx context.Context, h hookfile.Hook, p press) error {
	d := wire.Decision{Target: p.Suspension, Action: core.ActionResume.String(), Shown: p.Shown, ShownBy: "slack"}
	if p.action == SlackDeny {
		d.Action, d.Reason = core.ActionCancel.String(), p.reason
	}
	c := frontend.Caller{Tenant: h.Tenant, By: h.Principal(p.user), Via: frontend.ViaHook}
	id := core.Digest([]byte(p.Suspension + "\x00" + p.user + "\x00" + d.Action))
	_, err := r.decide(ctx, h, c, frontend.HookKeys+h.Name+":"+id, d)
	return err
}

// over are the refusals after which a question takes no more answers.
var over = map[refusal.Code]string{
	refusal.CodeLateDecision:    "Its deadline has passed",
	refusal.CodeNotSuspended:    "It no longer waits",
	refusal.CodeRunDone:         "Its run has ended",
	refusal.CodeStaleSuspension: "It was asked again",
}

// explain shows the member why nothing was done: in the dialog, or in the channel. Only a failure
// of this server is an error, at which Slack shows a warning.
func (r *Receiver) explain(ctx context.Context, h hookfile.Hook, p press, err error) (wire.HookAnswer, error) {
	e, refused := errors.AsType[*refusal.Error](err)
	if !refused || errors.Is(err, engine.ErrUnavailable) || e.Code == refusal.CodeHookUnavailable {
		return wire.HookAnswer{}, err
	}
	why, closed := over[e.Code]
	words, lead := SlackWords{Text: why}, "Nothing was changed. "
	switch {
	case e.Winner != nil:
		words, closed = winning(*e.Winner), e.Winner.Votes != nil || !r.stillOpen(ctx, h, p)
	case !closed:
		words.Text, lead = e.Detail, "Nothing was changed: "
	}
	err = nil
	if closed {
		err = r.Slack.Close(ctx, h.SlackApp.Token, p.SlackMessage, words)
	}
	answer := wire.HookAnswer{ResponseAction: "errors", Errors: &wire.HookErrors{Reason: words.String()}}
	if !p.dialog {
		answer = wire.HookAnswer{}
		words.Text = lead + words.Text
		err = errors.Join(err, r.Slack.Whisper(ctx, h.SlackApp.Token, p.user, p.SlackMessage, words))
	}
	if err != nil {
		return wire.HookAnswer{}, notReady(fmt.Errorf("hook %s: %w", h.Name, err))
	}
	return answer, nil
}

// stillOpen says whether others may still answer. The winner can be the member's own vote, while
// more people must vote. If it isn't known now, the message keeps its buttons.
func (r *Receiver) stillOpen(ctx context.Context, h hookfile.Hook, p press) bool {
	place, err := r.reached(ctx, h, h.Tenant, p.Suspension)
	return err != nil || journal.OpenSuspensions(place)[p.Suspension]
}

func winning(w wire.Winner) SlackWords {
	did := "Already approved"
	if w.Action == core.ActionCancel.String() {
		did = "Already denied"
	}
	return SlackWords{did, w.By, w.Reason}
}
