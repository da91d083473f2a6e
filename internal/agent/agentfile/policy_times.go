package agentfile

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// policyTimes reads a policy's deadline and its hours.
func (s *source) policyTimes(o *object, p *vote.Policy) {
	if n := o.Take("deadline"); n != nil {
		p.Deadline = s.limit(n)
	}
	if n := o.Take("hours"); n != nil {
		p.Hours = s.hours(n)
	}
}

// checkTimes refuses what would never happen, and silence where it can't approve.
func (s *source) checkTimes(n *yaml.Node, p *vote.Policy) {
	timed := p.Deadline != nil
	for _, stage := range p.Stages {
		timed = timed || stage.Remind != nil || stage.Escalate != nil
		if p.Deadline == nil {
			continue
		}
		if stage.Remind != nil && stage.Remind.After >= p.Deadline.Within {
			s.Refuse(n, "remind comes after the deadline of the policy; lower after, or remove it")
		}
		if stage.Escalate != nil && stage.Escalate.After >= p.Deadline.Within {
			s.Refuse(n, "escalate comes after the deadline of the policy; lower after, or remove it")
		}
	}
	if p.Hours != nil && !timed {
		s.Refuse(n, "hours are when the times of a policy count, and this one has none; remove hours, or add remind, escalate or deadline")
	}
	if p.Deadline != nil && p.Deadline.Approve && p.Counts() {
		s.Refuse(n, "then: approve belongs to a policy that one person decides; several people can't approve by silence")
	}
}

// limit reads a deadline: a duration, or one and what follows.
func (s *source) limit(n *yaml.Node) *vote.Limit {
	if n.Kind == yaml.ScalarNode {
		return &vote.Limit{Within: s.policyTime(n, "deadline")}
	}
	o, ok := s.Object(n, "a deadline")
	if !ok {
		return nil
	}
	defer o.Close()
	return &vote.Limit{Within: s.needsTime(o, "within"), Approve: o.One("then", "deny", "approve") == "approve"}
}

// reminders reads when people are reminded: a duration, or the first one and how they go on.
func (s *source) reminders(n *yaml.Node) *vote.Reminders {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return &vote.Reminders{After: s.policyTime(n, "remind"), Most: 1}
	}
	o, ok := s.Object(n, "remind")
	if !ok {
		return nil
	}
	defer o.Close()
	r := &vote.Reminders{After: s.needsTime(o, "after"), Most: 1}
	every, most := o.Take("every"), o.Take("most")
	if every != nil {
		r.Every, r.Most = s.policyTime(every, "every"), vote.MostReminders
	}
	if most != nil {
		r.Most = s.count(most, "most")
	}
	switch {
	case r.Most < 1 || r.Most > vote.MostReminders:
		s.Refuse(n, "most is 1 to %d reminders", vote.MostReminders)
	case most != nil && every == nil:
		s.Refuse(n, "most needs every: the time between two reminders, such as 24h")
	}
	return r
}

// escalation reads which other group is asked, and when.
func (s *source) escalation(n *yaml.Node, groups map[string]vote.Group, stage vote.Stage) *vote.Escalation {
	if n == nil {
		return nil
	}
	o, ok := s.Object(n, "escalate")
	if !ok {
		return nil
	}
	defer o.Close()
	e := &vote.Escalation{After: s.needsTime(o, "after"), Replace: o.Flag("replace")}
	name := o.Text("to")
	to, known := groups[name]
	e.To = to
	size, counted := to.Size()
	switch {
	case !known:
		s.Refuse(n, "there is no group %q; define it under groups", name)
	case to.Same(stage.Group):
		s.Refuse(n, "the group %s is asked already; escalate to another one", name)
	case e.Replace && counted && size < stage.Need:
		s.Refuse(n, "the group %s has %d people, and %d must approve; add members, or remove replace", name, size, stage.Need)
	case e.Replace && counted && size > vote.MostApprovers:
		s.Refuse(n, "the group %s has %d people; a group that decides has at most %d", name, size, vote.MostApprovers)
	case e.Replace && stage.Majority && !counted:
		s.Refuse(n, "deny: majority needs to know how many people the group %s has; list them by name, without roles, claims and *", name)
	case !e.Replace && stage.Majority:
		s.Refuse(n, "with deny: majority a group can't grow while it votes; add replace: true, or remove deny")
	}
	return e
}

// hours reads when people work.
func (s *source) hours(n *yaml.Node) *vote.Hours {
	o, ok := s.Object(n, "hours")
	if !ok {
		return nil
	}
	defer o.Close()
	h := &vote.Hours{Zone: o.Text("zone"), From: s.timeOfDay(o, "from"), To: s.timeOfDay(o, "to")}
	for _, day := range s.words(o, "days") {
		i := slices.Index(form.Days, day)
		if i < 0 {
			s.Refuse(o.Member("days"), "%q is not a day; write sun, mon, tue, wed, thu, fri or sat", day)
		}
		h.Days = append(h.Days, i)
	}
	if err := agent.CheckHours(*h); err != nil && !slices.Contains(h.Days, -1) {
		s.Refuse(n, "hours: %v", err)
	}
	return h
}

func (s *source) timeOfDay(o *object, name string) int {
	text := o.Text(name)
	if text == "24:00" {
		return int((24 * time.Hour).Minutes())
	}
	when, err := time.Parse("15:04", text)
	if err != nil {
		s.Refuse(o.Node, `hours need %s, a time of day in quotes, such as "09:00"`, name)
		return 0
	}
	return when.Hour()*60 + when.Minute()
}

func (s *source) needsTime(o *object, name string) int64 {
	n := o.Take(name)
	if n == nil {
		s.Refuse(o.Node, "%s is missing; it is a duration, such as 24h", name)
		return 0
	}
	return s.policyTime(n, name)
}

func (s *source) policyTime(n *yaml.Node, name string) int64 {
	ms := s.within(n, name)
	if ms > form.LongestPolicyTime.Milliseconds() {
		s.Refuse(n, "%s is at most %s, a year", name, form.LongestPolicyTime)
	}
	return ms
}
