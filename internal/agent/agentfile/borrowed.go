package agentfile

import (
	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

// Conditions reads conditions in another kind of file, in which the field that names what is tested
// is path. They are a list, one condition, or comparisons in one text, as in
// 'action == "opened" && issue.number > 0'.
func Conditions(r *strictyaml.Reader, n *yaml.Node) agent.Conditions {
	s := &source{Reader: r, tested: "path"}
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return s.conditions(n)
	}
	conditions, err := agent.ReadComparisons(n.Value)
	if err != nil {
		s.Refuse(n, "when: %v", err)
	}
	for _, c := range conditions {
		s.expression(n, c.Regex)
		s.expression(n, c.NotRegex)
	}
	return conditions
}

// Errors joins what is wrong with a file, in the order of the lines, each as "FILE:LINE: what is
// wrong; what to do".
func Errors(r *strictyaml.Reader) error { return (&source{Reader: r}).err() }
