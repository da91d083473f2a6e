package openai_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// TestAnAnswerThatIsTooLongIsNoTurnThoughItEnded: what says why the model stopped may stand in the
// same piece as what is too much.
func TestAnAnswerThatIsTooLongIsNoTurnThoughItEnded(t *testing.T) {
	for name, tt := range map[string]struct {
		whole  bool
		kind   string
		answer string
	}{
		"in one piece": {true, "application/json", `{"choices":[{"message":{"content":"TEXT"},"finish_reason":"stop"}]}`},
		"streamed, in two": {false, "text/event-stream", `data: {"choices":[{"delta":{"content":"HALF"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"HALF"}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{"content":"HALF"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"},
		"many calls": {true, "application/json", `{"choices":[{"message":{"tool_calls":[` + strings.TrimSuffix(strings.Repeat(`{"function":{"name":"a"}},`, 21), ",") +
			`]},"finish_reason":"tool_calls"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStageOf(t, agent.Model{ID: "small", Whole: tt.whole}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.kind)
				_, _ = io.WriteString(w, strings.NewReplacer("TEXT", strings.Repeat("x", 17<<10), "HALF", strings.Repeat("x", 7<<10)).Replace(tt.answer))
			}))
			s.model.Bound()
			turn, err := s.model.Ask(t.Context(), prompt())
			var last *engine.ModelError
			if !errors.As(err, &last) || !strings.Contains(last.Detail, "exceeds the limit") || s.requests() != 1 {
				t.Errorf("%d bytes and %d calls after %d requests, %v", len(turn.Text), len(turn.Calls), s.requests(), err)
			}
		})
	}
}
