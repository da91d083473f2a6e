// Package slack writes notices as messages for an incoming webhook of Slack, and posts them as a
// Slack app, whose buttons decide. Text of models and
// callers goes into plain text objects, in which Slack reads no markup, and its control characters
// are escaped as well: it can mention no one and hide no link.
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

// What Slack accepts, in characters.
const (
	mostHeader = 150
	mostText   = 3000
	mostBlocks = 50
)

// message is the body of an incoming webhook.
type message struct {
	Text        string  `json:"text"` // of notifications
	Mrkdwn      bool    `json:"mrkdwn"`
	Parse       string  `json:"parse"`
	LinkNames   bool    `json:"link_names"`
	UnfurlLinks bool    `json:"unfurl_links"` // false: Slack opens no link for a preview
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
	// false: Slack puts no picture in the place of :name:. It refuses this member in mrkdwn
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

// compose writes a message with room for one more block.
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

// marked is text in which Slack reads markup. It must hold nothing that others wrote.
func marked(words string) *text { return &text{Type: "mrkdwn", Text: words} }

var controls = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escaped is text with Slack's control characters escaped, cut so that it still fits then and no
// escape is split. A text that fits is not cut.
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

// fits says whether a text is shown in full.
func fits(words string, most int) bool { return escaped(words, most) == controls.Replace(words) }
