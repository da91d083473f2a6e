package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

const pageFile = "../../../docs/reference/api.md"

// shownOf is the operation whose curl line the page shows for a group. The document has the lines
// of all operations.
var shownOf = map[string]string{"runs": "startRun", "decisions": "decide", "asks": "ask", "events": "listDecisions", "threads": "sendMessage", "webhooks": "addWebhook", "agents": "readAgent", "hooks": "receiveHook", "server": "health"}

// CheckPage writes docs/reference/api.md with -update. Otherwise it reports a page that differs
// from the routes and the samples.
func CheckPage(t *testing.T) {
	t.Helper()
	checkFile(t, pageFile, page(t))
}

// checkFile writes a generated file with -update. Otherwise it reports one that is out of date.
func checkFile(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v): go test ./internal/api/httpapi -run OpenAPI -update\n%s", file, err, firstDifference(string(got), want))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: %q, want %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// BodyOf is an example's body, by its operation and name.
func BodyOf(operation, name string) string {
	for _, b := range sampleBodies {
		if b.call == operation && b.name == name {
			return b.body
		}
	}
	panic("no example " + name + " of " + operation)
}

// page is an index of all operations: one table for each group.
func page(t *testing.T) string {
	t.Helper()
	var p bytes.Buffer
	p.WriteString(conventions)
	for _, tag := range tags {
		fmt.Fprintf(&p, "\n## %s\n\n", strings.ToUpper(tag.name[:1])+tag.name[1:])
		if tag.name == "events" { // the other groups explain themselves
			fmt.Fprintf(&p, "%s\n\n", tag.about)
		}
		p.WriteString("|request|purpose|role|status|\n|---|---|---|---|\n")
		for _, rt := range (&api{}).table() {
			if rt.tag == tag.name {
				fmt.Fprintf(&p, "|`%s %s`|%s|%s|%s|\n", rt.method, rt.path, rt.title, rolesInPage(rt), statusesInPage(rt))
			}
		}
		line := ""
		for _, s := range samplesOf(shownOf[tag.name]) {
			line = s.Command
			break
		}
		if line == "" {
			t.Errorf("the group %s has no curl line", tag.name)
		}
		fmt.Fprintf(&p, "\n```console\n$ %s\n```\n", line)
	}
	return p.String()
}

func rolesInPage(rt route) string {
	var roles []string
	for _, r := range rt.roles {
		roles = append(roles, "`"+string(r)+"`")
	}
	switch {
	case rt.link:
		return "the link"
	case rt.stream:
		return "the ticket"
	case len(roles) == 0:
		return "none"
	}
	return strings.Join(roles, ", ")
}

// statusesInPage are the status codes of the route itself, without those that the conventions name
// for every operation.
func statusesInPage(rt route) string {
	var all []int
	for _, a := range rt.answers {
		all = append(all, a.status)
	}
	common := []refusal.Code{refusal.CodeInvalid, problems.CodeNotFound, refusal.CodeAgentUnavailable}
	for _, c := range rt.codes {
		status := problems.Of(c).Status
		if !slices.Contains(common, c) && status != http.StatusBadRequest && !(status == http.StatusNotFound && strings.Contains(rt.path, "{")) {
			all = append(all, status)
		}
	}
	slices.Sort(all)
	var words []string
	for _, status := range slices.Compact(all) {
		words = append(words, fmt.Sprint(status))
	}
	return strings.Join(words, ", ")
}
