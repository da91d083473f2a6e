// Package scripted is a model that follows a script: rules that map what was said to an answer. It
// is for examples and tests without a network, and understands no language.
package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// Model answers with the first turn of its script whose conditions all hold:
//
//   - user: the expression matches the user's last message.
//   - tool, result: the model has not answered a result of that tool yet, and the expression
//     matches its text. The last such result counts; a message from the user discards them.
//   - no_result: there is no such result.
//   - step: it is the model's n-th turn since the user's last message, counted from 1.
//
// In its text and in the text values of arguments, ${name} is replaced by what the group of that
// name matched, in the result before the user's message. A value that consists of one placeholder
// becomes a number if the match is a number as JSON writes it (so 0042 stays text). Calls without
// an id are named call_1, call_2, ... by their position in the thread.
//
// Equal prompts get equal answers.
type Model struct {
	name  string
	turns []turn

	clock engine.Clock  // for pause
	pause time.Duration // between words, for readers who follow the run
}

type turn struct {
	agent.Turn
	user, result *regexp.Regexp // nil without the condition
}

var _ engine.Model = (*Model)(nil)

// New returns the model of a script. name is the agent's, for messages. It returns an error for an
// invalid expression, which package agent already rejects in definitions.
func New(name string, script []agent.Turn) (*Model, error) {
	m := &Model{name: name}
	for i, t := range script {
		user, err := compile(t.Given.User)
		if err != nil {
			return nil, fmt.Errorf("scripted: turn %d of %s: user: %w", i+1, name, err)
		}
		result, err := compile(t.Given.Result)
		if err != nil {
			return nil, fmt.Errorf("scripted: turn %d of %s: result: %w", i+1, name, err)
		}
		m.turns = append(m.turns, turn{t, user, result})
	}
	return m, nil
}

// Paced returns the same model, which streams its answer word by word, with a pause after each, if
// readers can follow ([engine.Prompt] has Say). The answer is the same. A model that is not paced
// answers at once and streams nothing.
func (m *Model) Paced(clock engine.Clock, pause time.Duration) *Model {
	slow := *m
	slow.clock, slow.pause = clock, pause
	return &slow
}

func compile(expression string) (*regexp.Regexp, error) {
	if expression == "" {
		return nil, nil
	}
	return regexp.Compile(expression)
}

// Ask implements [engine.Model]. If no turn of the script matches, the error describes the
// situation and ends the run, which shows it: a script has no secrets from its users.
func (m *Model) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	now := read(p.Messages)
	for _, t := range m.turns {
		if groups, ok := t.holds(now); ok {
			answer := t.answer(groups, now.calls)
			return answer, m.speak(ctx, answer.Text, p.Say)
		}
	}
	return core.Turn{}, &engine.ModelError{Detail: fmt.Sprintf("no turn of the script of %s answers %s", m.name, now)}
}

// speak streams the text word by word, if that is configured and a reader can follow.
func (m *Model) speak(ctx context.Context, text string, say func(engine.Delta)) error {
	if say == nil || m.pause <= 0 {
		return nil
	}
	for word := range strings.SplitAfterSeq(text, " ") {
		say(engine.Delta{Kind: core.TextPart, Text: word})
		if err := engine.Sleep(ctx, m.clock, m.pause); err != nil {
			return err
		}
	}
	return nil
}

// situation is the input of a script.
type situation struct {
	user    string         // the user's last message
	results []core.Message // results since the model or the user spoke last
	step    int            // of the model, since the user's last message, counted from 1
	calls   int            // made in the thread so far
}

func read(messages []core.Message) situation {
	now := situation{step: 1}
	for _, m := range messages {
		switch m.Role {
		case core.RoleUser:
			now.user, now.results, now.step = m.Text(), nil, 1
		case core.RoleAssistant:
			now.results = nil
			now.step++
			now.calls += len(m.Calls)
		case core.RoleTool:
			now.results = append(now.results, m)
		}
	}
	return now
}

func (s situation) String() string {
	text := fmt.Sprintf("step %d after the user said %q", s.step, clipped(s.user))
	if len(s.results) > 0 {
		last := s.results[len(s.results)-1]
		text += fmt.Sprintf(" and %s answered %q", clipped(last.Tool), clipped(last.Text()))
	}
	return text
}

// clipped returns the beginning of a text. The reason for the end of a run is part of every write
// and every list.
func clipped(text string) string { return clip.Runes(text, 120, "…") }

// holds reports whether the turn matches the situation, and returns what its groups matched.
func (t turn) holds(now situation) (map[string]string, bool) {
	groups := map[string]string{}
	if t.Given.Step != 0 && t.Given.Step != now.step || t.Given.NoResult && len(now.results) > 0 {
		return nil, false
	}
	if !match(t.user, now.user, groups) {
		return nil, false
	}
	if t.Given.Tool == "" && t.result == nil {
		return groups, true
	}
	for i := len(now.results) - 1; i >= 0; i-- {
		r := now.results[i]
		if (t.Given.Tool == "" || t.Given.Tool == r.Tool) && match(t.result, r.Text(), groups) {
			return groups, true
		}
	}
	return nil, false
}

func match(re *regexp.Regexp, text string, groups map[string]string) bool {
	if re == nil {
		return true
	}
	found := re.FindStringSubmatch(text)
	if found == nil {
		return false
	}
	for i, name := range re.SubexpNames() {
		if name != "" {
			groups[name] = found[i]
		}
	}
	return true
}

func (t turn) answer(groups map[string]string, before int) core.Turn {
	out := core.Turn{Text: fill(t.Say, groups)}
	for i, c := range t.Calls {
		id := c.ID
		if id == "" {
			id = "call_" + strconv.Itoa(before+i+1)
		}
		out.Calls = append(out.Calls, core.ToolCall{ID: id, Name: c.Tool, Arguments: fillArguments(c.Arguments, groups)})
	}
	return out
}

func fill(text string, groups map[string]string) string {
	return agentfile.Placeholder.ReplaceAllStringFunc(text, func(found string) string { return groups[placeholderName(found)] })
}

func placeholderName(found string) string { return agentfile.Placeholder.FindStringSubmatch(found)[1] }

func fillArguments(raw json.RawMessage, groups map[string]string) json.RawMessage {
	if core.IsNull(raw) {
		return json.RawMessage(`{}`)
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	return core.Encode(fillValue(v, groups))
}

func fillValue(v any, groups map[string]string) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = fillValue(member, groups)
		}
	case []any:
		for i, item := range v {
			v[i] = fillValue(item, groups)
		}
	case string:
		return fillText(v, groups)
	}
	return v
}

var jsonNumber = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func fillText(text string, groups map[string]string) any {
	filled := fill(text, groups)
	if agentfile.Placeholder.FindString(text) == text && text != "" && jsonNumber.MatchString(filled) {
		return json.Number(filled)
	}
	return filled
}
