package vote

import "slices"

// What a policy says about a question that waits. Times are in ms from the moment of the question.
// They are turned into moments once, when the call is suspended; see core.Moment.

// Reminders say when the people of a stage are reminded.
type Reminders struct {
	After int64 `json:"after"`
	Every int64 `json:"every,omitempty"` // between two reminders; 0: there is one
	Most  int   `json:"most,omitempty"`  // how many; at most [MostReminders]
}

// MostReminders is how often the people of a stage are reminded at most.
const MostReminders = 8

// Escalation asks another group once a stage has waited for a time.
type Escalation struct {
	After int64 `json:"after"`
	To    Group `json:"to"`

	// Replace: the other group decides alone, and what was said before does not count.
	// Otherwise its people may decide, too.
	Replace bool `json:"replace,omitempty"`
}

// Limit is the deadline of a policy, which goes before that of the agent.
type Limit struct {
	Within int64 `json:"within"`

	// Approve: no answer in time is a yes. Only a policy that one person decides can say so.
	Approve bool `json:"approve,omitempty"`
}

// Hours are when people work. Where a policy has them, its times pass only then.
type Hours struct {
	Zone string `json:"zone"` // as in the time zone database
	Days []int  `json:"days"` // 0 is Sunday
	From int    `json:"from"` // minutes of the day
	To   int    `json:"to"`
}

// Escalated is the policy once a stage was escalated, as [Escalation] says. The stage is not
// escalated again.
func (p *Policy) Escalated(stage int) *Policy {
	out := *p
	out.Stages = slices.Clone(p.Stages)
	s := &out.Stages[stage]
	to := s.Escalate
	switch {
	case to == nil:
		return p
	case to.Replace:
		s.Group = to.To
	default:
		s.Group = Group{Name: s.Group.Name + "+" + to.To.Name, Members: slices.Concat(s.Group.Members, to.To.Members)}
	}
	s.Escalate = nil
	return &out
}

// Groups are all groups that the policy may ask, those of escalations too.
func (p *Policy) Groups() (all []Group) {
	for _, s := range p.Stages {
		all = append(all, s.Group)
		if s.Escalate != nil {
			all = append(all, s.Escalate.To)
		}
	}
	return all
}

// Silence says whether no answer in time is a yes.
func (p *Policy) Silence() bool {
	return p != nil && p.Deadline != nil && p.Deadline.Approve && !p.Counts()
}

// WithoutSilence is the policy under which no answer in time is a no.
func (p *Policy) WithoutSilence() *Policy {
	if p == nil || p.Deadline == nil || !p.Deadline.Approve {
		return p
	}
	out := *p
	out.Deadline = &Limit{Within: p.Deadline.Within}
	return &out
}

// and is what two policies demand that ask the same people: the earlier deadline, and a yes by
// silence only if both say so.
func (l *Limit) and(o *Limit) *Limit {
	switch {
	case l == nil && o == nil:
		return nil
	case l == nil:
		return &Limit{Within: o.Within}
	case o == nil:
		return &Limit{Within: l.Within}
	}
	return &Limit{Within: min(l.Within, o.Within), Approve: l.Approve && o.Approve}
}
