package bedrock_test

import (
	"bytes"
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/bedrock"
)

// FuzzStream reads what a stream may hold: two frames of any kind and content, then any bytes.
// Whatever it is, nothing panics, and without a messageStop there is no turn.
func FuzzStream(f *testing.F) {
	f.Add("messageStart", []byte(`{"role":"assistant"}`), "contentBlockDelta", []byte(`{"contentBlockIndex":0,"delta":{"text":"hi"}}`), []byte(nil))
	f.Add("contentBlockStart", []byte(`{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"a","name":"b"}}}`), "messageStop", []byte(`{"stopReason":"tool_use"}`), []byte{0, 0, 0, 16})
	f.Add("contentBlockDelta", []byte(`{"contentBlockIndex":-3,"delta":{"reasoningContent":{"redactedContent":"AAE="}}}`), "contentBlockDelta", []byte(`{"delta":{"toolUse":{"input":"{"}}}`), []byte("x"))
	f.Add("metadata", []byte(`{"usage":{"inputTokens":-1,"outputTokens":99999999999}}`), "sparkle", []byte(`{}`), []byte(nil))
	f.Add("messageStop", []byte(`{"stopReason":"end_turn"}`), "metadata", []byte(`{"usage":null}`), []byte(nil))
	f.Add("contentBlockDelta", []byte(``), "contentBlockDelta", []byte(`{"delta":{"text":`), []byte(nil))
	f.Fuzz(func(t *testing.T, kind1 string, body1 []byte, kind2 string, body2, rest []byte) {
		var stream bytes.Buffer
		writeFrame(&stream, kind1, body1)
		writeFrame(&stream, kind2, body2)
		stream.Write(rest)
		turn, err := asked(t, agent.Model{ID: "m"}, "application/vnd.amazon.eventstream", stream.Bytes())
		if err == nil && kind1 != "messageStop" && kind2 != "messageStop" && !bytes.Contains(rest, []byte("messageStop")) {
			t.Fatalf("a turn without a messageStop: %+v", turn)
		}
		checkTurn(t, turn)
	})
}

// FuzzWhole reads any body of a whole answer.
func FuzzWhole(f *testing.F) {
	f.Add([]byte(`{"stopReason":"end_turn","output":{"message":{"role":"assistant","content":[{"text":"hi"},null,{"x":1}]}},"usage":{"inputTokens":1}}`))
	f.Add([]byte(`{"stopReason":"tool_use","output":{"message":{"content":[{"toolUse":{"toolUseId":"a","name":"b","input":[1e999,"\ud800"]}},{"toolUse":{}}]}}}`))
	f.Add([]byte(`{"output":{"message":{"content":[{"reasoningContent":{"reasoningText":{"text":"x"}}},{"reasoningContent":{}}]}}}`))
	f.Add([]byte(`{"output":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		turn, _ := asked(t, agent.Model{ID: "m", Whole: true}, "application/json", body)
		checkTurn(t, turn)
	})
}

func TestCallsThatAreNotWholeAreNoTurn(t *testing.T) {
	start := `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"a","name":"refund"}}}`
	delta, stop := `{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}`, `{"contentBlockIndex":0}`
	for name, c := range map[string]struct {
		frames []string // kinds and bodies
		turn   bool
	}{
		"whole":       {[]string{"contentBlockStart", start, "contentBlockDelta", delta, "contentBlockStop", stop}, true},
		"not closed":  {[]string{"contentBlockStart", start, "contentBlockDelta", delta}, false},
		"no name":     {[]string{"contentBlockDelta", delta, "contentBlockStop", stop}, false},
		"begun twice": {[]string{"contentBlockStart", start, "contentBlockStart", start, "contentBlockStop", stop}, false},
		"goes on":     {[]string{"contentBlockStart", start, "contentBlockStop", stop, "contentBlockDelta", delta}, false},
	} {
		var stream bytes.Buffer
		for i := 0; i < len(c.frames); i += 2 {
			writeFrame(&stream, c.frames[i], []byte(c.frames[i+1]))
		}
		writeFrame(&stream, "messageStop", []byte(`{"stopReason":"tool_use"}`))
		turn, err := asked(t, agent.Model{ID: "m"}, "application/vnd.amazon.eventstream", stream.Bytes())
		if c.turn != (err == nil) || !c.turn && !errors.Is(err, engine.ErrTryAgain) {
			t.Errorf("%s: %+v, %v", name, turn, err)
		}
	}
}

func writeFrame(w *bytes.Buffer, kind string, body []byte) {
	m := eventstream.Message{Payload: body}
	m.Headers.Set(":message-type", eventstream.StringValue("event"))
	m.Headers.Set(":event-type", eventstream.StringValue(kind))
	m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
	_ = eventstream.NewEncoder().Encode(w, m) // of a kind that is too long, nothing is written
}

// asked is what becomes of an answer.
func asked(t *testing.T, m agent.Model, kind string, answer []byte) (core.Turn, error) {
	model, err := bedrock.New(client(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(answer)
	})), bedrock.Options{Model: m, Clock: newClock(), Random: random{}})
	if err != nil {
		t.Fatal(err)
	}
	return model.Ask(t.Context(), prompt(user("Hi.")))
}

// checkTurn says whether a turn can be stored, and sent again.
func checkTurn(t *testing.T, turn core.Turn) {
	t.Helper()
	if turn.InputTokens < 0 || turn.OutputTokens < 0 || turn.Content != nil && core.TextOf(turn.Content) != turn.Text {
		t.Fatalf("%+v", turn)
	}
	core.Encode(turn.Calls) // panics if arguments are no JSON
	core.Encode(turn.Content)
}
