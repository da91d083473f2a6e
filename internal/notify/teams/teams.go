// Package teams writes notices as adaptive cards for a workflow of Microsoft Teams that posts what
// a webhook receives. Text of models and callers goes into elements that read no Markdown.
package teams

import (
	"strings"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// mostBody is what Teams accepts, in bytes, and some room for what a workflow adds.
const mostBody = 24 << 10

type envelope struct {
	Type        string       `json:"type"`
	Attachments []attachment `json:"attachments"`
}

type attachment struct {
	ContentType string `json:"contentType"`
	Content     card   `json:"content"`
}

type card struct {
	Schema  string   `json:"$schema"`
	Type    string   `json:"type"`
	Version string   `json:"version"`
	Body    []any    `json:"body"`
	Actions []action `json:"actions,omitempty"`
}

// richText shows its runs as they are: unlike a TextBlock, it reads no Markdown.
type richText struct {
	Type    string `json:"type"`
	Inlines []run  `json:"inlines"`
}

type run struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Weight   string `json:"weight,omitempty"`
	Size     string `json:"size,omitempty"`
	FontType string `json:"fontType,omitempty"`
	IsSubtle bool   `json:"isSubtle,omitempty"`
}

type action struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// Card is the body of [notice.FormatTeams].
func Card(n client.Notice, _ notice.Target, _ secret.Values) ([]byte, error) {
	s := notify.Summarize(n)
	for most := mostBody; ; most /= 2 {
		body, err := core.EncodeAny(cardOf(s, most))
		if err != nil || len(body) <= mostBody {
			return body, err
		}
	}
}

// cardOf makes the card, with so many bytes of each text at most.
func cardOf(s notify.Summary, most int) envelope {
	c := card{Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4"}
	c.add(run{Text: s.Title, Weight: "Bolder", Size: "Medium"})
	for _, f := range s.Facts {
		c.add(run{Text: f.Label + ": ", IsSubtle: true}, run{Text: f.Text})
	}
	for _, t := range s.Texts {
		c.add(run{Text: t.Label, Weight: "Bolder"})
		font := ""
		if t.Code {
			font = "Monospace"
		}
		c.add(run{Text: clip.Bytes(t.Text, most, "…"), FontType: font})
	}
	if s.Hint != "" {
		c.add(run{Text: s.Hint, IsSubtle: true})
	}
	if s.Links != nil {
		c.open("Show", s.Links.Show)
		c.open("Approve…", s.Links.Approve)
		c.open("Deny…", s.Links.Deny)
	}
	return envelope{Type: "message", Attachments: []attachment{{ContentType: "application/vnd.microsoft.card.adaptive", Content: c}}}
}

// add adds a line. Cards replace {{DATE(…)}} in their texts, so two braces are kept apart.
func (c *card) add(runs ...run) {
	for i := range runs {
		runs[i].Type = "TextRun"
		for strings.Contains(runs[i].Text, "{{") {
			runs[i].Text = strings.ReplaceAll(runs[i].Text, "{{", "{ {")
		}
	}
	c.Body = append(c.Body, richText{Type: "RichTextBlock", Inlines: runs})
}

func (c *card) open(title, to string) {
	if to != "" {
		c.Actions = append(c.Actions, action{Type: "Action.OpenUrl", Title: title, URL: to})
	}
}
