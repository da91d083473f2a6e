package ask

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// Policies are those that the operator defines for asks, by their names.
type Policies struct {
	Groups    map[string]vote.Group
	Approvals map[string]*vote.Policy
}

// Of returns the policy that a request names: one of Approvals, or one approval by a group. nil for
// neither. An error says what is wrong with the request.
func (p Policies) Of(group, policy string) (*vote.Policy, error) {
	switch {
	case group != "" && policy != "":
		return nil, fmt.Errorf("group and policy can't be combined; a policy names its groups")
	case policy != "":
		found := p.Approvals[policy]
		if found == nil {
			return nil, fmt.Errorf("there is no policy %q; the operator defines approvals in the server's policy file", policy)
		}
		return found, nil
	case group != "":
		found, there := p.Groups[group]
		if !there {
			return nil, fmt.Errorf("there is no group %q; the operator defines groups in the server's policy file", group)
		}
		return &vote.Policy{Name: group, Stages: []vote.Stage{{Group: found, Need: 1}}}, nil
	}
	return nil, nil
}
