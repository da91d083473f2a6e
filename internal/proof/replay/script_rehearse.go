package replay

import (
	"context"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/model/scripted"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// rehearse asks the model and the tools of the definition for all of the conversation.
func (s *script) rehearse(d agent.Definition) error {
	model, err := scripted.New(d.Name, d.Model.Turns)
	if err != nil {
		return err
	}
	messages := recording.UniqueIDs(s.conversation.Messages)
	for i, m := range s.conversation.Messages {
		if m.Role != core.RoleAssistant {
			continue
		}
		turn, err := model.Ask(context.Background(), engine.Prompt{Messages: messages[:i]})
		if err != nil {
			return err
		}
		if got := (core.Message{Parts: core.TextParts(turn.Text), Calls: turn.Calls}); spoken(got) != spoken(m) {
			return fmt.Errorf("message %d: an agent file cannot say this turn: it would be %s", i+1, clipped(spoken(got)))
		}
	}
	return s.rehearseTools(d)
}

func (s *script) rehearseTools(d agent.Definition) error {
	results := s.conversation.Results()
	for _, t := range d.Tools {
		body := tool.Recorded(t.Recorded)
		for _, call := range callsOf(s.conversation) {
			if call.Name != t.Name {
				continue
			}
			out, err := body.Run(context.Background(), engine.ToolRequest{Call: call})
			if err != nil || out.Failed || out.Text != results[call.ID].Text() {
				return fmt.Errorf("the call %s of %s: an agent file cannot tell its result from that of another call", call.ID, call.Name)
			}
		}
	}
	return nil
}

// spoken is a turn in one text, its arguments in canonical form.
func spoken(m core.Message) string {
	said := []string{fmt.Sprintf("%q", m.Text())}
	for _, c := range m.Calls {
		said = append(said, c.ID, c.Name, canonical(c.Arguments))
	}
	return strings.Join(said, " ")
}

func clipped(text string) string { return clip.Runes(text, 120, "...") }
