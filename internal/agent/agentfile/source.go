package agentfile

import (
	"cmp"
	"errors"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

// problem is a mistake in a file, and what to do about it.
type problem strictyaml.Problem

func (p problem) Error() string { return NewProblem(p.File, p.Line, p.Text).String() }

// source is a file of agents or permissions being read.
type source struct {
	*strictyaml.Reader
	layer bool // permissions other than those of an agent: a policy, or those of a run

	policies map[string]*vote.Policy // of the agent, by name

	// tested is the field of a condition that names what it tests; empty means argument
	tested string
}

func newSource(file string) *source { return &source{Reader: &strictyaml.Reader{File: file}} }

type object = strictyaml.Object

// err joins the problems, in the order of their lines.
func (s *source) err() error {
	slices.SortStableFunc(s.Problems, func(a, b strictyaml.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	errs := make([]error, len(s.Problems))
	for i, p := range s.Problems {
		errs[i] = problem(p)
	}
	return errors.Join(errs...)
}
