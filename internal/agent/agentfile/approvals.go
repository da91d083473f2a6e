package agentfile

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// defaultApproval is the name of the policy for calls whose rules name none.
const defaultApproval = "default"

// approvals reads the groups and the policies on who decides. It comes before the rules, which name
// them.
func (s *source) approvals(o *object, d *agent.Definition) {
	s.policiesOf(o.Take("approvals"), s.groups(o.Take("groups")))
	d.Approval = s.policies[defaultApproval]
}

// policiesOf reads the policies by their names.
func (s *source) policiesOf(n *yaml.Node, groups map[string]vote.Group) {
	s.policies = map[string]*vote.Policy{}
	if n == nil {
		return
	}
	all, ok := s.Object(n, "approvals")
	if !ok {
		return
	}
	for _, key := range all.Keys {
		name := key.Value
		if !agent.GroupName.MatchString(name) {
			s.Refuse(key, "%q is not a name for a policy; use a-z, 0-9, - and _, at most 32", name)
		}
		if p := s.approval(all.Take(name), name, groups); p != nil {
			s.policies[name] = p
		}
	}
}

func (s *source) groups(n *yaml.Node) map[string]vote.Group {
	groups := map[string]vote.Group{}
	if n == nil {
		return groups
	}
	o, ok := s.Object(n, "groups")
	if !ok {
		return groups
	}
	persons := map[string]string{}
	for _, key := range o.Keys {
		name := key.Value
		if !agent.GroupName.MatchString(name) {
			s.Refuse(key, "%q is not a name for a group; use a-z, 0-9, - and _, at most 32", name)
		}
		groups[name] = s.group(o, name, persons)
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(groups)), vote.Group.ByClaims) {
		s.personsAlone(n, groups)
	}
	return groups
}

// personsAlone demands that each member is a person. Where one is known by a claim, another member
// might be the same one.
func (s *source) personsAlone(n *yaml.Node, groups map[string]vote.Group) {
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		for _, m := range groups[name].Members {
			if m.Person == "" && len(m.Is) > 0 {
				s.Refuse(n, "the group %s lists %s, and another person is known by a claim and might be the same one; list each member as {person: NAME, is: [...]}", name, m.Is[0])
			}
		}
	}
}

// group reads a group's members. persons are those of the entries that were read so far: one entry
// is one person in the whole file, or that person could count twice.
func (s *source) group(o *object, name string, persons map[string]string) vote.Group {
	g := vote.Group{Name: name}
	nodes := o.List(name)
	if len(nodes) == 0 {
		s.Refuse(o.Member(name), "the group %s has no members; list callers such as token:anna", name)
	}
	seen := map[string]bool{}
	for _, n := range nodes {
		m := s.groupMember(n)
		for _, entry := range m.Is {
			if seen[entry] {
				s.Refuse(n, "%s is in the group %s twice; remove one", entry, name)
			}
			seen[entry] = true
			if known, there := persons[entry]; there && known != m.Person {
				s.Refuse(n, "%s is written as two different people in this file; give it the same person in all groups", entry)
			}
			persons[entry] = m.Person
		}
		g.Members = append(g.Members, m)
	}
	return g
}

// groupMember reads a caller, or a person with several ways to come.
func (s *source) groupMember(n *yaml.Node) vote.Member {
	if n.Kind == yaml.ScalarNode {
		s.checkMember(n, n.Value)
		return vote.Member{Is: []string{n.Value}}
	}
	o, ok := s.Object(n, "a member of a group")
	if !ok {
		return vote.Member{}
	}
	defer o.Close()
	m := vote.Member{Person: o.Text("person"), Is: s.someNames(o, "is", "a plain entry")}
	if !agent.GroupName.MatchString(m.Person) || len(m.Is) == 0 {
		s.Refuse(n, "a person needs person, a short name, and is, a list of callers such as [token:anna, link:anna@example.com]")
	}
	for _, entry := range m.Is {
		if s.checkMember(n, entry); fitsMany(entry) {
			s.Refuse(n, "%s fits many callers, and %s is one person; write the callers out, an account as claim:sub=ID or claim:email=ADDRESS", entry, m.Person)
		}
	}
	return m
}

// fitsMany says whether an entry is not a caller's own.
func fitsMany(entry string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(entry, access.ClaimPrefix), "=")
	return strings.Contains(entry, "*") || strings.HasPrefix(entry, access.RolePrefix) || strings.HasPrefix(entry, access.ClaimPrefix) && name != "sub" && name != "email"
}

var claimEntry = lazyregexp.New(`^claim:[A-Za-z0-9_.:/-]+=\S.{0,200}$`)

// checkMember takes the callers of every list, and claims, which only groups know.
func (s *source) checkMember(n *yaml.Node, entry string) {
	if strings.HasPrefix(entry, access.ClaimPrefix) {
		if !claimEntry.MatchString(entry) {
			s.Refuse(n, "%q is not a claim; write claim:NAME=VALUE", entry)
		}
	} else if err := access.CheckCaller(entry); err != nil {
		s.Refuse(n, "%v; a group can also list claim:NAME=VALUE", err)
	}
}

// approval reads a policy: one stage, or a list of them.
func (s *source) approval(n *yaml.Node, name string, groups map[string]vote.Group) *vote.Policy {
	o, ok := s.Object(n, "a policy")
	if !ok {
		return nil
	}
	defer o.Close()
	p := &vote.Policy{Name: name}
	s.policyTimes(o, p)
	defer s.checkTimes(n, p)
	if o.Member("stages") == nil {
		p.Stages = []vote.Stage{s.approvalStage(o, groups)}
		return p
	}
	stages := o.List("stages")
	if len(stages) == 0 || len(stages) > vote.MostStages {
		s.Refuse(o.Member("stages"), "a policy has 1 to %d stages", vote.MostStages)
	}
	for _, stage := range stages {
		if one, ok := s.Object(stage, "a stage"); ok {
			p.Stages = append(p.Stages, s.approvalStage(one, groups))
			one.Close()
		}
	}
	if len(p.Stages) == 0 {
		return nil
	}
	return p
}

func (s *source) approvalStage(o *object, groups map[string]vote.Group) vote.Stage {
	stage := vote.Stage{Need: 1, Majority: o.One("deny", "first", "majority") == "majority"}
	name := o.Text("group")
	group, known := groups[name]
	if stage.Group = group; !known {
		s.Refuse(o.Node, "there is no group %q; define it under groups", name)
	}
	if need := o.Take("need"); need != nil {
		stage.Need = s.count(need, "need")
	}
	stage.Remind, stage.Escalate = s.reminders(o.Take("remind")), s.escalation(o.Take("escalate"), groups, stage)
	size, counted := group.Size()
	switch {
	case stage.Need < 1 || stage.Need > vote.MostApprovers:
		s.Refuse(o.Node, "need is 1 to %d people", vote.MostApprovers)
	case counted && known && size < stage.Need:
		s.Refuse(o.Node, "the group %s has %d people, and %d must approve; add members, or lower need", name, size, stage.Need)
	case counted && size > vote.MostApprovers:
		s.Refuse(o.Node, "the group %s has %d people; a group that decides has at most %d", name, size, vote.MostApprovers)
	case stage.Majority && known && !counted:
		s.Refuse(o.Node, "deny: majority needs to know how many people the group %s has; list them by name, without roles, claims and *", name)
	}
	return stage
}

// ruledApproval is the policy that a rule names; nil if it names none.
func (s *source) ruledApproval(o *object, e core.Effect, mode core.ResumeMode) *vote.Policy {
	n := o.Member("approval")
	name := o.Text("approval")
	if n == nil {
		return nil
	}
	p := s.policies[name]
	switch {
	case s.layer:
		s.Refuse(n, "approval belongs to the rules of an agent, which defines its groups; remove it")
	case e != core.Ask:
		s.Refuse(n, "approval belongs to rules that ask; remove it")
	case p == nil:
		s.Refuse(n, "there is no policy %q; define it under approvals", name)
	case p.Counts() && mode == core.UseDecisionAsToolResult:
		s.Refuse(n, "several people can't give one result; use a policy that one person decides, or another mode")
	}
	return p
}
