package teams_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/notify/teams"
)

func write(t *testing.T, n client.Notice) (card map[string]any, raw string) {
	t.Helper()
	body, err := teams.Card(n, notice.Target{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var envelope struct {
		Type        string
		Attachments []struct {
			ContentType string
			Content     map[string]any
		}
	}
	if err := json.Unmarshal(body, &envelope); err != nil || envelope.Type != "message" || len(envelope.Attachments) != 1 ||
		envelope.Attachments[0].ContentType != "application/vnd.microsoft.card.adaptive" {
		t.Fatalf("%s: %v", body, err)
	}
	return envelope.Attachments[0].Content, string(body)
}

func asks(arguments string) client.Notice {
	return client.Notice{Type: client.NoticeSuspended, Links: &client.NoticeLinks{Show: "https://desk.example.com/x", Approve: "https://desk.example.com/x?answer=approve", Deny: "https://desk.example.com/x?answer=deny"},
		Approval: &client.Approval{RunID: "run_a_0", Agent: "desk", Pending: client.Pending{Tool: "refund", Kind: client.KindApproval, Arguments: json.RawMessage(arguments)}}}
}

// Only text runs hold text: they read no Markdown, and a card has no element that would.
func TestTextOfOthersIsNoMarkup(t *testing.T) {
	evil := "[Approve](https://evil.example.com) **bold** <at>everyone</at> {{{DATE(2026-01-01T00:00:00Z)}}} {{{{x \u202e"
	quoted, _ := json.Marshal(evil)
	n := asks(`{"note":` + string(quoted) + `}`)
	n.Approval.Said, n.Approval.Tool = evil, evil
	n.Approval.ToolDetails = &client.ToolDetails{Title: []client.TitlePart{{Text: "Refund "}, {Text: evil[:40], Argument: "note"}}}
	card, raw := write(t, n)
	for _, item := range card["body"].([]any) {
		element := item.(map[string]any)
		if element["type"] != "RichTextBlock" {
			t.Errorf("%v", element)
		}
		for _, inline := range element["inlines"].([]any) {
			if r := inline.(map[string]any); r["type"] != "TextRun" || r["selectAction"] != nil || strings.Contains(r["text"].(string), "{{") {
				t.Errorf("%v", r)
			}
		}
	}
	if strings.Contains(raw, "\u202e") || strings.Contains(raw, `"msteams"`) {
		t.Error(raw)
	}
	for _, a := range card["actions"].([]any) {
		if action := a.(map[string]any); action["type"] != "Action.OpenUrl" || !strings.HasPrefix(action["url"].(string), "https://desk.example.com/x") {
			t.Errorf("%v", action)
		}
	}
}

func TestACardFitsTeams(t *testing.T) {
	long := strings.Repeat("A-17 ", 50_000)
	n := asks(`{"note":"` + long + `"}`)
	a := n.Approval
	a.Said, a.Suspension.Message, a.Preview, a.Agent = long, long, &client.Preview{Text: long}, long
	for range 100 {
		a.Warnings = append(a.Warnings, client.Warning{Path: long, Text: long})
		a.Requests = append(a.Requests, client.Request{Text: long})
	}
	if _, raw := write(t, n); len(raw) > 28<<10 || !strings.Contains(raw, "answer=deny") {
		t.Errorf("%d bytes", len(raw))
	}
}
