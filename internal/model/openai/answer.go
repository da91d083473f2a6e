package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// answer is what an endpoint has sent so far. It becomes a turn only once the endpoint has said why
// it stopped.
type answer struct {
	say       *speaker
	most      bounds
	text      joined
	reasoning joined
	member    string // the member that contained the reasoning
	refused   bool
	calls     []*partCall
	at        map[int]*partCall // the newest call for each index of the endpoint
	finish    string
	late      bool // a piece of a call came after the finish reason
	usage     json.RawMessage
	kept      int
	looked    int    // bytes that [answer.stands] has examined
	done      func() // called when the finish reason arrives
}

type partCall struct {
	id, name  string
	arguments joined
	whole     json.RawMessage // of endpoints that send a value instead of a text
}

func newAnswer(s *speaker, most bounds) *answer {
	return &answer{say: s, most: most, at: map[int]*partCall{}, done: func() {}}
}

// errNoAnswer reports JSON that is not a chat completion.
var errNoAnswer = errors.New("openai: not a chat completion")

// take adds the data of an event.
func (a *answer) take(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return errNoAnswer
	}
	if !core.IsNull(c.Error) && string(c.Error) != `""` {
		return errorIn(c.Error)
	}
	if !core.IsNull(c.Usage) {
		a.usage = c.Usage
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // no other choices were requested
		}
		for _, s := range []*said{ch.Delta, ch.Message} {
			if s != nil {
				a.add(*s)
			}
		}
		if ch.Finish != "" && a.finish == "" {
			a.finish = ch.Finish
			a.done()
		}
	}
	if a.kept += len(data); a.tooMuch() {
		return errTooLong
	}
	return nil
}

// tooMuch examines the texts only once they could exceed the limit.
func (a *answer) tooMuch() bool {
	if len(a.calls) > a.most.calls || a.looked > a.most.wire {
		return true
	}
	if a.kept <= a.most.kept {
		return false
	}
	a.kept = len(a.text.text) + len(a.reasoning.text)
	for _, c := range a.calls {
		a.kept += len(c.arguments.text) + len(c.whole)
	}
	return a.kept > a.most.kept
}

func (a *answer) add(s said) {
	a.think("reasoning_content", s.ReasoningContent)
	if a.member != "reasoning_content" { // an endpoint that sends both members repeats the text
		a.think("reasoning", s.Reasoning)
	}
	a.say.tell(core.TextPart, a.text.add(s.Content))
	if len(s.Refusal) > 0 {
		a.refused = true
		a.say.tell(core.TextPart, a.text.add(s.Refusal))
	}
	for _, bit := range s.Calls {
		if len(a.calls) > a.most.calls {
			// [answer.tooMuch] reports it; one event may contain very many, and each is
			// compared with all
			return
		}
		a.call(bit)
	}
	if s.Function != nil {
		one := 0
		a.call(callBit{Index: &one, Function: *s.Function})
	}
}

func (a *answer) think(member string, text words) {
	if len(text) > 0 {
		a.member = member
		a.say.tell(core.ReasoningPart, a.reasoning.add(text))
	}
}

// call adds a piece of a call to its call.
func (a *answer) call(bit callBit) {
	a.late = a.late || a.finish != ""
	c := a.callOf(bit)
	if c == nil {
		c = &partCall{}
		a.calls = append(a.calls, c)
	}
	if bit.Index != nil {
		a.at[*bit.Index] = c
	}
	if len(bit.ID) > 0 {
		c.id = shortened(bit.ID)
	}
	// some endpoints repeat it in every piece
	if name := shortened(bit.Function.Name); name != c.name {
		c.name = shortened([]byte(c.name + name))
	}
	c.take(bit.Function.Arguments)
}

// callOf finds the call that a piece belongs to: by its index or, if the endpoint sends none, by
// its id or as the last one. A piece with another id, or one that starts over after a complete
// call, is another call: some endpoints give every call the index 0, and some give two calls the
// same id.
func (a *answer) callOf(bit callBit) (c *partCall) {
	id := shortened(bit.ID)
	if bit.Index != nil {
		if c = a.at[*bit.Index]; c != nil && id != "" && c.id != "" && c.id != id {
			return nil
		}
		return c
	}
	for _, known := range a.calls {
		if id != "" && known.id == id {
			c = known
		}
	}
	if c == nil && id == "" && len(bit.Function.Name) == 0 && len(a.calls) > 0 {
		return a.calls[len(a.calls)-1]
	}
	if c != nil && len(bit.Function.Name) > 0 && a.stands(c) {
		return nil
	}
	return c
}

// stands reports whether the arguments of a call are a complete object. It counts the bytes that it
// examines, because it may run for every piece.
func (a *answer) stands(c *partCall) bool {
	v := c.value()
	if !bytes.HasSuffix(bytes.TrimRight(v, " \t\r\n"), []byte("}")) {
		return false
	}
	a.looked += len(v)
	return json.Valid(v)
}

// longestName limits names and ids. No endpoint uses longer ones. A longer one is replaced by a
// name that no tool has, so the call is refused: a prefix of it could end in half a secret, which
// redaction would miss.
const longestName = 256

func shortened(text []byte) string {
	if len(text) > longestName {
		return "too_long_" + core.Digest(text)[:16]
	}
	return string(bytes.ToValidUTF8(text, []byte("\ufffd")))
}

func (c *partCall) take(arguments json.RawMessage) {
	switch raw := bytes.TrimSpace(arguments); {
	case core.IsNull(raw):
	case raw[0] == '"':
		c.arguments.add(unquote(raw))
	default:
		c.whole = bytes.Clone(raw)
	}
}

// value returns the arguments so far.
func (c *partCall) value() []byte {
	if c.whole != nil && len(c.arguments.text) == 0 {
		return c.whole
	}
	return c.arguments.text
}

// finished returns the arguments as the model wrote them; a text that is not JSON becomes a JSON
// string, as in [core.ToolCall].
func (c *partCall) finished() json.RawMessage {
	c.arguments.end()
	switch v := c.value(); {
	case len(bytes.TrimSpace(v)) == 0:
		return json.RawMessage("{}")
	case json.Valid(v):
		return bytes.TrimSpace(v)
	default:
		return core.Encode(string(v))
	}
}

// turn converts the answer to a turn. It returns an error for an answer that is complete but
// unusable.
func (a *answer) turn(n names) (core.Turn, error) {
	end, err := ended(a.finish)
	if err != nil {
		return core.Turn{}, err
	}
	a.say.tell(core.ReasoningPart, a.reasoning.end())
	a.say.tell(core.TextPart, a.text.end())
	a.say.end()
	t := core.Turn{Text: string(a.text.text), End: end}
	if a.refused && end == nil {
		t.End = &core.Reason{Kind: core.Stopped, Code: "content_filtered", Detail: "the model refused to answer"}
	}
	for _, c := range a.calls {
		t.Calls = append(t.Calls, core.ToolCall{ID: c.id, Name: n.given(c.name), Arguments: c.finished()})
	}
	if calls := a.finish == "tool_calls" || a.finish == "function_call"; calls && len(t.Calls) == 0 {
		return core.Turn{}, &engine.TryLater{Answered: true, Detail: "the model's endpoint reported a tool call without naming a tool"}
	}
	if len(a.reasoning.text) > 0 {
		t.Content = append([]core.Part{{Type: core.PartReasoning, Text: string(a.reasoning.text), Provider: Provider, Sealed: []byte(a.member)}},
			core.TextParts(t.Text)...)
	}
	t.NoUsage = !usage(a.usage, &t)
	return t, nil
}

var stopWord = lazyregexp.New(`^[a-z0-9_]{1,40}$`)

// ended says what an answer's finish reason means for the run; nil means an ordinary turn. A model
// that calls tools may report an ordinary stop; its calls count anyway.
func ended(finish string) (*core.Reason, error) {
	stopped := func(code, detail string) (*core.Reason, error) {
		return &core.Reason{Kind: core.Stopped, Code: code, Detail: detail}, nil
	}
	switch word := strings.ToLower(finish); {
	case word == "stop", word == "tool_calls", word == "function_call":
		return nil, nil
	case word == "length":
		return stopped("max_tokens", "the model's answer reached the maximum number of tokens; raise max_tokens")
	case word == "content_filter":
		return stopped("content_filtered", "the model's endpoint withheld the answer or part of it")
	case word == "error":
		return nil, &engine.TryLater{Answered: true, Detail: "the model's endpoint failed while it answered"}
	// in its original case, or redaction would miss a secret
	case stopWord.MatchString(finish):
		return stopped("unknown_stop_reason", fmt.Sprintf("the model's endpoint stopped for an unknown reason: %s", finish))
	}
	return stopped("unknown_stop_reason", "the model's endpoint stopped for an unknown reason")
}
