package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// deskModel is the model of the examples: it answers what a customer wrote with the lines for that,
// one after the other.
type deskModel struct {
	said chan struct{} // closed once it stops in the middle of a text

	mu     sync.Mutex
	failed map[string]bool // by what the customer wrote
	// of the reader of each run: which piece of what it says was heard
	ears map[string]chan core.EventType
}

func (m *deskModel) ear(run string) chan core.EventType {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ears[run] == nil {
		m.ears[run] = make(chan core.EventType)
	}
	return m.ears[run]
}

// hear says that a reader of the run was told of a piece.
func (m *deskModel) hear(ctx context.Context, run string, piece core.EventType) {
	select {
	case m.ear(run) <- piece:
	case <-ctx.Done():
	}
}

// modelLine is one turn. One that is aloud is said before it is there, and a reader hears it.
type modelLine struct {
	thinks, says string
	calls        []core.ToolCall
	aloud, stops bool  // stops: in the middle of it, until the run is cancelled
	fails        error // the first time it is asked
}

func wants(id, name, arguments string) core.ToolCall {
	return core.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

// script is what the model answers, by what the customer wrote.
var script = map[string][]modelLine{
	"Please refund order A-2. The teapot arrived broken.": {
		{thinks: "The order comes first.", says: "Let me look at order A-2.", aloud: true, calls: []core.ToolCall{wants("call_1", "find_order", `{"order":"A-2"}`)}},
		{says: "I'll refund the teapot.", aloud: true, calls: []core.ToolCall{wants("call_2", "issue_refund", `{"order":"A-2","amount":180}`)}},
		{says: "I've refunded $120 for order A-2."},
	},
	"Please refund order A-3, the shipping and the flowers.": {
		{calls: []core.ToolCall{wants("call_1", "find_order", `{"order":"A-3"}`), wants("call_2", "issue_refund", `{"order":"A-3"}`),
			wants("call_3", "issue_refund", `{"order":"A-3","amount":2500}`), wants("call_4", "send_flowers", `{}`)}},
		{says: "I can't refund order A-3."},
	},
	"Refund me, again.": {
		{calls: []core.ToolCall{wants("call_1", "issue_refund", `{"order":"A-2","amount":180}`)}},
		{says: "The refund was not approved."},
	},
	"Which order is late?": {
		{calls: []core.ToolCall{wants("call_1", "choose_order", `{}`)}},
		{says: "Order A-2 is late."},
	},
	"Please change my address.": {
		{calls: []core.ToolCall{wants("call_1", "ask_customer", `{"question":"What is the new address?"}`)}},
		{says: "I've changed it."},
	},
	"I sign here.": {
		{calls: []core.ToolCall{wants("call_1", "sign", `{}`)}},
		{says: "Please sign next time."},
	},
	"Please pick the parcel up.": {
		{calls: []core.ToolCall{wants("call_1", "book_pickup", `{"order":"A-2"}`)}},
		{says: "The carrier comes tomorrow."},
	},
	"Tell me everything about teapots.": {{says: "Teapots were first made in", aloud: true, stops: true}},
	"Good morning.":                     {{fails: &engine.TryLater{Detail: "the endpoint answered 503 Service Unavailable"}}},
	"Good evening.":                     {{says: "Good evening.", fails: &engine.ModelError{Detail: "the endpoint answered 401 Unauthorized: the API key is not valid"}}},
	"When does the refund arrive?":      {{says: "Within 3 days."}},
	"Refund a million.":                 {{calls: []core.ToolCall{wants("call_1", "issue_refund", `{"order":"A-2","amount":1000000}`)}}},
}

// Ask implements [engine.Model].
func (m *deskModel) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	text, turns := "", 0
	for _, message := range p.Messages {
		switch message.Role {
		case core.RoleUser:
			text, turns = message.Text(), 0
		case core.RoleAssistant:
			turns++
		}
	}
	if turns >= len(script[text]) {
		return core.Turn{}, fmt.Errorf("the script has no answer %d to %q", turns+1, text)
	}
	a := script[text][turns]
	if a.fails != nil && m.fails(text) {
		return core.Turn{}, a.fails
	}
	turn := core.Turn{Text: a.says, Calls: a.calls, InputTokens: int64(900 + 150*len(p.Messages)), OutputTokens: int64(20 + len(a.says))}
	if turns > 0 {
		turn.CacheRead = turn.InputTokens - 200 // of what was asked before
	}
	if a.thinks != "" {
		turn.Content = []core.Part{{Type: core.PartReasoning, Text: a.thinks}, {Type: core.PartText, Text: a.says}}
	}
	return turn, m.speak(ctx, a, p)
}

func (m *deskModel) fails(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := !m.failed[text]
	m.failed[text] = true
	return first
}

// speak says an answer, each piece until a reader has heard it.
func (m *deskModel) speak(ctx context.Context, a modelLine, p engine.Prompt) error {
	if !a.aloud {
		return nil
	}
	for _, piece := range []engine.Delta{{Kind: core.ReasoningPart, Text: a.thinks}, {Kind: core.TextPart, Text: a.says}} {
		if piece.Text == "" {
			continue
		}
		p.Say(piece)
		select {
		case <-m.ear(p.Run):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if !a.stops {
		return nil
	}
	close(m.said)
	<-ctx.Done()
	return ctx.Err()
}
