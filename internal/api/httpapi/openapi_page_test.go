package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

const pageFile = "../../../docs/reference/api.md"

// Told is a call that was made with curl, and its answer.
type Told struct {
	Call, About string
	Command     string
	Status      int
	Header      string // one that matters, or empty
	Answer      string
}

// CheckPage writes docs/reference/api.md with -update, and else says when it is not what the routes, the
// types and the answers say.
func CheckPage(t *testing.T, told []Told) {
	t.Helper()
	want := page(told)
	if *update {
		if err := os.WriteFile(pageFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(pageFile)
	if err != nil || string(got) != want {
		t.Errorf("docs/reference/api.md is not what the routes say and the server answers (%v): go test ./internal/api/httpapi -run OpenAPI -update\n%s", err, firstDifference(string(got), want))
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

// BodyOf is an example's body, by its call and name.
func BodyOf(call, name string) string {
	for _, b := range bodies {
		if b.call == call && b.name == name {
			return b.body
		}
	}
	panic("no example " + name + " of " + call)
}

// pager writes the page.
type pager struct {
	bytes.Buffer
	doc  openDoc
	told []Told
}

func page(told []Told) string {
	doc, _ := buildDocument()
	p := &pager{doc: doc, told: told}
	p.WriteString(conventions)
	for _, tag := range tags {
		p.f("\n## %s\n\n%s\n", strings.ToUpper(tag.name[:1])+tag.name[1:], tag.about)
		for _, rt := range (&api{}).table() {
			if rt.tag == tag.name {
				p.call(rt)
			}
		}
	}
	p.events()
	p.shapes()
	return p.String()
}

func (p *pager) f(format string, args ...any) { fmt.Fprintf(p, format, args...) }

func (p *pager) call(rt route) {
	op := p.doc.Paths[rt.path][strings.ToLower(rt.method)]
	p.f("\n### %s\n\n`%s %s`\n", rt.title, rt.method, rt.path)
	if op.Description != "" {
		p.f("\n%s\n", op.Description)
	}
	if len(rt.params) > 0 {
		p.f("\n| parameter | in | |\n|---|---|---|\n")
		for _, param := range op.Parameters {
			if param.In != "path" {
				p.f("| `%s` | %s | %s |\n", param.Name, param.In, cell(param.Description+oneOf(param.Schema)))
			}
		}
	}
	p.body(rt, op)
	p.f("\n| answer | |\n|---|---|\n")
	for _, a := range rt.answers {
		p.f("| %d%s | %s |\n", a.status, shownAs(a), cell(a.about))
	}
	for _, status := range sortedStatuses(codesByStatus(rt)) {
		if codes := own(rt, codesByStatus(rt)[status]); len(codes) > 0 {
			p.f("| %d | `%s` |\n", status, strings.Join(codes, "`, `"))
		}
	}
	for _, told := range p.told {
		if told.Call == rt.name {
			p.example(told)
		}
	}
}

// shownAs is the type that an answer holds, as a link to where it is described.
func shownAs(a answered) string {
	switch of := a.of.(type) {
	case nil, map[string]any, string:
		if a.media != "" {
			return " `" + a.media + "`"
		}
		return ""
	case either:
		var all []string
		for _, one := range of {
			all = append(all, strings.TrimSpace(shownAs(answered{of: one})))
		}
		return " " + strings.Join(all, " or ")
	}
	name := nameOfValue(a.of)
	return fmt.Sprintf(" [%s](#%s)", name, strings.ToLower(name))
}

func (p *pager) body(rt route, op operation) {
	if rt.body == nil {
		return
	}
	several, ok := rt.body.of.(either)
	if !ok {
		several = either{rt.body.of}
	}
	for i, one := range several {
		name := nameOfValue(one)
		if len(p.doc.Components.Schemas[name].Properties) == 0 {
			p.f("\nThe body may be left out, or be `{}`.\n")
			continue
		}
		lead := "The body"
		if i > 0 {
			lead = "Or"
		}
		if !op.RequestBody.Required {
			lead += ", which may be left out"
		}
		p.f("\n%s:\n\n", lead)
		p.members(p.doc.Components.Schemas[name])
	}
}

// members is a table of an object's members.
func (p *pager) members(s *jsonschema.Schema) {
	p.f("| member | | |\n|---|---|---|\n")
	for _, name := range s.PropertyOrder {
		m := s.Properties[name]
		p.f("| `%s` | %s | %s |\n", name, typeOf(m)+presence(s, name), cell(m.Description+oneOf(m)))
	}
}

func presence(s *jsonschema.Schema, name string) string {
	request := s.AdditionalProperties != nil
	for _, r := range s.Required {
		if r == name && request {
			return ", required"
		}
		if r == name {
			return ""
		}
	}
	if request {
		return ""
	}
	return ", may be left out"
}

func (p *pager) example(told Told) {
	p.f("\n")
	if told.About != "" {
		p.f("%s:\n\n", told.About)
	}
	p.f("```console\n$ %s\n```\n\nAnswer %d", told.Command, told.Status)
	if told.Header != "" {
		p.f(", `%s`", told.Header)
	}
	language := "json"
	if !json.Valid([]byte(told.Answer)) {
		language = "text"
	}
	if told.Answer == "" {
		p.f(".\n")
		return
	}
	p.f(":\n\n```%s\n%s\n```\n", language, strings.TrimRight(told.Answer, "\n"))
}

func (p *pager) events() {
	p.f("\n## Types of events\n\nMore may come: pass over those you do not know. [Events](events.md) has their members, with examples.\n\n| type | |\n|---|---|\n")
	for _, e := range events {
		p.f("| `%s` | %s |\n", e.of, e.about)
	}
}

func (p *pager) shapes() {
	p.f("\n## Shapes\n\nWhat answers hold. Members may be added: pass over those you do not know.\n")
	for _, name := range []string{"Run", "Usage", "RunError", "Actor", "Pending", "Request", "Suspension", "Warning", "ToolDetails", "Preview", "Approval", "Link", "Outcome", "OutcomeDecision", "DecisionAnswer", "DecisionAnswers", "Winner", "Message",
		"Part", "ToolCall", "Call", "Thread", "Event", "Agent", "Tool", "Problem", "RunPage", "ApprovalPage", "LinkPage", "MessagePage", "CallPage", "AgentPage", "EventPage", "FeedPage", "Counts", "RecordedDecision", "DecisionPage", "DecisionRecordedData", "Health"} {
		p.f("\n### %s\n\n%s\n\n", name, p.doc.Components.Schemas[name].Description)
		p.members(p.doc.Components.Schemas[name])
	}
}
