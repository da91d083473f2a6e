package notify_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/notify"
)

func TestANoticeBeginsWithTheQuestionOfTheAuthor(t *testing.T) {
	titled := func(words, value string) *client.ToolDetails {
		return &client.ToolDetails{Title: []client.TitlePart{{Text: words}, {Text: value, Argument: "order"}, {Text: "?"}}}
	}
	long := strings.Repeat("a", 40)
	for name, tt := range map[string]struct {
		agent   string
		details *client.ToolDetails
		asked   string
		want    string
	}{
		"a tool without a title": {"desk", &client.ToolDetails{}, "go", "Approval needed: refund"},
		"a tool with one":        {"desk", titled("Refund order ", "A-17"), "go", `Approval needed: Refund order "A-17"?`},
		"a value with quotes":    {"desk", titled("Refund order ", `A" and "B`), "go", `Approval needed: Refund order "A\" and \"B"?`},
		"a title that is long":   {"desk", titled(strings.Repeat("Refund ", 10), long), "go", "Approval needed: refund"},
		"an ask":                 {"dormouse-ask", nil, "Deploy v1.2?", "Approval needed: Deploy v1.2?"},
		"an ask that is long":    {"dormouse-ask", nil, strings.Repeat("Deploy ", 30), "Approval needed: " + strings.Repeat("Deploy ", 14) + "De…"},
	} {
		s := notify.Summarize(client.Notice{Type: client.NoticeSuspended, Approval: &client.Approval{Agent: tt.agent, Pending: client.Pending{Kind: client.KindApproval,
			Tool: "refund", Arguments: json.RawMessage(`{}`), ToolDetails: tt.details, Requests: []client.Request{{Text: tt.asked}}}}})
		if s.Title != tt.want {
			t.Errorf("%s: %q, want %q", name, s.Title, tt.want)
		}
		if named := slices.Contains(s.Facts, notify.Fact{Label: "Tool", Text: "refund"}); named != strings.Contains(s.Title, "Refund order") {
			t.Errorf("%s: the facts are %v", name, s.Facts)
		}
	}
}

func TestANoticeOfARunThatAsksToGoOnNamesNoTool(t *testing.T) {
	n := client.Notice{Type: client.NoticeSuspended, Approval: &client.Approval{Pending: client.Pending{Kind: client.KindApproval, Arguments: json.RawMessage(`{}`),
		Suspension: client.Suspension{Message: "Approve to continue with $0.50 more."}}}}
	s := notify.Summarize(n)
	if want := "Approval needed: may the run go on?"; s.Title != want {
		t.Errorf("the title is %q, want %q", s.Title, want)
	}
	if len(s.Texts) != 1 || !strings.Contains(s.Texts[0].Text, "$0.50 more") || s.Cut {
		t.Errorf("it shows %+v, cut: %v", s.Texts, s.Cut)
	}
}
