package agentfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
)

// MaxNarrow is how large the permissions of one run may be, in bytes of JSON.
const MaxNarrow = 1024

// ParsePolicy reads the permissions over all agents from a YAML file that holds nothing but block,
// deny and ask, and what [ParseAsking] reads. fileName is for messages. The error is as for [Load].
func ParsePolicy(fileName string, text []byte) (agent.Permissions, error) {
	p, _, err := policyFile(fileName, text)
	return p, err
}

// ParseAsking reads who decides about asks from the same file: groups and approvals, as in agent
// files. The error is as for [ParsePolicy].
func ParseAsking(fileName string, text []byte) (ask.Policies, error) {
	_, asking, err := policyFile(fileName, text)
	return asking, err
}

func policyFile(fileName string, text []byte) (p agent.Permissions, asking ask.Policies, err error) {
	s := newSource(fileName)
	s.layer = true
	if root := s.Document(text); root != nil {
		if o, ok := s.Object(root, "a policy"); ok {
			asking.Groups = s.groups(o.Take("groups"))
			s.policiesOf(o.Take("approvals"), asking.Groups)
			asking.Approvals = s.policies
			p = s.narrowing(o)
			o.Close()
		}
	}
	if err := s.err(); err != nil {
		return agent.Permissions{}, ask.Policies{}, err
	}
	return p, asking, nil
}

// ParseNarrow reads the permissions of one run, as a caller sends them: an object with block, deny
// and ask, in the same shapes as in YAML. allow is accepted and has no effect, since these
// permissions can only narrow. Empty text or null means no permissions. The error is written for
// the caller.
func ParseNarrow(raw json.RawMessage) (agent.Permissions, error) {
	switch {
	case core.IsNull(raw):
		return agent.Permissions{}, nil
	case len(raw) > MaxNarrow:
		return agent.Permissions{}, fmt.Errorf("permissions are %d bytes; a run's permissions may be at most %d bytes", len(raw), MaxNarrow)
	case !json.Valid(raw):
		return agent.Permissions{}, errors.New("permissions are not valid JSON")
	}
	if err := strict.Check(raw); err != nil {
		return agent.Permissions{}, fmt.Errorf("permissions: %w", err)
	}
	s := newSource("")
	s.layer = true
	var p agent.Permissions
	if o, ok := s.Object(jsonNode(agent.DecodeValue(raw)), "permissions"); ok {
		p = s.narrowing(o)
		p.Allow = s.rules(o.List("allow"), core.Allow)
		o.Close()
	}
	if len(s.Problems) == 0 {
		return p, nil
	}
	wrong := make([]string, len(s.Problems))
	for i, problem := range s.Problems {
		wrong[i] = problem.Text
	}
	return agent.Permissions{}, errors.New("permissions: " + strings.Join(wrong, "; "))
}

// jsonNode converts a JSON value to the YAML node it would have.
func jsonNode(v any) *yaml.Node {
	switch v := v.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, jsonNode(key), jsonNode(v[key]))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			n.Content = append(n.Content, jsonNode(item))
		}
		return n
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: v.String()}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}
