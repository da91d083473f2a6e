package bedrock_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/bedrock"
)

// TestSealsThatComeInPiecesGoBackWhole: Bedrock may cut a signature, and what only the model can
// read, anywhere.
func TestSealsThatComeInPiecesGoBackWhole(t *testing.T) {
	var stream bytes.Buffer
	for _, delta := range []string{
		`{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Is it "}}}`, `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"due?"}}}`,
		`{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}`, `{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"bmVk"}}}`,
		`{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"AAE="}}}`, `{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"Av8="}}}`,
		`{"contentBlockIndex":2,"delta":{"text":"It is."}}`,
	} {
		writeFrame(&stream, "contentBlockDelta", []byte(delta))
	}
	writeFrame(&stream, "messageStop", []byte(`{"stopReason":"end_turn"}`))
	answer, sent := stream.Bytes(), ""
	model, err := bedrock.New(client(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(req.Body)
		sent = body.String()
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		_, _ = w.Write(answer)
	})), bedrock.Options{Model: agent.Model{ID: "m"}, Clock: newClock(), Random: random{}})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := model.Ask(t.Context(), prompt(user("Hi.")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.Ask(t.Context(), prompt(user("Hi."), core.Message{Role: core.RoleAssistant, Parts: turn.Content}, user("Sure?"))); err != nil {
		t.Fatal(err)
	}
	if !json.Valid([]byte(sent)) || !strings.Contains(sent, `"reasoningText":{"signature":"c2lnbmVk","text":"Is it due?"}`) &&
		!strings.Contains(sent, `"reasoningText":{"text":"Is it due?","signature":"c2lnbmVk"}`) || !strings.Contains(sent, `"redactedContent":"AAEC/w=="`) {
		t.Errorf("sent back: %s", sent)
	}
}

func streamOf(frames ...string) []byte {
	var stream bytes.Buffer
	for i := 0; i+1 < len(frames); i += 2 {
		writeFrame(&stream, frames[i], []byte(frames[i+1]))
	}
	return stream.Bytes()
}

// TestNothingCountsBehindTheEndOfAnAnswer but what it used: a call there is none that the model
// made.
func TestNothingCountsBehindTheEndOfAnAnswer(t *testing.T) {
	turn, err := asked(t, agent.Model{ID: "m"}, "application/vnd.amazon.eventstream", streamOf(
		"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Done."}}`, "messageStop", `{"stopReason":"end_turn"}`,
		"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":" Or not."}}`,
		"contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"a","name":"refund"}}}`, "contentBlockStop", `{"contentBlockIndex":1}`,
		"messageStop", `{"stopReason":"tool_use"}`, "metadata", `{"usage":{"inputTokens":3,"outputTokens":2}}`))
	if err != nil || turn.Text != "Done." || len(turn.Calls) != 0 || turn.OutputTokens != 2 {
		t.Errorf("%+v, %v", turn, err)
	}
}

// TestAnAnswerWithoutBoundsIsNone: neither of endless blocks that hold nothing, nor of endless
// text. It is not asked for again at once.
func TestAnAnswerWithoutBoundsIsNone(t *testing.T) {
	var many []string
	for i := range 1002 {
		many = append(many, "contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":%d,"delta":{"text":""}}`, i))
	}
	var long []string
	for range 9 {
		long = append(long, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"`+strings.Repeat("x", 1<<20)+`"}}`)
	}
	for name, frames := range map[string][]string{"blocks": many, "bytes": long} {
		turn, err := asked(t, agent.Model{ID: "m"}, "application/vnd.amazon.eventstream", streamOf(append(frames, "messageStop", `{"stopReason":"end_turn"}`)...))
		if !errors.Is(err, engine.ErrTryAgain) || !strings.Contains(err.Error(), "exceeds the limit") {
			t.Errorf("%s: a turn with %d bytes, %v", name, len(turn.Text), err)
		}
	}
}
