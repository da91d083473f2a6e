package httpapi

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

const eventsFile = "../../../docs/reference/events.md"

const eventsIntro = `<!-- Made by: go test ./internal/api/httpapi -run OpenAPI -update -->

# Events

A run's journal is a list of events: everything that happened, in order. Chats, consoles, audits, bots and other protocols are built on it. Read it with
[` + "`GET /v1/runs/{id}/events`" + `](api.md#read-or-follow-a-runs-events), page by page or as a stream. Stored events never change.
Read the suspensions, decisions and run ends of all runs of a tenant with
[` + "`GET /v1/events`" + `](api.md#read-or-follow-suspensions-decisions-and-run-ends-of-all-runs). Its stream also sends ` + "`counts`" + ` messages with the number of waiting
calls by kind. They are not stored in a journal.

This page has every type of event with its members. The examples are of real runs, with other ids and times.

`

const eventsMembers = `
## Members of every event

New types and new members may come, so ignore what you don't know. A change of what is there raises ` + "`v`" + `.

`

const eventsTerms = `
**Live events** tell what is happening now. They are not stored, a reader may miss any of them or get one twice, and their ` + "`seq`" + ` is that of the last stored event.

**Checkpoints.** The last event of a commit names in ` + "`checkpoint`" + ` what the commit made durable:

`

// meanings say what the words of closed lists mean, where the page explains them.
var meanings = map[string]string{
	"checkpoint user_message":    "the input of a run, or a later message",
	"checkpoint assistant_turn":  "the model's answer",
	"checkpoint decision_replay": "decisions, and the calls that go on with them",
	"checkpoint tool_results":    "ends of calls, and calls that began to wait",
	"checkpoint run_finished":    "the end of a turn: the run is done, or waits",

	"cause input":     "the input that the run was started with",
	"cause retry":     "the run retries an earlier one, without new input",
	"cause message":   "a user message",
	"cause decision":  "a decision on something the run waited for, or a refused answer that was recorded in the journal",
	"cause deadline":  "a deadline passed without an answer",
	"cause interrupt": "a caller asked the run to pause",
	"cause cancel":    "a caller cancelled the run while it waited",
	"cause error":     "the run can't go on, and ends",
}

// Example is an event of a real run. About says what it shows, where a type has several.
type Example struct{ About, Text string }

// CheckEventsPage writes docs/reference/events.md with -update, and else says when it is not what the types
// and the examples of each say.
func CheckEventsPage(t *testing.T, examples map[string][]Example) {
	t.Helper()
	for _, word := range append(texts(core.Checkpoints), texts(core.TurnCauses)...) {
		if meanings["checkpoint "+word] == "" && meanings["cause "+word] == "" {
			t.Errorf("the page does not say what %s means", word)
		}
	}
	want := eventsPage(examples)
	if *update {
		if err := os.WriteFile(eventsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(eventsFile)
	if err != nil || string(got) != want {
		t.Errorf("docs/reference/events.md is not what the types and the events say (%v): go test ./internal/api/httpapi -run OpenAPI -update\n%s", err, firstDifference(string(got), want))
	}
}

func eventsPage(examples map[string][]Example) string {
	doc, _ := buildDocument()
	p := &pager{doc: doc}
	p.WriteString(eventsIntro)
	for _, g := range eventGroups {
		p.f("- %s: ", g.title)
		for i, e := range g.events {
			p.f("%s[`%s`](#%s)", map[bool]string{true: ", "}[i > 0], e.of, anchorOf(shownTogether(g, e)))
		}
		p.f("\n")
	}
	p.WriteString(eventsMembers)
	p.members(doc.Components.Schemas["Event"])
	p.WriteString(eventsTerms)
	meant(p, "checkpoint", core.Checkpoints)
	for _, g := range eventGroups {
		p.group(g, examples)
		if g.title == "Tool calls" {
			p.outcomes()
		}
	}
	p.f("\n## Shapes\n\nThe others are in [the API](api.md#shapes).\n")
	for _, name := range []string{"StepUsage", "StateOp"} {
		p.f("\n### %s\n\n%s\n\n", name, doc.Components.Schemas[name].Description)
		p.members(doc.Components.Schemas[name])
	}
	return p.withLinks()
}

// withLinks is the page with the links to shapes that it doesn't have leading to those of the API.
func (p *pager) withLinks() string {
	return shapeLink.ReplaceAllStringFunc(p.String(), func(link string) string {
		if name := shapeLink.FindStringSubmatch(link)[1]; name != "StepUsage" && name != "StateOp" {
			return strings.Replace(link, "](#", "](api.md#", 1)
		}
		return link
	})
}

var shapeLink = regexp.MustCompile(`\[(\w+)\]\(#\w+\)`)

// meant lists words with what they mean.
func meant[W ~string](p *pager, of string, words []W) {
	p.f("| %s | |\n|---|---|\n", of)
	for _, w := range words {
		p.f("| `%s` | %s |\n", w, meanings[of+" "+string(w)])
	}
}

// outcomes is the closed list of how calls end.
func (p *pager) outcomes() {
	p.f("\n## Call outcomes\n\n`outcome` says how a call ended. The list is closed. *Ran* says whether the tool's body ran to its end.\n\n| outcome | ran | |\n|---|---|---|\n")
	for _, w := range core.CallOutcomes {
		p.f("| `%s` | %s | %s |\n", w.Outcome, w.Ran, cell(w.Means))
	}
}

// shownTogether are the events of the group that have the same data as e and stand beside it.
func shownTogether(g eventGroup, e event) (same []event) {
	for _, other := range g.events {
		if s := newShapes(); other.of == e.of || e.dataOf(s) != nil && other.dataOf(s) != nil && e.dataOf(s).Ref == other.dataOf(s).Ref {
			same = append(same, other)
		}
	}
	return same
}

func headingOf(together []event) string {
	var names []string
	for _, e := range together {
		names = append(names, string(e.of))
	}
	return strings.Join(names, ", ")
}

// anchorOf is what a heading is linked by.
func anchorOf(together []event) string {
	return strings.NewReplacer(".", "", ",", "", " ", "-").Replace(headingOf(together))
}

func (p *pager) group(g eventGroup, examples map[string][]Example) {
	p.f("\n## %s\n", g.title)
	for _, e := range g.events {
		together := shownTogether(g, e)
		if together[0].of != e.of {
			continue
		}
		p.f("\n### %s\n\n", headingOf(together))
		for _, e := range together {
			about := map[bool]string{true: "Live. "}[e.live] + e.about
			if len(together) > 1 {
				about = "- `" + string(e.of) + "`: " + about
			}
			p.f("%s\n", about)
		}
		p.typeOfEvent(together, examples)
	}
}

func (p *pager) typeOfEvent(together []event, examples map[string][]Example) {
	if data := together[0].dataOf(newShapes()); data != nil {
		p.f("\n")
		p.members(p.doc.Components.Schemas[data.Ref[strings.LastIndexByte(data.Ref, '/')+1:]])
	}
	if together[0].of == core.EventTurnStarted {
		p.f("\n")
		meant(p, "cause", core.TurnCauses)
	}
	for _, e := range together {
		for _, one := range examples[string(e.of)] {
			p.f("\n")
			if one.About != "" {
				p.f("%s:\n\n", one.About)
			}
			p.f("```json\n%s\n```\n", one.Text)
		}
	}
}
