package httpapi_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/text/title"
)

// titledAs is the entry of the inbox and the page of a call of a tool that has a title.
func titledAs(t *testing.T, text string, call frontendtest.Call) (entry wire.Approval, page string) {
	t.Helper()
	s := deskOf(t)
	were := payDetails
	t.Cleanup(func() { payDetails = were })
	for _, part := range title.Parts(text) {
		payDetails.Title = append(payDetails.Title, wire.TitlePart(part))
	}
	run := s.startedWith("starts", `{"agent":"desk","input":"Pay Ann"}`)
	call.ID, call.Tool = "c1", "pay"
	s.worker.Suspend(run.ID, call)
	return s.inbox("decides")[0], s.page(s.makeLink(run.ID, "c1", "cleo").Link).text
}

func TestAQuestionBeginsWithTheTitleOfItsTool(t *testing.T) {
	entry, page := titledAs(t, "Pay {amount} to {to}?", frontendtest.Call{Kind: core.KindApproval, Arguments: []byte(`{"amount":120.50,"to":"Ann <b>"}`)})
	if got := string(core.Encode(entry.ToolDetails.Title)); got != `[{"text":"Pay "},{"text":"120.50","argument":"amount"},{"text":" to "},{"text":"Ann <b>","argument":"to"},{"text":"?"}]` {
		t.Error(got)
	}
	if want := `<h1>Pay <bdi class="given">120.50</bdi> to <bdi class="given">Ann &lt;b&gt;</bdi>?</h1>`; !strings.Contains(page, want) {
		t.Error(page[strings.Index(page, "<main"):])
	}
}

func TestATitleThatMayMisleadIsNotShown(t *testing.T) {
	for name, arguments := range map[string]string{"reordered": `{"amount":1,"to":"Ann\u202e"}`, "long": `{"amount":1,"to":"` + strings.Repeat("Ann ", 20) + `"}`, "missing": `{"amount":1}`, "twice": `{"amount":1,"amount":2,"to":"Ann"}`} {
		entry, page := titledAs(t, "Pay {amount} to {to}?", frontendtest.Call{Kind: core.KindApproval, Arguments: []byte(arguments)})
		if entry.ToolDetails.Title != nil || !strings.Contains(page, `<h1>May it run <bdi>pay</bdi>?</h1>`) {
			t.Errorf("%s: %+v", name, entry.ToolDetails.Title)
		}
	}
	entry, page := titledAs(t, "Pay {amount}?", frontendtest.Call{Kind: core.KindInput, Arguments: []byte(`{"amount":1}`)})
	if entry.ToolDetails.Title != nil || !strings.Contains(page, `<h1>What is the answer to this call?</h1>`) {
		t.Errorf("a question that yes does not answer has the title %+v", entry.ToolDetails.Title)
	}
}
