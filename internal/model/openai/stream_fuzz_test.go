package openai_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// FuzzStream sends anything as an answer: whatever it is, it is a turn only if it says why the
// model stopped, and what is heard is what the turn says.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{"data: " + delta(`{"content":"a \ud83d"}`) + "\n\ndata: " + stop + "\n\ndata: [DONE]\n\n", "event: error\ndata: {\"code\":429}\n\n",
		"data:" + delta(`{"tool_calls":[{"index":0,"id":1,"function":{"name":"x","arguments":{"a":1}}}]}`) + "\ndata: " + toolCalls, ": hi\n\n\ufeffdata: {}\r\n\r\n",
		"data: {\"choices\":[{\"delta\":{\"reasoning\":\"a\",\"reasoning_content\":\"a\"},\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":1e300}}\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := newStage(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(raw) }))
		heard := ""
		p := prompt()
		p.Say = func(d engine.Delta) {
			if d.Restart {
				heard = ""
			} else if d.Kind == "text" {
				heard += d.Text
			}
		}
		turn, err := s.model.Ask(t.Context(), p)
		switch {
		case err != nil && !errors.As(err, new(*engine.TryLater)) && !errors.As(err, new(*engine.ModelError)):
			t.Errorf("%q gave %v", raw, err)
		case err == nil && !strings.Contains(strings.ToLower(string(raw)), "finish"):
			t.Errorf("%q became %+v", raw, turn)
		case err == nil && heard != turn.Text:
			t.Errorf("%q: heard %q, the turn says %q", raw, heard, turn.Text)
		case err == nil && (!utf8.ValidString(turn.Text) || turn.InputTokens < 0 || turn.OutputTokens < 0):
			t.Errorf("%q became %+v", raw, turn)
		}
	})
}
