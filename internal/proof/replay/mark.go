package replay

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

// markMember is the argument by which a call is told from another one with the same arguments and
// another result.
const markMember = "replay_mark"

// marked is the conversation with marks where an agent file could not tell two things apart, and
// how many there are: a user who says the same again gets a number behind it, and a call with the
// arguments of another whose result was different gets a member more. Everything else stays as it
// was recorded.
func marked(c recording.Conversation) (recording.Conversation, int) {
	m := marker{said: map[string]bool{}, results: c.Results(), came: map[string][]settledCall{}}
	unique := recording.UniqueIDs(c.Messages)
	c.Messages = slices.Clone(c.Messages)
	for i, message := range c.Messages {
		switch message.Role {
		case core.RoleUser:
			c.Messages[i] = m.user(message)
		case core.RoleAssistant:
			c.Messages[i].Calls = m.calls(message.Calls, unique[i].Calls)
		}
	}
	return c, m.marks
}

type marker struct {
	said    map[string]bool
	results map[string]core.Message
	came    map[string][]settledCall // by tool
	marks   int
}

// settledCall is one that an answer is written for.
type settledCall struct {
	arguments json.RawMessage
	result    string
}

func (m *marker) user(message core.Message) core.Message {
	text := message.Text()
	if m.said[text] {
		m.marks++
		for n := 2; m.said[text]; n++ {
			text = fmt.Sprintf("%s [%d]", message.Text(), n)
		}
		message.Parts = append(core.TextParts(text), slices.DeleteFunc(slices.Clone(message.Parts), func(p core.Part) bool { return p.Type == core.PartText })...)
	}
	m.said[text] = true
	return message
}

func (m *marker) calls(calls, unique []core.ToolCall) []core.ToolCall {
	calls = slices.Clone(calls)
	for i := range calls {
		result := m.results[unique[i].ID].Text()
		plain := calls[i].Arguments
		for n := 2; m.taken(calls[i], result); n++ {
			calls[i].Arguments = withMark(plain, n)
			if n == 2 {
				m.marks++
			}
		}
		m.came[calls[i].Name] = append(m.came[calls[i].Name], settledCall{calls[i].Arguments, result})
	}
	return calls
}

// taken says whether these arguments stand for another result already. Arguments that are no object
// take no mark.
func (m *marker) taken(call core.ToolCall, result string) bool {
	if !isObject(call.Arguments) {
		return false
	}
	return slices.ContainsFunc(m.came[call.Name], func(s settledCall) bool {
		return s.result != result && answerOf(core.ToolCall{Arguments: s.arguments}, "").Matches(call.Arguments) &&
			answerOf(call, "").Matches(s.arguments)
	})
}

func isObject(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(raw, &members) == nil && members != nil
}

func withMark(arguments json.RawMessage, n int) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) != nil {
		return arguments
	}
	members[markMember] = core.Encode(n)
	return core.Encode(members)
}
