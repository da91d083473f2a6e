package openai

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// speaker streams the answer to readers without the secrets of the request, and withdraws it if the
// request is repeated. A gateway may insert what it received into the model's output, as some do
// with errors.
type speaker struct {
	say     func(engine.Delta)
	secrets secret.Values
	streams map[string]*secret.Stream // by the kind of text
	spoke   bool
}

func (s *speaker) tell(kind, text string) {
	if s.say == nil || text == "" {
		return
	}
	if s.streams == nil {
		s.streams = map[string]*secret.Stream{core.TextPart: s.secrets.Stream(), core.ReasoningPart: s.secrets.Stream()}
	}
	s.show(kind, s.streams[kind].Next(text))
}

// end sends what was held back because a secret could have begun there.
func (s *speaker) end() {
	for _, kind := range []string{core.ReasoningPart, core.TextPart} {
		if held := s.streams[kind]; held != nil {
			s.show(kind, held.Rest())
		}
	}
}

func (s *speaker) show(kind, text string) {
	if text != "" {
		s.spoke = true
		s.say(engine.Delta{Kind: kind, Text: text})
	}
}

func (s *speaker) restart() {
	s.streams = nil
	if s.spoke {
		s.spoke = false
		s.say(engine.Delta{Restart: true})
	}
}

// redacted returns the turn without the secrets of its request, so that it can be stored.
func redacted(t core.Turn, v secret.Values) core.Turn {
	if len(v) == 0 {
		return t
	}
	t.Text = v.Redact(t.Text)
	for i := range t.Content {
		t.Content[i].Text = v.Redact(t.Content[i].Text)
	}
	for i, c := range t.Calls {
		t.Calls[i].ID, t.Calls[i].Name = v.Redact(c.ID), v.Redact(c.Name)
		if clean := v.Redact(string(c.Arguments)); clean != string(c.Arguments) {
			t.Calls[i].Arguments = core.Encode(clean)
			if json.Valid([]byte(clean)) {
				t.Calls[i].Arguments = json.RawMessage(clean)
			}
		}
	}
	if t.End != nil {
		t.End = &core.Reason{Kind: t.End.Kind, Code: t.End.Code, Detail: v.Redact(t.End.Detail)}
	}
	return t
}
