package httpapi

import (
	"os"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

const eventsFile = "../../docs/events.md"

const eventsIntro = `<!-- Made by: go test ./internal/httpapi -run OpenAPI -update -->

# Events

Every run keeps a log. It tells what happened, in order, and readers build everything else from it: chats, consoles, audits, other protocols.
Read it with [` + "`GET /v1/runs/{id}/events`" + `](api.md#read-or-follow-a-runs-events), as pages or as a stream.

Each event has these members. New types and new members may come, so ignore what you don't know. Changes of what is there raise ` + "`v`" + `.

`

// CheckEventsPage writes docs/events.md with -update, and else says when it is not what the types and the events say. seen holds an
// event of a real run for each type.
func CheckEventsPage(t *testing.T, seen map[string]string) {
	t.Helper()
	want := eventsPage(seen)
	if *update {
		if err := os.WriteFile(eventsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(eventsFile)
	if err != nil || string(got) != want {
		t.Errorf("docs/events.md is not what the types and the events say (%v): go test ./internal/httpapi -run OpenAPI -update\n%s", err, firstDifference(string(got), want))
	}
}

func eventsPage(seen map[string]string) string {
	doc, _ := buildDocument()
	p := &pager{doc: doc}
	p.WriteString(eventsIntro)
	p.members(doc.Components.Schemas["Event"])
	p.f("\n**Live events** tell what happens just now: they are not stored, their `seq` is that of the last stored event, and no reader can count on any.\n")
	p.f("\n**Checkpoints.** The last event of a commit names in `checkpoint` what the commit made durable: `%s`.\n", strings.Join(texts(core.Checkpoints), "`, `"))
	p.f("\n## Call outcomes\n\n`outcome` says how a call ended. The list is closed. *Ran* says whether the tool's body ran to its end.\n\n| outcome | ran | |\n|---|---|---|\n")
	for _, w := range core.CallOutcomes {
		p.f("| `%s` | %s | %s |\n", w.Outcome, w.Ran, cell(w.Means))
	}
	p.f("\n## Types\n")
	s := newShapes()
	for _, e := range events {
		p.f("\n### %s\n\n%s%s\n", e.of, map[bool]string{true: "Live. "}[e.live], e.about)
		if data := e.dataOf(s); data != nil {
			p.f("\n")
			p.members(doc.Components.Schemas[data.Ref[strings.LastIndexByte(data.Ref, '/')+1:]])
		}
		if example, there := seen[string(e.of)]; there {
			p.f("\n```json\n%s\n```\n", example)
		}
	}
	p.f("\n## Shapes\n\nThe others are in [the API](api.md#shapes).\n")
	for _, name := range []string{"StepUsage", "StateOp"} {
		p.f("\n### %s\n\n%s\n\n", name, doc.Components.Schemas[name].Description)
		p.members(doc.Components.Schemas[name])
	}
	text := strings.ReplaceAll(p.String(), "](#", "](api.md#")
	return strings.NewReplacer("](api.md#stepusage", "](#stepusage", "](api.md#stateop", "](#stateop").Replace(text)
}
