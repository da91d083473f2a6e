package notify_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/notify"
)

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
