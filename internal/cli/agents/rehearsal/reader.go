package rehearsal

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

// reader is a file of tests being read.
type reader struct{ *strictyaml.Reader }

type object = strictyaml.Object

// problems are those that were found, in the order of their lines.
func (r *reader) problems() []agentfile.Problem {
	var all []agentfile.Problem
	for _, p := range r.Problems {
		all = append(all, agentfile.NewProblem(p.File, p.Line, p.Text))
	}
	slices.SortStableFunc(all, func(x, y agentfile.Problem) int { return x.Line - y.Line })
	return all
}

// valueOf takes a member that may be anything; nil if it is not there.
func valueOf(o *object, name string) *Value {
	n := o.Take(name)
	if n == nil {
		return nil
	}
	v, err := newValue(n)
	if err != nil {
		o.Refuse(n, "%s: %v", name, err)
	}
	return v
}
