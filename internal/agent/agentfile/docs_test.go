package agentfile_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
)

var fenced = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

// TestThePageOnAgentsShowsWhatCanBeRead reads the parts of agents that the page shows; the whole
// files on it are played elsewhere.
func TestThePageOnAgentsShowsWhatCanBeRead(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/agent-file.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := 0
	for _, m := range fenced.FindAllStringSubmatch(string(page), -1) {
		language, text := m[1], m[2]
		switch {
		case language == "json":
			_, err = agentfile.ParseNarrow(json.RawMessage(text))
		case language == "yml" && strings.HasPrefix(text, "block:"):
			_, err = agentfile.ParsePolicy("policy.yaml", []byte(text))
		case language == "yml" && strings.HasPrefix(text, "model:"):
			_, err = agentfile.Parse("part.yaml", []byte(text), noFiles)
		case language == "yml":
			_, err = agentfile.Parse("part.yaml", []byte(head+text), noFiles)
		default:
			continue
		}
		parts++
		if err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if parts < 8 {
		t.Errorf("the page has %d parts", parts)
	}
}

func TestThePageOnAgentsNamesEveryKey(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/agent-file.md")
	if err != nil {
		t.Fatal(err)
	}
	// A file that is wrong everywhere is told every key there is.
	_, err = agentfile.Parse("a.yaml", []byte(head+`x: 1
tools: [{x: 1, name: a, go: a, deadline: {x: 1, within: 1h}, preview: {x: 1, tool: a}}]
permissions: {x: 1, ask: [{x: 1, tool: a, when: {x: 1, argument: a, equals: 1}}]}
stop: [{x: 1}, {type: timeout, x: 1, seconds: 1}]
budget: {x: 1}
deadlines: {x: 1}
finish: {x: 1}
effects: [{x: 1, name: e, tools: [a], go: b}]
notify: [{x: 1, name: n, on: [done], slack: {x: 1, channel: C0DESK, token: T}}]
groups: {g: [{x: 1, person: p, is: ["token:a"]}], h: ["token:b"]}
approvals:
  a: {x: 1, group: g, remind: {x: 1, after: 1h}, deadline: {x: 1, within: 9h}}
  b: {x: 1, stages: [{x: 1, group: g, escalate: {x: 1, after: 1h, to: h}}], hours: {x: 1, days: [mon], from: "09:00", to: "17:00", zone: UTC}}
`), noFiles)
	if err == nil {
		t.Fatal("no error")
	}
	kinds := regexp.MustCompile(`(?:it takes|or one of) ([a-z0-9_, ]+?)(?: with its value)?(?:\n|$)`).FindAllStringSubmatch(err.Error(), -1)
	if len(kinds) != 23 {
		t.Fatalf("%d kinds of mapping: %v", len(kinds), err)
	}
	for _, keys := range kinds {
		for key := range strings.SplitSeq(keys[1], ", ") {
			if !strings.Contains(string(page), "`"+key+"`") {
				t.Errorf("the page does not name %q", key)
			}
		}
	}
}
