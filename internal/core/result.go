package core

import (
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core/depth"
)

// DefaultResult is how many bytes of a result's text are kept where nothing else is said.
const DefaultResult = 256 << 10

// ResultText is a JSON value as a tool result: a string is its own text, anything else its JSON.
func ResultText(raw json.RawMessage) string {
	if IsNull(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(jsonTrim(raw))
}

// Answered is the outcome of a call whose result is a JSON value that a decision carries.
func Answered(raw json.RawMessage) Outcome {
	if IsNull(raw) {
		return Outcome{}
	}
	return Outcome{Text: ResultText(raw), Value: raw}
}

// TextResult is a result that is text alone.
func TextResult(text string) Message { return Message{Parts: TextParts(text)} }

// plainValue says whether a value is worth keeping beside its text: valid JSON that is no string
// and not null.
func plainValue(raw json.RawMessage) bool {
	return !IsNull(raw) && depth.Valid(raw) && jsonTrim(raw)[0] != '"'
}

// ResultValue is the JSON value of a tool's result; nil if the result is plain text, or was cut.
func (m Message) ResultValue() json.RawMessage {
	switch {
	case len(m.Value) > 0:
		return m.Value
	case m.JSON:
		return json.RawMessage(m.Text())
	}
	return nil
}

// AddedToResult is what the model reads behind a result's text: the edited arguments that the call
// ran with, and what hooks added.
func AddedToResult(ranWith json.RawMessage, added string) (text string) {
	if len(ranWith) > 0 {
		text = "\n(Ran with arguments that a person edited: " + string(ranWith) + ")"
	}
	if added != "" {
		text += "\n" + added
	}
	return text
}

// forModel is a result as the model sees it: its text, followed by what a person and the hooks
// added to it.
func (m Message) forModel() Message {
	more := AddedToResult(m.RanWith, m.Added)
	m.JSON, m.Value, m.RanWith, m.Added, m.Outcome = false, nil, nil, "", ""
	if more == "" {
		return m
	}
	if len(m.Parts) > 0 && m.Parts[0].Type == PartText {
		m.Parts = slices.Clone(m.Parts)
		m.Parts[0].Text += more
		return m
	}
	m.Parts = append(TextParts(more), m.Parts...)
	return m
}

// describe adds a result to the data of the event that tells of it.
func (m Message) describe(data map[string]any) {
	data["result"] = m.Text()
	if v := m.ResultValue(); v != nil {
		data["value"] = v
	}
	if how := m.CallOutcome(); how != "" {
		data["outcome"] = how
	}
	if len(m.RanWith) > 0 {
		data["ran_with"] = m.RanWith
	}
	if m.Added != "" {
		data["added"] = m.Added
	}
}
