package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/core"
)

const eventsFile = "../../../docs/reference/events.md"

const eventsIntro = `# Events

The types of events that a run stores and sends, and their members. The schema ` + "`Event`" + ` of the OpenAPI
document (` + "`GET /openapi.json`" + `) has their schemas and examples from real runs.

Read the events of [a run](api.md#runs) or [a thread](api.md#threads) as pages or as a stream. ` + "`GET /v1/events`" + ` has the suspensions, decisions and
ends of all runs. Its stream also sends the event ` + "`counts`" + `: the number of suspended calls by kind. This event isn't stored.

Stored events never change. New types and members may be added; ignore unknown ones. An incompatible change raises the version ` + "`v`" + `.
**Live** events show what is happening now. They aren't stored, and a reader may miss one or receive it twice. A ` + "`?`" + ` marks optional members.

## Members of every event

`

// meanings explain the words of closed lists.
var meanings = map[string]string{
	"checkpoint user_message":    "the input of a run, or a later message",
	"checkpoint assistant_turn":  "the model's answer",
	"checkpoint decision_replay": "decisions, and the calls they resume",
	"checkpoint tool_results":    "calls that ended or were suspended",
	"checkpoint run_finished":    "a turn has ended, so the run is done or suspended",

	"cause input":     "the input of the run",
	"cause retry":     "the run retries an earlier one, without new input",
	"cause message":   "a user message",
	"cause decision":  "a decision, or a refused answer (see `call.invalid_answer`)",
	"cause deadline":  "a deadline passed without an answer",
	"cause child":     "a run that a call started has ended",
	"cause interrupt": "a caller interrupted the run",
	"cause cancel":    "a caller cancelled the suspended run",
	"cause error":     "the run can't continue and ends",
}

// meant is a sentence that lists words with their meaning.
func meant[W ~string](of string, words []W) string {
	var all []string
	for _, w := range words {
		all = append(all, fmt.Sprintf("`%s`: %s", w, meanings[of+" "+string(w)]))
	}
	return strings.Join(all, "; ") + "."
}

// outcomesMean lists how calls end, for descriptions.
var outcomesMean = func() string {
	var all []string
	for _, w := range core.CallOutcomes {
		all = append(all, fmt.Sprintf("`%s` (ran: %s): %s", w.Outcome, w.Ran, w.Means))
	}
	return strings.Join(all, " ")
}()

// checkEventsPage writes docs/reference/events.md with -update. Otherwise it reports a page that
// differs from the types.
func checkEventsPage(t *testing.T) {
	t.Helper()
	for _, word := range append(texts(core.Checkpoints), texts(core.TurnCauses)...) {
		if meanings["checkpoint "+word] == "" && meanings["cause "+word] == "" {
			t.Errorf("%s is not explained", word)
		}
	}
	checkFile(t, eventsFile, eventsPage())
}

func eventsPage() string {
	doc, _ := buildDocument()
	schemas := doc.Components.Schemas
	first := map[string]core.EventType{} // the first event with these members
	var p strings.Builder
	p.WriteString(eventsIntro + "|member|meaning|\n|---|---|\n")
	for _, name := range schemas["Event"].PropertyOrder {
		fmt.Fprintf(&p, "|%s|%s|\n", memberIn(schemas["Event"], name), cell(schemas["Event"].Properties[name].Description))
	}
	for _, g := range eventGroups {
		fmt.Fprintf(&p, "\n## %s\n\n|event|meaning|members of `data`|\n|---|---|---|\n", g.title)
		for _, e := range g.events {
			about := map[bool]string{true: "Live. "}[e.live] + e.about
			if e.of == core.EventTurnStarted {
				about += " " + meant("cause", core.TurnCauses)
			}
			members := membersOf(schemas, e)
			if as := first[members]; as != "" && strings.Count(members, ",") > 5 {
				members = fmt.Sprintf("those of `%s`", as)
			} else {
				first[members] = e.of
			}
			fmt.Fprintf(&p, "|`%s`|%s|%s|\n", e.of, cell(about), members)
		}
	}
	p.WriteString("\n## Call outcomes\n\nThese are the values of the member `outcome`. The column *ran* shows whether the tool ran to its end.\n\n|outcome|ran|meaning|\n|---|---|---|\n")
	for _, w := range core.CallOutcomes {
		fmt.Fprintf(&p, "|`%s`|%s|%s|\n", w.Outcome, w.Ran, cell(w.Means))
	}
	return p.String()
}

// membersOf lists the members of an event's data.
func membersOf(schemas map[string]*jsonschema.Schema, e event) string {
	data := e.dataOf(newShapes())
	if data == nil {
		return ""
	}
	of := schemas[data.Ref[strings.LastIndexByte(data.Ref, '/')+1:]]
	var names []string
	for _, name := range of.PropertyOrder {
		names = append(names, memberIn(of, name))
	}
	return strings.Join(names, ", ")
}

// memberIn is a member's name, with a mark if it is optional.
func memberIn(of *jsonschema.Schema, name string) string {
	if slices.Contains(of.Required, name) {
		return "`" + name + "`"
	}
	return "`" + name + "?`"
}

// cell is text for a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}
