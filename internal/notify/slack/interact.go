package slack

import (
	"context"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/hooks"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// view is a dialog, which Slack calls a modal.
type view struct {
	Type     string `json:"type"`
	Callback string `json:"callback_id"`
	Private  string `json:"private_metadata"`
	Title    *text  `json:"title"`
	Submit   *text  `json:"submit"`
	Close    *text  `json:"close"`
	Blocks   []any  `json:"blocks"`
}

type input struct {
	Type    string  `json:"type"`
	ID      string  `json:"block_id"`
	Label   *text   `json:"label"`
	Element element `json:"element"`
}

type element struct {
	Type      string `json:"type"`
	ID        string `json:"action_id"`
	Multiline bool   `json:"multiline"`
	Longest   int    `json:"max_length"`
}

// mostTitle is how many characters the title and the buttons of a dialog may have.
const mostTitle = 24

// OpenReason implements hooks.SlackApp.
func (a *App) OpenReason(ctx context.Context, token, trigger string, m hooks.SlackMessage) error {
	v := view{Type: "modal", Callback: hooks.SlackDeny, Private: string(core.Encode(m)), Title: plain("Deny", mostTitle), Submit: plain("Deny", mostTitle),
		Close: plain("Go back", mostTitle), Blocks: []any{input{Type: "input", ID: hooks.SlackReason, Label: plain("Reason, which the agent reads", mostText),
			Element: element{Type: "plain_text_input", ID: hooks.SlackReason, Multiline: true, Longest: mostReason}}}}
	_, failed := a.call(ctx, token, "views.open", struct {
		Trigger string `json:"trigger_id"`
		View    view   `json:"view"`
	}{trigger, v})
	return failed.err()
}

// mostReason is how many characters a reason may have.
const mostReason = 1000

// Whisper implements hooks.SlackApp.
func (a *App) Whisper(ctx context.Context, token, user string, m hooks.SlackMessage, words hooks.SlackWords) error {
	_, failed := a.call(ctx, token, "chat.postEphemeral", struct {
		Channel string  `json:"channel"`
		User    string  `json:"user"`
		Text    string  `json:"text"`
		Blocks  []block `json:"blocks"`
	}{m.Channel, user, said(words), spoken(words)})
	return failed.err()
}

// Close implements hooks.SlackApp.
func (a *App) Close(ctx context.Context, token string, m hooks.SlackMessage, words hooks.SlackWords) error {
	_, failed := a.call(ctx, token, "chat.update", post{message: message{Text: said(words), Parse: "none", Blocks: spoken(words)}, Channel: m.Channel, TS: m.TS})
	return failed.err()
}

// spoken writes a sentence that can mention only the caller. The rest is plain text, in which Slack
// interprets no markup.
func spoken(words hooks.SlackWords) []block {
	b := block{Type: "context"}
	for i, part := range words.Parts() {
		b.Elements = append(b.Elements, plain(printable.Text(part), mostText-1000))
		if mention, is := mentioned(words, i, part); is {
			b.Elements[i] = marked(mention)
		}
	}
	return []block{b}
}

// said writes the same sentence as one text, for notifications.
func said(words hooks.SlackWords) string {
	parts := words.Parts()
	for i, part := range parts {
		parts[i] = escaped(printable.Text(part), mostText-1000)
		if mention, is := mentioned(words, i, part); is {
			parts[i] = mention
		}
	}
	return strings.Join(parts, " ")
}

// mentioned turns the caller's name in part i of a sentence into a mention. It returns false if
// that part doesn't name a member of Slack.
func mentioned(words hooks.SlackWords, i int, part string) (string, bool) {
	id := member.FindStringSubmatch(words.By)
	if i != 1 || id == nil {
		return "", false
	}
	return strings.Replace(part, words.By, "<@"+id[1]+">", 1), true
}

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	return f
}
