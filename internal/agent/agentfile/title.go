package agentfile

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/text/title"
)

// titles checks the titles of tools against their arguments. Those of a Go function are not known
// here.
func (s *source) titles(d agent.Definition, tools []*yaml.Node) {
	for i, t := range d.Tools {
		at := memberOf(tools[i], "title")
		if t.Title == "" && at.ShortTag() != "!!str" { // there is none, or it was refused
			continue
		}
		template, err := title.Read(t.Title)
		if err != nil {
			s.Refuse(at, "title: %v", err)
			continue
		}
		known, described := propertiesOf(t)
		for _, name := range template.Arguments() {
			if described && !slices.Contains(known, name) {
				s.Refuse(at, "title: %s has no argument %q; it has %s", t.Name, name, cmp.Or(strings.Join(known, ", "), "none"))
			}
		}
	}
}
