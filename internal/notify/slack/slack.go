// Package slack sends notices to Slack in two ways: as messages for an incoming webhook, and as
// posts of a Slack app, whose buttons decide. Text from models and callers goes into plain text
// objects with Slack's control characters escaped, so it can't mention anyone or disguise a link.
package slack

import (
	"strings"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// The limits of Slack, in characters and blocks.
const (
	mostHeader = 150
	mostText   = 3000
	mostBlocks = 50
)

// message is the body of an incoming webhook.
type message struct {
	Text        string  `json:"text"` // what notifications show
	Mrkdwn      bool    `json:"mrkdwn"`
	Parse       string  `json:"parse"`
	LinkNames   bool    `json:"link_names"`
	UnfurlLinks bool    `json:"unfurl_links"` // false: Slack doesn't open links to preview them
	UnfurlMedia bool    `json:"unfurl_media"`
	Blocks      []block `json:"blocks"`
}

type block struct {
	Type     string `json:"type"`
	Text     *text  `json:"text,omitempty"`
	Elements []any  `json:"elements,omitempty"`
}

type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// False shows :name: as it is. Slack refuses this member in mrkdwn.
	Emoji *bool `json:"emoji,omitempty"`
}

type button struct {
	Type  string `json:"type"`
	ID    string `json:"action_id"`
	Text  *text  `json:"text"`
	URL   string `json:"url,omitempty"`
	Value string `json:"value,omitempty"`
	Style string `json:"style,omitempty"`
}

// Message is the body of [notice.FormatSlack].
func Message(n client.Notice, _ notice.Target, _ secret.Values) ([]byte, error) {
	s := notify.Summarize(n)
	m := compose(s)
	if s.Links != nil {
		m.Blocks = append(m.Blocks, buttons(*s.Links))
	}
	return core.EncodeAny(m)
}

// compose writes a message and leaves room for one more block, such as buttons.
func compose(s notify.Summary) message {
	m := message{Text: escaped(s.Title, mostText), Parse: "none", Blocks: []block{{Type: "header", Text: plain(s.Title, mostHeader)}}}
	var facts []string
	for _, f := range s.Facts {
		facts = append(facts, f.Label+": "+f.Text)
	}
	m.section(strings.Join(facts, "\n"))
	for _, t := range s.Texts {
		m.context(t.Label)
		m.section(t.Text)
	}
	m.context(s.Hint)
	m.Blocks = m.Blocks[:min(len(m.Blocks), mostBlocks-1)]
	return m
}

func (m *message) section(words string) {
	if words != "" {
		m.Blocks = append(m.Blocks, block{Type: "section", Text: plain(words, mostText)})
	}
}

func (m *message) context(words string) {
	if words != "" {
		m.Blocks = append(m.Blocks, block{Type: "context", Elements: []any{plain(words, mostText)}})
	}
}

func buttons(l client.NoticeLinks) block {
	b := block{Type: "actions"}
	add := func(id, label, to, style string) {
		if to != "" {
			b.Elements = append(b.Elements, button{Type: "button", ID: id, Text: plain(label, mostHeader), URL: to, Style: style})
		}
	}
	add("show", "Show", l.Show, "")
	add("approve", "Approve…", l.Approve, "primary")
	add("deny", "Deny…", l.Deny, "danger")
	return b
}

func plain(words string, most int) *text {
	return &text{Type: "plain_text", Text: escaped(words, most), Emoji: new(false)}
}

// marked returns text in which Slack interprets markup. Don't pass it text from callers or models.
func marked(words string) *text { return &text{Type: "mrkdwn", Text: words} }

var controls = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escaped escapes Slack's control characters. If the result has more than most characters, escaped
// shortens the text first, so that it splits no escape.
func escaped(words string, most int) string {
	if out := controls.Replace(words); len([]rune(out)) <= most {
		return out
	}
	for limit := most; ; limit = limit * 3 / 4 {
		cut := clip.Runes(words, limit-1, "…")
		if out := controls.Replace(cut); len([]rune(out)) <= most {
			return out
		}
	}
}

// fits reports whether [escaped] keeps the whole text.
func fits(words string, most int) bool { return escaped(words, most) == controls.Replace(words) }
