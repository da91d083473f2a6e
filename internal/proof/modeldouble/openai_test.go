package modeldouble_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// post sends a request to the double, and returns its answer.
func postOpenAI(t *testing.T, h http.Handler, path, body string, header ...string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://model.test"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := modeldouble.Transport(h).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

const (
	openAIHi   = `{"role":"user","content":"hi"}`
	openAICall = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	openAIDone = `{"role":"tool","tool_call_id":"a","content":"done"}`
)

func openAIBody(messages ...string) string {
	return `{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`
}

func TestOpenAIRefusesWhatStrictEndpointsRefuse(t *testing.T) {
	yes := func(modeldouble.Asked) modeldouble.Said { return modeldouble.Said{Turn: core.Turn{Text: "yes"}} }
	call := func(old, now string) string { return strings.Replace(openAICall, old, now, 1) }
	for name, c := range map[string]struct{ body, says string }{
		"taken":                      {openAIBody(openAIHi, openAICall, openAIDone), ""},
		"no JSON":                    {`{`, "parsed"},
		"no model":                   {`{"messages":[` + openAIHi + `]}`, "model"},
		"no messages":                {openAIBody(), "empty"},
		"options without a stream":   {`{"model":"m","stream_options":{"include_usage":true},"messages":[` + openAIHi + `]}`, "stream_options"},
		"a choice without tools":     {`{"model":"m","tool_choice":"auto","messages":[` + openAIHi + `]}`, "tool_choice"},
		"a tool's name":              {`{"model":"m","tools":[{"type":"function","function":{"name":"a.b","parameters":{"type":"object"}}}],"messages":[` + openAIHi + `]}`, "name"},
		"a tool without parameters":  {`{"model":"m","tools":[{"type":"function","function":{"name":"ab"}}],"messages":[` + openAIHi + `]}`, "parameters"},
		"a call without its result":  {openAIBody(openAIHi, openAICall, openAIHi), "no response message"},
		"a call that ends it":        {openAIBody(openAIHi, openAICall), "no response message"},
		"a result without its call":  {openAIBody(openAIHi, openAIDone), "preceding message"},
		"a result twice":             {openAIBody(openAIHi, openAICall, openAIDone, openAIDone), "preceding message"},
		"two users in a row":         {openAIBody(openAIHi, openAIHi), "alternate"},
		"an assistant first":         {openAIBody(openAICall, openAIDone), "alternate"},
		"a system message later":     {openAIBody(openAIHi, `{"role":"system","content":"x"}`), "first only"},
		"another role":               {openAIBody(`{"role":"robot","content":"x"}`), "no role"},
		"an empty text":              {openAIBody(`{"role":"user","content":""}`), "content"},
		"an assistant of nothing":    {openAIBody(openAIHi, `{"role":"assistant","content":null}`), "content"},
		"a call's id":                {openAIBody(openAIHi, call(`"a"`, `"a.b"`), openAIDone), "id of its own"},
		"a call's name":              {openAIBody(openAIHi, call(`"f"`, `"f g"`), openAIDone), "name of a tool"},
		"arguments that are a list":  {openAIBody(openAIHi, call(`"{}"`, `"[1]"`), openAIDone), "no object"},
		"arguments that are no text": {openAIBody(openAIHi, call(`"{}"`, `{}`), openAIDone), "parsed"},
		"an image from elsewhere":    {openAIBody(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x/y.png"}}]}`), "image_url"},
		"a file that is no PDF":      {openAIBody(`{"role":"user","content":[{"type":"file","file":{"filename":"a","file_data":"data:text/html;base64,eA=="}}]}`), "file"},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer := postOpenAI(t, modeldouble.OpenAI(yes), "/v1/chat/completions", c.body)
			if c.says == "" && status != 200 || c.says != "" && (status != 400 || !strings.Contains(answer, c.says) || !strings.Contains(answer, `"error"`)) {
				t.Errorf("%d %s", status, answer)
			}
		})
	}
	q := modeldouble.OpenAIQuirks{Key: "k", NoReasoning: true, NoStreamOptions: true}
	key := []string{"Authorization", "Bearer k"}
	for name, c := range map[string]struct {
		path, body string
		header     []string
		status     int
	}{
		"no key":         {"/v1/chat/completions", openAIBody(openAIHi), nil, 401},
		"the key":        {"/v1/chat/completions", openAIBody(openAIHi), key, 200},
		"another route":  {"/v1/models", openAIBody(openAIHi), key, 404},
		"reasoning":      {"/v1/chat/completions", openAIBody(openAIHi, strings.Replace(openAICall, `"content"`, `"reasoning":"x","content"`, 1), openAIDone), key, 400},
		"stream_options": {"/v1/chat/completions", `{"stream":true,"stream_options":{},` + openAIBody(openAIHi)[1:], key, 400},
	} {
		if status, answer := postOpenAI(t, q.Handler(yes), c.path, c.body, c.header...); status != c.status {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
}

func TestOpenAIReadsWhatItWasAsked(t *testing.T) {
	var asked modeldouble.Asked
	h := modeldouble.OpenAI(func(a modeldouble.Asked) modeldouble.Said {
		asked = a
		return modeldouble.Said{Turn: core.Turn{Text: "yes"}}
	})
	image := `{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]}`
	body := `{"tools":[{"type":"function","function":{"name":"f","description":"does","parameters":{"type":"object"}}}],` +
		openAIBody(`{"role":"system","content":"be brief"}`, openAIHi, strings.Replace(openAICall, `"{}"`, `"{\"n\":12345678901234567890}"`, 1), openAIDone, image)[1:]
	if status, answer := postOpenAI(t, h, "/base/chat/completions?x=1", body); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	if asked.System != "be brief" || len(asked.Tools) != 1 || asked.Tools[0].Description != "does" || asked.Stream || asked.Path != "/base/chat/completions" {
		t.Errorf("asked %+v", asked)
	}
	if n := len(asked.Messages); n != 4 || string(asked.Messages[1].Calls[0].Arguments) != `{"n":12345678901234567890}` || asked.Messages[2].CallID != "a" ||
		string(asked.Messages[3].Parts[1].Data) != "x" {
		t.Errorf("%d messages: %+v", n, asked.Messages)
	}
}

func TestOpenAIStreamsEventsThatAreWhole(t *testing.T) {
	turn := core.Turn{Text: "on its way", Calls: []core.ToolCall{{ID: "a", Name: "f", Arguments: json.RawMessage(`{"n":1}`)}}, InputTokens: 3}
	shown := 0
	h := modeldouble.OpenAI(func(modeldouble.Asked) modeldouble.Said {
		return modeldouble.Said{Turn: turn, Piece: 4, Shown: func(n int) { shown = n + 1 }}
	})
	_, answer := postOpenAI(t, h, "/v1/chat/completions", `{"stream":true,"stream_options":{"include_usage":true},`+openAIBody(openAIHi)[1:])
	events := strings.Split(strings.TrimSuffix(answer, "\n\n"), "\n\n")
	if last := events[len(events)-1]; last != "data: [DONE]" || !strings.Contains(events[len(events)-2], `"prompt_tokens":3`) ||
		!strings.Contains(events[len(events)-3], `"finish_reason":"tool_calls"`) {
		t.Errorf("ends with %q", events[max(0, len(events)-3):])
	}
	for _, e := range events[:len(events)-1] {
		if data, ok := strings.CutPrefix(e, "data: "); !ok || !json.Valid([]byte(data)) {
			t.Errorf("no event: %q", e)
		}
	}
	if shown != len(events)-3 {
		t.Errorf("told of %d deltas, %d were sent", shown, len(events)-3)
	}
}
