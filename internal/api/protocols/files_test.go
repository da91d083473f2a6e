package protocols_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// Files that the user has sent are in what a page gets that is opened again, over each protocol
// with pages, and also beside a run below.
func TestFilesComeBack(t *testing.T) {
	image := base64.StdEncoding.EncodeToString([]byte("not an image"))
	sent := fmt.Sprintf(`{"type":"file","mediaType":"image/png","url":"data:image/png;base64,%s"}`, image)
	for _, agent := range []string{"desk", "boss"} {
		d := newDesk(t).at(agent)
		ai := d.send("POST", "/ai-sdk/"+agent, `{"id":"t","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"pay 5"},`+sent+`]}]}`)
		if !strings.Contains(ai.text, "[DONE]") {
			t.Fatalf("%s: %s", agent, ai.text)
		}
		history := d.send("GET", "/ai-sdk/"+agent+"/t/messages", "").text
		if !strings.Contains(history, `"parts":[{"type":"text","text":"pay 5"},`+sent+`]`) {
			t.Errorf("%s: the messages are %s", agent, history)
		}
		// before the newest run, and in it
		for _, text := range []string{"", "pay 6"} {
			if text != "" {
				d.send("POST", "/ai-sdk/"+agent, `{"id":"t","messages":[{"id":"u2","role":"user","parts":[{"type":"text","text":"`+text+`"},`+sent+`]}]}`)
			}
			snapshot := d.send("POST", "/ag-ui/"+agent+"/connect", `{"threadId":"t","runId":"r","messages":[]}`).text
			want := 1
			if text != "" {
				want = 2
			}
			if got := strings.Count(snapshot, `{"type":"image","source":{"type":"data","value":"`+image+`","mimeType":"image/png"}}]`); got != want {
				t.Errorf("%s: %d images, want %d, in %s", agent, got, want, snapshot)
			}
		}
	}
}

// A file for which there is no room is named: the page sends all that it has with each message.
func TestAFileWithoutRoomIsNamed(t *testing.T) {
	d := newDesk(t)
	large := base64.StdEncoding.EncodeToString(make([]byte, 400<<10))
	d.send("POST", "/ai-sdk/desk", `{"id":"t","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"hello"},{"type":"file","mediaType":"image/png","url":"data:image/png;base64,`+large+`"}]}]}`)
	const note = "[image/png, 409600 bytes, isn't shown]"
	for _, shown := range []string{
		d.send("GET", "/ai-sdk/desk/t/messages", "").text,
		d.send("POST", "/ag-ui/desk/connect", `{"threadId":"t","runId":"r","messages":[]}`).text,
	} {
		if !strings.Contains(shown, `{"type":"text","text":"`+note+`"}`) || len(shown) > 10<<10 {
			t.Errorf("%d bytes: %.300s", len(shown), shown)
		}
	}
}

// A developer who writes a client by hand reads what exactly is missing.
func TestARefusedMessageNamesWhatItLacks(t *testing.T) {
	d := newDesk(t)
	for want, body := range map[string]string{
		"the request has no id":      `{"messages":[{"id":"","role":"user","parts":[{"type":"text","text":"pay 5"}]}]}`,
		"the message has no id":      `{"id":"t","messages":[{"role":"user","parts":[{"type":"text","text":"pay 5"}]}]}`,
		"the message has no content": `{"id":"t","messages":[{"id":"u1","role":"user","parts":[{"type":"file","url":"https://example.com/order.pdf"}]}]}`,
	} {
		if got := d.send("POST", "/ai-sdk/desk", body); got.status != 400 || !strings.HasPrefix(got.text, want) {
			t.Errorf("%d %s, not %s", got.status, got.text, want)
		}
	}
}
