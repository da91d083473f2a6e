package slackdouble

import (
	"encoding/json"
	"unicode/utf8"
)

// The lengths that Slack allows, in characters.
const (
	mostBlocks     = 50
	mostSection    = 3000
	mostHeader     = 150
	mostButtonText = 75
	mostValue      = 2000
	mostID         = 255
	mostURL        = 3000
	mostTitle      = 24
	mostMetadata   = 3000
)

// Text is a text object.
type Text struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Emoji *bool  `json:"emoji"`
}

// Button is a button of a message.
type Button struct {
	Type  string `json:"type"`
	ID    string `json:"action_id"`
	Text  Text   `json:"text"`
	Value string `json:"value"`
	URL   string `json:"url"`
	Style string `json:"style"`
}

type block struct {
	Type     string            `json:"type"`
	ID       string            `json:"block_id"`
	Text     *Text             `json:"text"`
	Elements []json.RawMessage `json:"elements"`
	Label    *Text             `json:"label"`
	Element  struct {
		Type    string `json:"type"`
		ID      string `json:"action_id"`
		Longest int    `json:"max_length"`
	} `json:"element"`
}

// View is a dialog.
type View struct {
	Type     string            `json:"type"`
	Callback string            `json:"callback_id"`
	Private  string            `json:"private_metadata"`
	Title    Text              `json:"title"`
	Submit   Text              `json:"submit"`
	Close    Text              `json:"close"`
	Blocks   []json.RawMessage `json:"blocks"`
}

func (v View) check() string {
	switch {
	case v.Type != "modal", !plain(&v.Title, mostTitle), !plain(&v.Submit, mostTitle), !plain(&v.Close, mostTitle),
		length(v.Private) > mostMetadata, length(v.Callback) > mostID, len(v.Blocks) == 0 || len(v.Blocks) > 100:
		return "invalid_arguments"
	}
	return checkBlocks(v.Blocks)
}

func checkBlocks(raw []json.RawMessage) string {
	if len(raw) > mostBlocks {
		return "invalid_blocks"
	}
	ids := map[string]bool{}
	for _, one := range raw {
		var b block
		if json.Unmarshal(one, &b) != nil || !b.valid(ids) {
			return "invalid_blocks"
		}
	}
	return ""
}

func (b block) valid(ids map[string]bool) bool {
	switch b.Type {
	case "header":
		return plain(b.Text, mostHeader)
	case "section":
		return written(b.Text, mostSection)
	case "input":
		return plain(b.Label, 2000) && b.Element.Type == "plain_text_input" && b.Element.Longest <= mostSection
	case "context", "actions":
		if len(b.Elements) == 0 || b.Type == "context" && len(b.Elements) > 10 || len(b.Elements) > 25 {
			return false
		}
		for _, raw := range b.Elements {
			if b.Type == "context" && !validText(raw) || b.Type == "actions" && !validButton(raw, ids) {
				return false
			}
		}
		return true
	}
	return false
}

func validText(raw json.RawMessage) bool {
	var t Text
	return json.Unmarshal(raw, &t) == nil && written(&t, mostSection)
}

func validButton(raw json.RawMessage, ids map[string]bool) bool {
	var b Button
	if json.Unmarshal(raw, &b) != nil || ids[b.ID] {
		return false
	}
	ids[b.ID] = true
	return b.Type == "button" && plain(&b.Text, mostButtonText) && b.ID != "" && length(b.ID) <= mostID && length(b.Value) <= mostValue &&
		length(b.URL) <= mostURL && (b.Style == "" || b.Style == "primary" || b.Style == "danger")
}

func plain(t *Text, most int) bool { return written(t, most) && t.Type == "plain_text" }

func written(t *Text, most int) bool {
	return t != nil && (t.Type == "plain_text" || t.Type == "mrkdwn" && t.Emoji == nil) && t.Text != "" && length(t.Text) <= most
}

func length(text string) int { return utf8.RuneCountInString(text) }

// Buttons are those of a message.
func (m Message) Buttons() (all []Button) {
	var a arguments
	_ = json.Unmarshal(m.Raw, &a)
	for _, raw := range a.Blocks {
		var b block
		_ = json.Unmarshal(raw, &b)
		for _, e := range b.Elements {
			var one Button
			if json.Unmarshal(e, &one) == nil && one.Type == "button" {
				all = append(all, one)
			}
		}
	}
	return all
}

// Button is the button with an id; its zero value if there is none.
func (m Message) Button(id string) Button {
	for _, b := range m.Buttons() {
		if b.ID == id {
			return b
		}
	}
	return Button{}
}

// Press is the body of the request for a press on a button.
func (s *Slack) Press(user string, m Message, b Button) string {
	return payload(map[string]any{
		"type": "block_actions", "team": map[string]any{"id": Team, "domain": "acme"},
		"user": map[string]any{"id": user, "username": user, "team_id": Team}, "trigger_id": s.Trigger(user),
		"container": map[string]any{"type": "message", "channel_id": Channel, "message_ts": m.TS},
		"channel":   map[string]any{"id": Channel, "name": "desk"},
		"actions":   []any{map[string]any{"type": "button", "action_id": b.ID, "value": b.Value, "action_ts": "1700000001.000100"}},
	})
}

// Submit is the body of the request for a submitted dialog.
func (s *Slack) Submit(d Dialog, reason string) string {
	return payload(map[string]any{
		"type": "view_submission", "team": map[string]any{"id": Team, "domain": "acme"},
		"user": map[string]any{"id": d.User, "username": d.User, "team_id": Team}, "trigger_id": s.Trigger(d.User),
		"view": map[string]any{"id": "V1", "type": "modal", "callback_id": d.View.Callback, "private_metadata": d.View.Private,
			"state": map[string]any{"values": map[string]any{"reason": map[string]any{"reason": map[string]any{"type": "plain_text_input", "value": reason}}}}},
	})
}
