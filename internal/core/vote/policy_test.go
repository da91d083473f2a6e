package vote_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

func group(name string, people ...string) vote.Group {
	g := vote.Group{Name: name}
	for _, p := range people {
		g.Members = append(g.Members, vote.Member{Is: []string{p}})
	}
	return g
}

func TestJoinDemandsWhatBothPoliciesDemand(t *testing.T) {
	finance, board := group("finance", "anna", "ben", "cy"), group("board", "dee")
	one, two := vote.Stage{Group: finance, Need: 1}, vote.Stage{Group: finance, Need: 2}
	twoOfMost, oneOfMost := vote.Stage{Group: finance, Need: 2, Majority: true}, vote.Stage{Group: finance, Need: 1, Majority: true}
	above := vote.Stage{Group: board, Need: 1}
	policy := func(name string, stages ...vote.Stage) *vote.Policy {
		return &vote.Policy{Name: name, Stages: stages}
	}
	for name, c := range map[string]struct{ a, b, want *vote.Policy }{
		"none":                         {nil, nil, nil},
		"only the first":               {policy("a", one), nil, policy("a", one)},
		"only the second":              {nil, policy("b", one), policy("b", one)},
		"the same":                     {policy("a", two), policy("a", two), policy("a", two)},
		"the same under another name":  {policy("a", two), policy("b", two), policy("a", two)},
		"one after the other":          {policy("a", one), policy("b", above), policy("a+b", one, above)},
		"more people of a group":       {policy("a", one), policy("b", two), policy("b", two)},
		"fewer people of a group":      {policy("a", two), policy("b", one), policy("a", two)},
		"the first denial denies":      {policy("a", one), policy("b", twoOfMost), policy("a+b", two)},
		"the fewest denials deny":      {policy("a", oneOfMost), policy("b", twoOfMost), policy("b", twoOfMost)},
		"a stage of several":           {policy("a", two, above), policy("b", one), policy("a", two, above)},
		"two stages stay two":          {policy("a", one, one), policy("b", one), policy("a", one, one)},
		"two stages beside another":    {policy("a", above), policy("b", one, one), policy("a+b", above, one, one)},
		"two stages in place of one":   {policy("a", one), policy("b", one, one), policy("b", one, one)},
		"other people of a like group": {policy("a", one), policy("b", vote.Stage{Group: group("finance", "eve"), Need: 1}), policy("a+b", one, vote.Stage{Group: group("finance", "eve"), Need: 1})},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, vote.Join(c.a, c.b)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
