package modeldouble_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// converse sends a request to the double and returns its answer.
func converse(path, body string, say modeldouble.Said) (*httptest.ResponseRecorder, *modeldouble.Asked) {
	var asked *modeldouble.Asked
	w := httptest.NewRecorder()
	modeldouble.Bedrock(func(a modeldouble.Asked) modeldouble.Said { asked = &a; return say }).
		ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w, asked
}

const (
	bedrockHi    = `{"role":"user","content":[{"text":"Hi."}]}`
	bedrockTools = `"toolConfig":{"tools":[{"toolSpec":{"name":"refund","inputSchema":{"json":{"type":"object"}}}}]}`
	bedrockCalls = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"refund","input":{}}}]}`
	bedrockOK    = `{"toolResult":{"toolUseId":"a","content":[{"text":"ok"}]}}`
)

func TestBedrockRefusesWhatBedrockRefuses(t *testing.T) {
	messages := func(m ...string) string { return `{"messages":[` + strings.Join(m, ",") + `],` + bedrockTools + `}` }
	assistant := func(content string) string { return `{"role":"assistant","content":[` + content + `]}` }
	user := func(content string) string { return `{"role":"user","content":[` + content + `]}` }
	for name, c := range map[string]struct{ body, says string }{
		"no JSON":               {`{`, "malformed"},
		"no message":            {messages(), "at least one message"},
		"two users":             {messages(bedrockHi, bedrockHi), "alternate"},
		"begins with assistant": {messages(assistant(`{"text":"x"}`)), "alternate"},
		"ends with assistant":   {messages(bedrockHi, assistant(`{"text":"x"}`)), "prefill"},
		"empty content":         {messages(user(``)), "is empty"},
		"blank text":            {messages(user(`{"text":" \n"}`)), "blank"},
		"blank system":          {`{"system":[{"text":""}],"messages":[` + bedrockHi + `]}`, "blank"},
		"no result":             {messages(bedrockHi, bedrockCalls, bedrockHi), "Expected toolResult"},
		"result of nothing":     {messages(user(bedrockOK)), "answers no toolUse"},
		"result behind text":    {messages(bedrockHi, bedrockCalls, user(`{"text":"x"},`+bedrockOK)), "before any other"},
		"two results":           {messages(bedrockHi, bedrockCalls, user(bedrockOK+","+bedrockOK)), "answers no toolUse"},
		"id twice":              {messages(bedrockHi, bedrockCalls, user(bedrockOK), bedrockCalls, user(bedrockOK)), "unique"},
		"id":                    {messages(bedrockHi, strings.ReplaceAll(bedrockCalls, `"a"`, `"a b"`), user(bedrockOK)), "toolUseId"},
		"name of a call":        {messages(bedrockHi, strings.ReplaceAll(bedrockCalls, `refund`, `re.fund`), user(bedrockOK)), "toolUse.name"},
		"input":                 {messages(bedrockHi, strings.ReplaceAll(bedrockCalls, `{}`, `"x"`), user(bedrockOK)), "json object"},
		"no tools":              {`{"messages":[` + bedrockHi + `,` + bedrockCalls + `,` + user(bedrockOK) + `]}`, "toolConfig"},
		"no tool":               {`{"messages":[` + bedrockHi + `],"toolConfig":{"tools":[]}}`, "length below 1"},
		"name of a tool":        {`{"messages":[` + bedrockHi + `],` + strings.ReplaceAll(bedrockTools, "refund", "re.fund") + `}`, "toolSpec.name"},
		"schema":                {`{"messages":[` + bedrockHi + `],` + strings.ReplaceAll(bedrockTools, "object", "string") + `}`, "inputSchema"},
		"document name":         {messages(user(`{"text":"x"},{"document":{"name":"a_b.pdf","format":"pdf","source":{"bytes":"AAE="}}}`)), "file name"},
		"document name twice": {messages(user(strings.Repeat(`{"document":{"name":"a","format":"pdf","source":{"bytes":"AAE="}}},`, 2) + `{"text":"x"}`)),
			"there twice"},
		"document alone":       {messages(user(`{"document":{"name":"a","format":"pdf","source":{"bytes":"AAE="}}}`)), "text block"},
		"image":                {messages(user(`{"image":{"format":"tiff","source":{"bytes":"AAE="}}}`)), "format"},
		"reasoning changed":    {messages(bedrockHi, assistant(`{"reasoningContent":{"reasoningText":{"text":"x","signature":"y"}}},{"text":"x"}`), bedrockHi), "modified"},
		"reasoning unsigned":   {messages(bedrockHi, assistant(`{"reasoningContent":{"reasoningText":{"text":"x"}}},{"text":"x"}`), bedrockHi), "modified"},
		"redacted changed":     {messages(bedrockHi, assistant(`{"reasoningContent":{"redactedContent":"AAE="}},{"text":"x"}`), bedrockHi), "modified"},
		"metadata":             {`{"messages":[` + bedrockHi + `],"requestMetadata":{"run":"ü"}}`, "requestMetadata"},
		"too many cache marks": {messages(user(`{"text":"x"}` + strings.Repeat(`,{"cachePoint":{"type":"default"}}`, 5))), "cachePoint"},
		"temperature":          {`{"messages":[` + bedrockHi + `],"inferenceConfig":{"temperature":1.5}}`, "inferenceConfig"},
	} {
		w, asked := converse("/model/m/converse", c.body, modeldouble.Said{})
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), c.says) || asked != nil {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	many := map[string]string{}
	for i := range 17 {
		many[strings.Repeat("k", i+1)] = "v"
	}
	if w, _ := converse("/model/m/converse", `{"messages":[`+bedrockHi+`],"requestMetadata":`+string(core.Encode(many))+`}`, modeldouble.Said{}); w.Code != 400 {
		t.Errorf("17 marks: %d", w.Code)
	}
}

func TestBedrockReadsTheModelOfADecodedPath(t *testing.T) {
	for path, want := range map[string]string{
		"/model/eu.claude-v1%3A0/converse":                                   "eu.claude-v1:0",
		"/model/arn%3Aaws%3Abedrock%3A%3A1%3Aprofile%2Feu.x/converse-stream": "arn:aws:bedrock::1:profile/eu.x",
		"/model//converse": "", "/model/m/invoke": "", "/": "",
	} {
		w, asked := converse(path, `{"messages":[`+bedrockHi+`]}`, modeldouble.Said{Turn: core.Turn{Text: "x"}})
		if want == "" && w.Code != http.StatusNotFound || want != "" && (asked == nil || asked.Model != want || asked.Stream != strings.HasSuffix(path, "-stream")) {
			t.Errorf("%s: %d %+v", path, w.Code, asked)
		}
	}
}

func TestBedrockStreamsWhatIsSaid(t *testing.T) {
	shown := 0
	say := modeldouble.Said{Turn: core.Turn{Text: "Zoë", Calls: []core.ToolCall{{ID: "a", Name: "refund", Arguments: json.RawMessage(`{"x":1}`)}}, InputTokens: 9, CacheRead: 4},
		Piece: 2, Shown: func(n int) { shown = n }}
	w, _ := converse("/model/m/converse-stream", `{"messages":[`+bedrockHi+`]}`, say)
	var got []string
	for {
		m, err := eventstream.NewDecoder().Decode(w.Body, nil)
		if err != nil {
			break
		}
		got = append(got, m.Headers.Get(":event-type").String()+" "+string(m.Payload))
	}
	want := []string{`messageStart {"role":"assistant"}`,
		`contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"Zo"}}`, `contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"ë"}}`, `contentBlockStop {"contentBlockIndex":0}`,
		`contentBlockStart {"contentBlockIndex":1,"start":{"toolUse":{"name":"refund","toolUseId":"a"}}}`,
		`contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\""}}}`, `contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"x\""}}}`,
		`contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":":1"}}}`, `contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"}"}}}`,
		`contentBlockStop {"contentBlockIndex":1}`, `messageStop {"stopReason":"tool_use"}`,
		`metadata {"metrics":{"latencyMs":1},"usage":{"cacheReadInputTokens":4,"cacheWriteInputTokens":0,"inputTokens":5,"outputTokens":0,"totalTokens":9}}`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || shown != 6 {
		t.Fatalf("%d deltas shown:\n%s", shown, strings.Join(got, "\n"))
	}
}

func TestBedrockStreamsBreakAsTheyAreTold(t *testing.T) {
	for fault, want := range map[modeldouble.Fault]string{modeldouble.Cut: "EOF", modeldouble.Aborted: "aborted EOF", modeldouble.HalfFrame: "aborted EOF",
		modeldouble.Garbled: "message checksum mismatch", modeldouble.LateThrottled: "throttlingException", modeldouble.LateError: "internalServerException",
		modeldouble.Unreachable: "aborted EOF"} {
		var body, whole bytes.Buffer
		broken(&whole, modeldouble.Aborted)
		if got := broken(&body, fault); got != want {
			t.Errorf("%s: %q, want %q", fault, got, want)
		}
		if bytes.Contains(body.Bytes(), []byte("messageStop")) {
			t.Errorf("%s: the model stopped", fault)
		}
		if more := body.Len() - whole.Len(); fault == modeldouble.HalfFrame && (more <= 0 || more >= 150) {
			t.Errorf("the half frame has %d bytes", more)
		}
	}
}

// broken is how a stream with a fault ends.
func broken(body *bytes.Buffer, fault modeldouble.Fault) (end string) {
	w := httptest.NewRecorder()
	w.Body = body
	func() {
		defer func() {
			if recover() != nil {
				end = "aborted "
			}
		}()
		modeldouble.Bedrock(func(modeldouble.Asked) modeldouble.Said {
			return modeldouble.Said{Turn: core.Turn{Text: "One moment."}, Piece: 3, Fault: fault}
		}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/model/m/converse-stream", strings.NewReader(`{"messages":[`+bedrockHi+`]}`)))
	}()
	reader := bytes.NewReader(body.Bytes())
	for {
		m, err := eventstream.NewDecoder().Decode(reader, nil)
		if err != nil {
			return end + err.Error()
		}
		if kind := m.Headers.Get(":exception-type"); kind != nil {
			return end + kind.String()
		}
	}
}
