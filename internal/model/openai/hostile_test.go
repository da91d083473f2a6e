package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

// events streams each line as an event of its own.
func events(lines ...string) http.Handler {
	return raw("data: " + strings.Join(lines, "\n\ndata: ") + "\n\n")
}

func raw(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	})
}

func piece(d string) string { return `{"choices":[{"delta":` + d + `}]}` }

const stopped = `{"choices":[{"delta":{},"finish_reason":"stop"}]}`

func TestACallBehindTheReasonForTheEndIsWholeOnlyIfTheEndpointIsDone(t *testing.T) {
	name, arguments := piece(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"lookup"}}]}`),
		piece(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"order\":7}"}}]}`)
	for _, cut := range []http.Handler{events(piece(`{"content":"hm"}`), stopped, name), events(stopped, name, arguments)} {
		s := newStage(t, cut)
		if turn, err := s.model.Ask(t.Context(), prompt()); err == nil {
			t.Errorf("a call that may have lost its arguments is taken: %+v", turn.Calls)
		}
	}
	turn := newStage(t, events(stopped, name, arguments, "[DONE]")).turn(prompt())
	if len(turn.Calls) != 1 || string(turn.Calls[0].Arguments) != `{"order":7}` {
		t.Errorf("%+v", turn.Calls)
	}
	if turn := newStage(t, events(piece(`{"content":"hm"}`), stopped)).turn(prompt()); turn.Text != "hm" {
		t.Errorf("%q", turn.Text)
	}
}

func TestWhatIsTooLongForANameHoldsNoHalfOfASecret(t *testing.T) {
	long := strings.Repeat("x", 240) + key
	for _, bits := range []string{
		`{"index":0,"id":"` + long + `","function":{"name":"lookup","arguments":"{}"}}`,
		`{"index":0,"id":"c1","function":{"name":"` + long + `","arguments":"{}"}}`,
		`{"index":0,"id":"c1","function":{"name":"` + long[:245] + `"}},{"index":0,"function":{"name":"` + long[245:] + `"}}`,
	} {
		s := newStageOf(t, agent.Model{ID: "small", APIKey: "MODEL_KEY"}, events(piece(`{"tool_calls":[`+bits+`]}`), stopped))
		turn := s.turn(prompt())
		if shown := fmt.Sprint(turn.Calls); strings.Contains(shown, key[:6]) || len(turn.Calls) != 1 {
			t.Errorf("%s", shown)
		}
	}
}

func TestASecretInPlaceOfTheReasonForTheEndIsNotShownInSmallLetters(t *testing.T) {
	s := newStageOf(t, agent.Model{ID: "small", APIKey: "UPPER"}, events(`{"choices":[{"delta":{"content":"hm"},"finish_reason":"KEY_PLANTED_77"}]}`))
	turn := s.turn(prompt())
	if turn.End == nil || turn.End.Code != "unknown_stop_reason" || strings.Contains(strings.ToLower(turn.End.Detail), "planted") {
		t.Errorf("%+v", turn.End)
	}
}

// Each of these took minutes once. Work that grew with the square of what is sent would not come to
// an end here within the time that tests have.
func TestWhatAnEndpointSendsIsReadOnce(t *testing.T) {
	var calls strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&calls, `,{"id":"%d"}`, i)
	}
	again := piece(`{"tool_calls":[{"id":"a","function":{"name":"lookup","arguments":"}"}}]}`)
	const tooLong, brokeOff = "exceeds the limit", "broke off"
	for name, tt := range map[string]struct {
		sends http.Handler
		bytes int // of the turn's text
		fails string
	}{
		"very many calls in one event": {events(piece(`{"tool_calls":[`+calls.String()[1:]+`]}`), stopped), 0, tooLong},
		"pairs of surrogates":          {events(piece(`{"content":"`+strings.Repeat(`\ud83d\ude00`, 300_000)+`"}`), stopped), 4 * 300_000, ""},
		"very many lines of one event": {raw("data: [\n" + strings.Repeat("data:1,\n", 300_000)), 0, brokeOff},
		"a call that begins again and again": {events(piece(`{"tool_calls":[{"id":"a","function":{"name":"lookup","arguments":"{\"a\":\"`+
			strings.Repeat("x", 2<<20)+`"}}]}`), strings.Repeat(again+"\n\ndata: ", 1500)+stopped), 0, tooLong},
		"lists in lists": {events(piece(`{"content":`+strings.Repeat(`[{"text":`, 4900)+`"`+strings.Repeat("x", 2<<20)+`"`+
			strings.Repeat(`}]`, 4900)+`}`), stopped), 0, ""},
	} {
		s := newStage(t, tt.sends)
		turn, err := s.model.Ask(t.Context(), prompt())
		if len(turn.Text) != tt.bytes || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %d bytes, %v; want %d, %q", name, len(turn.Text), err, tt.bytes, tt.fails)
		}
	}
}
