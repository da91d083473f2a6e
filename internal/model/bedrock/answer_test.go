package bedrock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

func TestTextAndUsageAreRead(t *testing.T) {
	modes(t, func(t *testing.T, m agent.Model) {
		r := newRig(t, m, said("Refunded: 12 € to Zoë."))
		want := core.Turn{Text: "Refunded: 12 € to Zoë.", InputTokens: 30, OutputTokens: 7, CacheRead: 10, CacheWritten: 5}
		if diff := cmp.Diff(want, r.ask(t, prompt(user("Refund it.")))); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestParallelCallsKeepEveryDigit(t *testing.T) {
	modes(t, func(t *testing.T, m agent.Model) {
		calls := []core.ToolCall{call("tooluse_1", "refund", `{"amount":9007199254740993,"rate":1.10}`), call("tooluse_2", "lookup", `{"n":1e400,"s":"<é>"}`)}
		r := newRig(t, m, modeldouble.Said{Turn: core.Turn{Text: "Let me see.", Calls: calls}, Piece: 3})
		turn := r.ask(t, prompt(user("Refund it.")))
		if len(turn.Calls) != 2 || turn.Content != nil || turn.Text != "Let me see." {
			t.Fatalf("%+v", turn)
		}
		for i, want := range calls {
			got := turn.Calls[i]
			same, err := core.Canonical(got.Arguments)
			if err != nil || got.ID != want.ID || got.Name != want.Name {
				t.Fatalf("call %d is %+v (%v)", i, got, err)
			}
			if canonical, _ := core.Canonical(want.Arguments); string(same) != string(canonical) {
				t.Errorf("call %d has the arguments %s, want %s", i, same, canonical)
			}
		}
	})
}

func TestStreamedArgumentsAreTheTextThatTheModelWrote(t *testing.T) {
	for _, c := range []struct{ wrote, want string }{
		{`{"b": 1.10, "a": [1, 2]}`, `{"b": 1.10, "a": [1, 2]}`},
		{``, `{}`},
		{`{"cut`, `"{\"cut"`},
		{`{}{}`, `"{}{}"`},
		{`7`, `7`},
	} {
		r := newRig(t, agent.Model{}, modeldouble.Said{Turn: core.Turn{Calls: []core.ToolCall{call("a", "refund", c.wrote)}}, Piece: 1})
		turn := r.ask(t, prompt(user("Hi.")))
		if got := string(turn.Calls[0].Arguments); got != c.want {
			t.Errorf("the model wrote %q; the arguments are %s, want %s", c.wrote, got, c.want)
		}
	}
}

func TestLongArgumentsOverManyFrames(t *testing.T) {
	long := `{"text":"` + strings.Repeat("Überweisung ", 10_000) + `"}`
	r := newRig(t, agent.Model{}, modeldouble.Said{Turn: core.Turn{Calls: []core.ToolCall{call("a", "note", long)}}, Piece: 100})
	if got := r.ask(t, prompt(user("Hi."))); string(got.Calls[0].Arguments) != long {
		t.Fatalf("%d bytes of arguments, want %d", len(got.Calls[0].Arguments), len(long))
	}
}

func TestReasoningGoesBackAsItCame(t *testing.T) {
	modes(t, func(t *testing.T, m agent.Model) {
		c := call("tooluse_1", "refund", `{"id":7}`)
		content := []core.Part{{Type: core.PartReasoning, Text: "Is it \"due\"?\nYes ✓ "}, {Type: core.PartReasoning, Sealed: []byte{0, 1, 0xff}},
			{Type: core.PartText, Text: "One moment."}, {Type: core.PartCall, Call: c.ID}, {Type: core.PartText, Text: "And then…"}}
		thought := modeldouble.Said{Turn: core.Turn{Text: "One moment.And then…", Content: content, Calls: []core.ToolCall{c}}, Piece: 4}
		r := newRig(t, m, thought, said("Done."))
		turn := r.ask(t, prompt(user("Refund it.")))
		first := core.Message{Role: core.RoleAssistant, Parts: turn.Content, Calls: turn.Calls}
		if turn.Text != "One moment.And then…" || core.ReasoningOf(turn.Content) != content[0].Text {
			t.Fatalf("%+v", turn)
		}
		// the double refuses reasoning that was changed
		r.ask(t, prompt(user("Refund it."), first, result(c, "ok")))
		if diff := cmp.Diff(content, r.last().Messages[1].Parts); diff != "" {
			t.Fatalf("sent back: %s", diff)
		}
	})
}

func TestReasoningOfOthersAndWhatWasCutOffIsLeftOut(t *testing.T) {
	r := newRig(t, agent.Model{}, said("Done."))
	r.ask(t, prompt(user("Hi."), core.Message{Role: core.RoleAssistant, Parts: []core.Part{
		{Type: core.PartReasoning, Text: "hm", Provider: "openai", Sealed: []byte(`{}`)}, {Type: core.PartText, Text: "Hello."},
		{Type: core.PartReasoning, Text: "cut off", Provider: "bedrock", Sealed: []byte(`{}`)}}}, user("Go on.")))
	if got := r.last().Messages[1]; core.ReasoningOf(got.Parts) != "" || got.Text() != "Hello." || r.log.Len() > 0 {
		t.Fatalf("%+v\n%s", got, r.log.String())
	}
}

func TestWhyTheModelStopped(t *testing.T) {
	c := call("a", "refund", `{}`)
	for _, s := range []struct {
		stop  string
		calls []core.ToolCall
		code  string // of the end, empty for none
		none  bool   // it is no turn
	}{
		{stop: "end_turn"}, {stop: "stop_sequence"}, {stop: "tool_use", calls: []core.ToolCall{c}},
		// some models say that beside their calls
		{stop: "end_turn", calls: []core.ToolCall{c}},
		{stop: "tool_use", none: true},
		{stop: "max_tokens", code: "max_tokens", calls: []core.ToolCall{c}},
		{stop: "guardrail_intervened", code: "guardrail_intervened"},
		{stop: "content_filtered", code: "content_filtered"},
		{stop: "model_context_window_exceeded", code: "model_context_window_exceeded"},
		{stop: "out of\ntime", code: "unknown_stop_reason"},
		{stop: "malformed_model_output", none: true}, {stop: "malformed_tool_use", none: true},
	} {
		modes(t, func(t *testing.T, m agent.Model) {
			answer := said("So far.", s.calls...)
			answer.Stop = s.stop
			turn, err := newRig(t, m, answer).Ask(t.Context(), prompt(user("Hi.")))
			code := ""
			if turn.End != nil && turn.End.Kind == core.Stopped && turn.End.Detail != "" {
				code = turn.End.Code
			}
			switch {
			case s.none != errors.Is(err, engine.ErrTryAgain):
				t.Errorf("%s: the error is %v", s.stop, err)
			case !s.none && (turn.Text != "So far." || len(turn.Calls) != len(s.calls) || code != s.code):
				t.Errorf("%s: %+v, end %+v", s.stop, turn, turn.End)
			}
		})
	}
}

func TestUsageThatNobodySaid(t *testing.T) {
	modes(t, func(t *testing.T, m agent.Model) {
		answer := said("Done.")
		answer.Fault = modeldouble.NoUsage
		if turn := newRig(t, m, answer).ask(t, prompt(user("Hi."))); !turn.NoUsage || turn.InputTokens != 0 || turn.Text != "Done." {
			t.Fatalf("%+v", turn)
		}
	})
}

func TestWhatNobodyKnowsIsPassedOver(t *testing.T) {
	modes(t, func(t *testing.T, m agent.Model) {
		answer := said("Done.", call("a", "refund", `{}`))
		answer.Fault = modeldouble.UnknownEvent
		if turn := newRig(t, m, answer).ask(t, prompt(user("Hi."))); turn.Text != "Done." || turn.Content != nil || len(turn.Calls) != 1 {
			t.Fatalf("%+v", turn)
		}
	})
}

func TestWhatIsSaidIsHeardWhileItIsSaid(t *testing.T) {
	content := []core.Part{{Type: core.PartReasoning, Text: "Is it due? Yes."}, {Type: core.PartText, Text: "One moment, please."}}
	r := newRig(t, agent.Model{}, modeldouble.Said{Turn: core.Turn{Content: content}, Piece: 5})
	heard := map[string]string{}
	p := prompt(user("Hi."))
	p.Say = func(d engine.Delta) { heard[d.Kind] += d.Text }
	r.ask(t, p)
	if want := map[string]string{core.TextPart: "One moment, please.", core.ReasoningPart: "Is it due? Yes."}; !cmp.Equal(want, heard) {
		t.Fatal(cmp.Diff(want, heard))
	}
}

const refundSchema = `{"type":"object","properties":{"amount":{"type":"number"}},"required":["amount"]}`

func TestAnswersThatDoNotFitTheSchemaAreAskedForAgain(t *testing.T) {
	m := agent.Model{Output: []byte(refundSchema)}
	for text, fits := range map[string]bool{`{"amount":12}`: true, `{"amount":"12"}`: false, `{}`: false, `Twelve.`: false} {
		turn, err := newRig(t, m, said(text)).Ask(t.Context(), prompt(user("How much?")))
		if fits != (err == nil && turn.Text == text) || !fits && !errors.Is(err, engine.ErrTryAgain) {
			t.Errorf("%s: %+v, %v", text, turn, err)
		}
	}
	if turn := newRig(t, m, said("Wait.", call("a", "lookup", `{}`))).ask(t, prompt(user("How much?"))); len(turn.Calls) != 1 {
		t.Errorf("a turn with calls is not the end of it: %+v", turn)
	}
}
