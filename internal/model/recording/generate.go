package recording

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// GenerateOptions limit what [Generate] creates; zero values mean the defaults.
type GenerateOptions struct {
	Turns    int  // maximum turns of the user in a conversation; 4
	Rounds   int  // maximum rounds of calls between two of them; 3
	Calls    int  // maximum calls in a round; 6
	JSONOnly bool // arguments are always JSON objects
}

func (o GenerateOptions) withDefaults() GenerateOptions {
	if o.Turns <= 0 {
		o.Turns = 4
	}
	if o.Rounds <= 0 {
		o.Rounds = 3
	}
	if o.Calls <= 0 {
		o.Calls = 6
	}
	return o
}

// Generate creates n well-formed conversations with features that are rare in real ones: parallel
// calls, ids that repeat across and within rounds, odd arguments, empty texts, results out of order
// (visible when written), two user messages in a row, and any role at the end. Equal seeds and
// options give equal conversations.
func Generate(seed uint64, n int, opts GenerateOptions) []Conversation {
	out := make([]Conversation, n)
	for i := range out {
		g := generator{
			Rand: rand.New(rand.NewPCG(seed, uint64(i))),
			opts: opts.withDefaults(),
		}
		out[i] = g.conversation(fmt.Sprintf("generated-%d-%d", seed, i))
		out[i].Line = i + 1
	}
	return out
}

type generator struct {
	*rand.Rand
	opts     GenerateOptions
	messages []core.Message // in the order of calls
	written  []core.Message // in the order of a file
	calls    int
}

func (g *generator) conversation(id string) Conversation {
	c := Conversation{ID: id}
	if g.chance(2, 3) {
		c.System = g.words()
	}
	turns := 1 + g.IntN(g.opts.Turns)
	for t := range turns {
		g.say(core.RoleUser, fmt.Sprintf("%s: %d %s", id, t, g.text()))
		if g.chance(1, 10) { // the user continues before an answer
			g.say(core.RoleUser, g.text())
		}
		g.answer(t == turns-1)
	}
	c.Messages, c.written = g.messages, g.written
	return c
}

// answer creates rounds of calls and a closing text. The last answer of a conversation may be
// incomplete or absent.
func (g *generator) answer(last bool) {
	if last && g.chance(1, 4) {
		return // the conversation ends with the user
	}
	rounds := g.IntN(g.opts.Rounds + 1)
	for range rounds {
		g.round()
	}
	if last && rounds > 0 && g.chance(1, 3) {
		return // the conversation ends with a tool
	}
	g.say(core.RoleAssistant, g.text())
}

func (g *generator) say(role core.Role, text string) {
	g.push(core.Message{Role: role, Parts: core.TextParts(text)})
}

func (g *generator) push(m core.Message) {
	g.messages = append(g.messages, m)
	g.written = append(g.written, m)
}

func (g *generator) round() {
	turn := core.Message{Role: core.RoleAssistant}
	if g.chance(1, 4) {
		turn.Parts = core.TextParts(g.text())
	}
	for range 1 + g.IntN(g.opts.Calls) {
		turn.Calls = append(turn.Calls, core.ToolCall{ID: g.id(), Name: pick(g, toolNames), Arguments: readArguments(g.arguments())})
	}
	g.push(turn)
	results := make([]core.Message, len(turn.Calls))
	for i, c := range turn.Calls {
		results[i] = core.Message{Role: core.RoleTool, CallID: c.ID, Tool: c.Name, Parts: core.TextParts(g.text())}
	}
	g.messages = append(g.messages, results...)
	g.written = append(g.written, g.shuffled(results)...)
}

// id is usually new; otherwise it is one that was or may be used, or looks like another one with a
// suffix.
func (g *generator) id() string {
	g.calls++
	switch g.IntN(6) {
	case 0:
		return "call_" + strconv.Itoa(1+g.IntN(g.calls))
	case 1:
		return "call_same"
	case 2:
		return "call_same_" + strconv.Itoa(2+g.IntN(2))
	}
	return "call_" + strconv.Itoa(g.calls)
}

// shuffled reorders results, but never two with the same id: their order alone says which call they
// answer.
func (g *generator) shuffled(results []core.Message) []core.Message {
	queues := map[string][]core.Message{}
	order := make([]string, len(results))
	for i, r := range results {
		order[i] = r.CallID
		queues[r.CallID] = append(queues[r.CallID], r)
	}
	g.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	out := make([]core.Message, len(order))
	for i, id := range order {
		out[i], queues[id] = queues[id][0], queues[id][1:]
	}
	return out
}

var (
	toolNames = []string{"search", "get_order", "refund", "update-Profile", "think", "a"}

	texts = []string{"", "ok", "Grüße aus Zürich", "日本語のテキスト", "🐭💤 e\u0301", "line one\nline two\ttab", `quoted "text" \ <b>&amp;</b>`,
		"\u2028\u2029\u0000\u007f", `{"looks":"like JSON"}`, "null", "  padded  ", "${name}"}

	oddArguments = []string{"", "{}", `{ "b" : 1, "a" : [1, 2, {"c": null}] }`, `{"big":12345678901234567890123,"exact":0.10000000000000000001}`,
		`{"e":1E+2,"z":-0.0}`, `{"ünï":"\u00e9\ud83d\udc2d","html":"<a href=\"x\">&</a>"}`, `{"deep":{"deep":{"deep":[[[[]]]]}}}`,
		`{"":""}`, `{"a.b":true,"a":{"b":false}}`}

	notObjects = []string{"not JSON", `{"cut":`, `"a string"`, `[1,2]`, "17", "null", `{"a":1} trailing`, "\"unclosed"}
)

func (g *generator) arguments() string {
	switch g.IntN(5) {
	case 0:
		return pick(g, oddArguments)
	case 1:
		if !g.opts.JSONOnly {
			return pick(g, notObjects)
		}
	}
	return fmt.Sprintf(`{"id":%q,"amount":%d.%02d,"note":"%s"}`, g.words(), g.IntN(1000), g.IntN(100), g.words())
}

func (g *generator) text() string {
	if g.chance(1, 3) {
		return pick(g, texts)
	}
	return g.words()
}

func (g *generator) words() string {
	text := pick(g, vocabulary)
	for range g.IntN(8) {
		text += " " + pick(g, vocabulary)
	}
	return text
}

var vocabulary = []string{"order", "refund", "please", "flight", "yes", "no", "A-17", "tomorrow", "straße", "42"}

func (g *generator) chance(part, whole int) bool { return g.IntN(whole) < part }

func pick[T any](g *generator, from []T) T { return from[g.IntN(len(from))] }
