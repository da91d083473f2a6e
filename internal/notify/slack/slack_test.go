package slack_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/notify/slack"
)

type message struct {
	Text   string
	Blocks []struct {
		Type     string
		Text     object
		Elements []struct {
			object
			URL   string
			Style string
		}
	}
}

type object struct {
	Type string
	Text json.RawMessage
}

func write(t *testing.T, n client.Notice) (m message, raw string) {
	t.Helper()
	body, err := slack.Message(n, notice.Target{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	return m, string(body)
}

var links = &client.NoticeLinks{Show: "https://desk.example.com/v1/approvals/x", Approve: "https://desk.example.com/v1/approvals/x?answer=approve", Deny: "https://desk.example.com/v1/approvals/x?answer=deny"}

func asks(tool, arguments string) client.Notice {
	return client.Notice{ID: "run_a_0:7", Type: client.NoticeSuspended, Links: links, Approval: &client.Approval{RunID: "run_a_0", Agent: "desk",
		Pending: client.Pending{Tool: tool, Kind: client.KindApproval, Arguments: json.RawMessage(arguments), Said: "I refund it"}}}
}

func TestAnApprovalHasItsArgumentsAndThreeLinks(t *testing.T) {
	m, raw := write(t, asks("refund", `{"order":"A-17","amount":120}`))
	for _, want := range []string{"Approval needed: refund", `order: \"A-17\"`, "amount: 120", "I refund it"} {
		if !strings.Contains(raw, want) && !strings.Contains(raw, strings.ReplaceAll(want, `\"`, "")) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
	last := m.Blocks[len(m.Blocks)-1]
	if last.Type != "actions" || len(last.Elements) != 3 || last.Elements[0].URL != links.Show || last.Elements[1].URL != links.Approve || last.Elements[2].URL != links.Deny {
		t.Errorf("%+v", last)
	}
}

func TestWhoMayOnlyDenyGetsNoButtonToApprove(t *testing.T) {
	n := asks("refund", `{}`)
	n.Links = &client.NoticeLinks{Show: links.Show, Deny: links.Deny}
	if m, raw := write(t, n); len(m.Blocks[len(m.Blocks)-1].Elements) != 2 || strings.Contains(raw, "answer=approve") {
		t.Error(raw)
	}
}

// Text of others mentions no one, links nowhere, and is in no element that reads markup.
func TestTextOfOthersIsNoMarkup(t *testing.T) {
	evil := "<!channel> <@U1> <https://evil.example.com|Approve> *bold* :tada: & `x` \u202e"
	n := asks(evil, `{"note":`+quoted(evil)+`}`)
	a := n.Approval
	a.Said, a.Suspension.Message, a.Agent = evil, evil, evil
	a.Preview = &client.Preview{Text: evil}
	a.StartedBy = &client.Actor{By: evil}
	a.Requests = []client.Request{{Text: evil, By: evil}}
	a.Warnings = []client.Warning{{Path: "/" + evil, Text: evil}}
	titled := asks("refund", `{"note":1}`)
	titled.Approval.ToolDetails = &client.ToolDetails{Title: []client.TitlePart{{Text: "Refund "}, {Text: evil, Argument: "note"}}}
	asked := asks("ask", `{}`)
	asked.Approval.Agent, asked.Approval.Requests = ask.Agent, []client.Request{{Text: evil}}
	decided := client.Notice{Type: client.NoticeDecided, Event: client.Event{Data: []byte(`{"action":"cancel","by":` + quoted(evil) + `,"reason":` + quoted(evil) + `}`)}}
	ended := client.Notice{Type: client.NoticeFailed, Event: client.Event{Data: []byte(`{"reason":` + quoted(evil) + `,"detail":` + quoted(evil) + `}`)}, Run: &client.Run{Output: []byte(quoted(evil)), FirstLine: evil}}
	for _, n := range []client.Notice{n, titled, asked, decided, ended} {
		m, raw := write(t, n)
		if strings.ContainsAny(raw, "<>\u202e") || strings.Contains(raw, `"type":"mrkdwn"`) || strings.Contains(raw, `"emoji":true`) {
			t.Errorf("%s: %s", n.Type, raw)
		}
		if !strings.Contains(raw, `"parse":"none"`) || !strings.Contains(raw, `"mrkdwn":false`) || strings.Contains(raw, `"unfurl_links":true`) {
			t.Errorf("%s: %s", n.Type, raw)
		}
		for _, b := range m.Blocks {
			for _, e := range b.Elements {
				if e.URL != "" && !strings.HasPrefix(e.URL, links.Show) {
					t.Errorf("a button leads to %s", e.URL)
				}
			}
		}
	}
}

func quoted(text string) string { b, _ := json.Marshal(text); return string(b) }

func TestALongMessageFitsSlack(t *testing.T) {
	for _, filler := range []string{"x", "&", "<", "\u00e4", "\u202e", "\n"} {
		long := strings.Repeat(filler, 10_000)
		n := asks(long, `{"note":`+quoted(long)+`}`)
		n.Approval.Said, n.Approval.Agent = long, long
		for range 100 {
			n.Approval.Requests = append(n.Approval.Requests, client.Request{Text: long, By: long})
			n.Approval.Warnings = append(n.Approval.Warnings, client.Warning{Path: long, Text: long})
		}
		m, raw := write(t, n)
		if len(m.Blocks) > 50 || m.Blocks[len(m.Blocks)-1].Type != "actions" || !utf8.ValidString(raw) {
			t.Errorf("%d blocks", len(m.Blocks))
		}
		for _, b := range m.Blocks {
			var text string
			_ = json.Unmarshal(b.Text.Text, &text)
			if most := map[string]int{"header": 150, "section": 3000}[b.Type]; utf8.RuneCountInString(text) > max(most, 0) && b.Type != "context" && b.Type != "actions" {
				t.Errorf("a %s of %d characters", b.Type, utf8.RuneCountInString(text))
			}
		}
	}
}
