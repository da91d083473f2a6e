package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

// script is a conversation as the file of an agent: its turns are rules of a scripted model, its
// results recorded answers of tools.
type script struct {
	name string
	text []byte // of the file

	// conversation is what a server that plays the file must come to: the recording, with the
	// marks that tell apart what the file could not.
	conversation recording.Conversation
	marks        int
}

// Unplayed is a conversation that no agent file can say, and why.
type Unplayed struct {
	Conversation string `json:"conversation"`
	Line         int    `json:"line"`
	Why          string `json:"why"`
}

func (u Unplayed) String() string {
	return fmt.Sprintf("%s (line %d): %s", u.Conversation, u.Line, u.Why)
}

// WriteAgents writes an agent file into dir for each conversation, to be served by a server that
// [RunAgainst] is pointed at, and says which conversations have none. The directory is made if it
// is not there. The same conversation, gates and executor give the same file.
func WriteAgents(dir string, o Options) (written int, not []Unplayed, err error) {
	scripts, not := scripts(o)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, not, err
	}
	for _, s := range scripts {
		if err := os.WriteFile(filepath.Join(dir, s.name+".yaml"), s.text, 0o644); err != nil {
			return written, not, err
		}
		written++
	}
	return written, not, nil
}

// scripts are the agents of all conversations that can be said in agent files, each tried out.
func scripts(o Options) (all []script, not []Unplayed) {
	for _, c := range o.limited() {
		s, err := newScript(c, o)
		if err != nil {
			not = append(not, Unplayed{c.ID, c.Line, err.Error()})
			continue
		}
		all = append(all, s)
	}
	return all, not
}

func newScript(c recording.Conversation, o Options) (script, error) {
	s := script{name: scriptName(c)}
	for i, m := range c.Messages {
		if m.Role != core.RoleUser && slices.ContainsFunc(m.Parts, func(p core.Part) bool { return p.Data != nil }) {
			return s, fmt.Errorf("message %d: an image or a document that the %s gives; an agent file holds texts", i+1, m.Role)
		}
		for _, call := range m.Calls {
			if !isObject(call.Arguments) {
				return s, fmt.Errorf("message %d: the arguments of the call %s of %s are no JSON object; a server fails such a call and never runs it",
					i+1, call.ID, call.Name)
			}
		}
	}
	s.conversation, s.marks = marked(c)
	s.text = s.file(o)
	d, err := agentfile.Parse(s.name+".yaml", s.text, nil)
	if err != nil {
		return s, inOneLine(err)
	}
	return s, s.rehearse(d)
}

func inOneLine(err error) error {
	first, _, more := strings.Cut(err.Error(), "\n")
	if more {
		first += " (and more)"
	}
	return errors.New(first)
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// scriptName is the conversation's id as an agent can have it, and a digest, so that two ids never
// come to one name and a recording that changed has another.
func scriptName(c recording.Conversation) string {
	const most = 40
	id := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(c.ID), "-"), "-")
	if len(id) > most {
		id = id[:most]
	}
	digest := core.Digest(core.Encode([]any{c.ID, c.System, c.Messages}))[:8]
	return strings.Join(slices.DeleteFunc([]string{"replay", id, digest}, func(part string) bool { return part == "" }), "-")
}

// file writes the agent. It is YAML in which all values are JSON.
func (s *script) file(o Options) []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# The recorded conversation %s, written by dormouse-proof replay --agents-to.", quote(s.conversation.ID))
	line("name: %s", s.name)
	line("description: %s", quote("The recorded conversation "+s.conversation.ID+"."))
	if s.conversation.System != "" {
		line("instructions: %s", quote(s.conversation.System))
	}
	if o.Parallel {
		line("executor: parallel")
	}
	line("model:\n  provider: scripted\n  turns:")
	for _, t := range turns(s.conversation) {
		line("    - %s", asYAML(core.Encode(t)))
	}
	tools := toolsOf(s.conversation)
	if len(tools) == 0 {
		return []byte(b.String())
	}
	line("tools:")
	for _, name := range tools {
		line("  - name: %s\n    recorded:", quote(name))
		for _, a := range answers(s.conversation, name) {
			line("      - %s", asYAML(core.Encode(a)))
		}
	}
	line("permissions:\n  allow: %s\n  ask: %s", names(tools, func(name string) bool { return !slices.Contains(o.Gate, name) }),
		names(tools, func(name string) bool { return slices.Contains(o.Gate, name) }))
	return []byte(b.String())
}

func names(all []string, keep func(string) bool) string {
	kept := []string{}
	for _, name := range all {
		if keep(name) {
			kept = append(kept, name)
		}
	}
	return string(core.Encode(kept))
}

// toolsOf are the tools that are called, each once, in the order of their first calls.
func toolsOf(c recording.Conversation) (all []string) {
	for _, m := range c.Messages {
		for _, call := range m.Calls {
			if !slices.Contains(all, call.Name) {
				all = append(all, call.Name)
			}
		}
	}
	return all
}

// turns are the rules of the model. A turn is found by what the user said last, whole, and by how
// many turns came since: the same prompt has the same turn, however often it is asked for.
func turns(c recording.Conversation) []agent.Turn {
	all := []agent.Turn{}
	user, step := "", 0
	for _, m := range c.Messages {
		switch m.Role {
		case core.RoleUser:
			user, step = m.Text(), 0
		case core.RoleAssistant:
			step++
			all = append(all, turn(user, step, m))
		}
	}
	if len(all) == 0 { // a script needs a turn; this one fits no prompt
		all = append(all, agent.Turn{Given: agent.Given{User: `\A\z.`}, Say: "nothing is recorded"})
	}
	return all
}

// nothing is a group that matches nothing. A text that is empty, or that looks like a placeholder,
// is written with it.
const nothing = "nothing"

func turn(user string, step int, m core.Message) agent.Turn {
	t := agent.Turn{Given: agent.Given{User: `\A(?P<` + nothing + `>)` + regexp.QuoteMeta(user) + `\z`, Step: step}, Say: plainly(m.Text())}
	if t.Say == "" && len(m.Calls) == 0 {
		t.Say = "${" + nothing + "}"
	}
	for _, call := range m.Calls {
		t.Calls = append(t.Calls, agent.ScriptCall{ID: call.ID, Tool: call.Name, Arguments: plainValues(call.Arguments)})
	}
	return t
}

// plainly is a text that the model says as it is here: what it would take for a placeholder is torn
// apart by one that stands for nothing.
func plainly(text string) string {
	return agentfile.Placeholder.ReplaceAllString(text, "$$$${"+nothing+"}{${1}}")
}

func plainValues(raw json.RawMessage) json.RawMessage {
	v, err := readValue(raw)
	if err != nil {
		return raw
	}
	return core.Encode(eachText(v, plainly))
}

func readValue(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

func eachText(v any, f func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = eachText(member, f)
		}
	case []any:
		for i, item := range v {
			v[i] = eachText(item, f)
		}
	case string:
		return f(v)
	}
	return v
}

// answers are the recorded results of one tool, each for the arguments of its call. An answer holds
// for all arguments that have its members, so those with the most come first.
func answers(c recording.Conversation, name string) []agent.Answer {
	all := []agent.Answer{}
	results := c.Results()
	for _, call := range callsOf(c) {
		if call.Name == name {
			all = append(all, answerOf(call, results[call.ID].Text()))
		}
	}
	slices.SortStableFunc(all, func(a, b agent.Answer) int { return len(b.When) - len(a.When) })
	return all
}

func callsOf(c recording.Conversation) (all []core.ToolCall) {
	for _, m := range recording.UniqueIDs(c.Messages) {
		all = append(all, m.Calls...)
	}
	return all
}

func answerOf(call core.ToolCall, result string) agent.Answer {
	a := agent.Answer{When: map[string]json.RawMessage{}, Result: core.Encode(result)}
	var members map[string]json.RawMessage
	// what is no object is refused when the file is read
	_ = json.Unmarshal(call.Arguments, &members)
	for member, value := range members {
		if !strings.Contains(member, ".") { // in a condition that would be a path
			a.When[member] = value
		}
	}
	return a
}

// quote is a text as JSON and YAML both read it.
func quote(text string) string { return asYAML(core.Encode(text)) }

// asYAML writes JSON so that YAML reads the same: characters that YAML refuses to read as they are
// stand as escapes, and no character as two of them.
func asYAML(raw json.RawMessage) string {
	if plain, err := core.Canonical(raw); err == nil {
		raw = plain
	}
	var b strings.Builder
	for _, r := range string(raw) {
		switch {
		case r == 0x7f, r >= 0x80 && r < 0xa0, r == 0xfeff, r == 0xfffe, r == 0xffff, r == 0x2028, r == 0x2029:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
