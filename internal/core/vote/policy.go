// Package vote counts the votes on a call: who may vote, and when the question is decided. It is
// pure.
//
//	vote stored and counted ── drained, journaled ── bound reached: decided
//	                                             └── else: the call goes on waiting
//
// The outcome is fixed when a vote is stored, not when it is drained: a vote after the one that
// decided is refused.
package vote

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Policy says who decides about a call: stages that follow one another. It is journaled with each
// suspension, so that a question is decided by the policy that it was asked with.
type Policy struct {
	Name     string  `json:"name,omitempty"`
	Stages   []Stage `json:"stages"` // at least one
	Deadline *Limit  `json:"deadline,omitempty"`
	Hours    *Hours  `json:"hours,omitempty"`
}

// Stage is one question to one group.
type Stage struct {
	Group Group `json:"group"`
	Need  int   `json:"need"` // distinct people who must approve; at least 1

	// Majority: the question is denied once so many people have denied it that Need can't be
	// reached any more. Otherwise the first denial denies. Only where every member is a person,
	// see [Group.Size].
	Majority bool `json:"majority,omitempty"`

	Remind   *Reminders  `json:"remind,omitempty"`
	Escalate *Escalation `json:"escalate,omitempty"`
}

// Group is the people who may vote.
type Group struct {
	Name    string   `json:"name,omitempty"`
	Members []Member `json:"members"`
}

// Member is a person, or a set of callers. Is are entries as lists of callers have them: several
// are several ways in which the same person comes, so that no one counts twice.
type Member struct {
	Person string   `json:"person,omitempty"` // empty: each caller who fits is a person
	Is     []string `json:"is"`
}

// MostStages is how many stages a policy has at most.
const MostStages = 8

// MostApprovers is how many people vote on a question at most.
const MostApprovers = 16

// Counts says whether votes are counted. A policy that one approver decides is decided as a call
// without one, by a single decision.
func (p *Policy) Counts() bool {
	return p != nil && (len(p.Stages) > 1 || len(p.Stages) == 1 && (p.Stages[0].Need > 1 || p.Stages[0].Deny() > 1))
}

// At is a stage of the policy; the last one for a number that is beyond it, so that what is stored
// always asks a group.
func (p *Policy) At(stage int) Stage { return p.Stages[max(0, min(stage, len(p.Stages)-1))] }

// Last says whether no stage follows.
func (p *Policy) Last(stage int) bool { return stage >= len(p.Stages)-1 }

// Digest identifies what the policy says; "" for none.
func (p *Policy) Digest() string {
	if p == nil {
		return ""
	}
	raw, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("vote: encoding a policy: %v", err)) // each type has a JSON form
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Join returns a policy that demands what both demand: the stages of a, then those of b. A stage of
// each that ask the same group are one, which needs the more people and is denied the sooner. nil
// demands nothing: resolve a rule that names no policy to the agent's own before.
func Join(a, b *Policy) *Policy {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	stages := slices.Clone(a.Stages)
	var merged []int // at most one of b with each of a: stages of one policy need other people
	for _, s := range b.Stages {
		i := 0
		for i < len(a.Stages) && (slices.Contains(merged, i) || !a.Stages[i].Group.Same(s.Group)) {
			i++
		}
		if i == len(a.Stages) {
			stages = append(stages, s)
			continue
		}
		merged, stages[i] = append(merged, i), stages[i].and(s)
	}
	both := Policy{Stages: stages, Deadline: a.Deadline.and(b.Deadline), Hours: cmp.Or(a.Hours, b.Hours)}
	for _, p := range []*Policy{a, b} {
		if both.Name = p.Name; both.Digest() == p.Digest() {
			return p
		}
	}
	both.Name = a.Name + "+" + b.Name
	return &both
}

// and demands what two stages of one group demand. Others are asked after a time only if both say
// so.
func (s Stage) and(o Stage) Stage {
	both := Stage{Group: s.Group, Need: max(s.Need, o.Need), Majority: s.Majority && o.Majority, Remind: cmp.Or(s.Remind, o.Remind)}
	if a, b := s.Escalate, o.Escalate; a != nil && b != nil && a.Replace == b.Replace && a.To.Same(b.To) {
		both.Escalate = &Escalation{After: max(a.After, b.After), To: a.To, Replace: a.Replace}
	}
	return both
}

// Same says whether two groups are the same people under the same name.
func (g Group) Same(o Group) bool {
	return (&Policy{Stages: []Stage{{Group: g}}}).Digest() == (&Policy{Stages: []Stage{{Group: o}}}).Digest()
}

// Deny is how many denials deny.
func (s Stage) Deny() int {
	if size, known := s.Group.Size(); s.Majority && known && size >= s.Need {
		return size - s.Need + 1
	}
	return 1
}

// Size is how many people the group has; false if that is not known because an entry means
// any number of callers.
func (g Group) Size() (people int, known bool) {
	names := map[string]bool{}
	for _, m := range g.Members {
		switch {
		case m.Person != "":
			names[PersonName(m.Person)] = true
		case len(m.Is) != 1 || open(m.Is[0]):
			return 0, false
		default:
			names[Name(m.Is[0])] = true
		}
	}
	return len(names), true
}

// open says whether an entry fits any number of callers.
func open(entry string) bool {
	return strings.Contains(entry, "*") || strings.HasPrefix(entry, "role:") || strings.HasPrefix(entry, "claim:")
}

// ByClaims says whether the policy names a person by a claim. Then the name that the journal has of
// a caller does not tell which person it was, unless the person's ways contain it.
func (p *Policy) ByClaims() bool {
	return p != nil && slices.ContainsFunc(p.Groups(), Group.ByClaims)
}

// ByClaims says whether a member of the group is a person named by a claim.
func (g Group) ByClaims() bool {
	return slices.ContainsFunc(g.Members, func(m Member) bool {
		return m.Person != "" && slices.ContainsFunc(m.Is, func(entry string) bool { return strings.HasPrefix(entry, "claim:") })
	})
}

// Entries are all entries of the group's members, as a list of callers.
func (g Group) Entries() (all []string) {
	for _, m := range g.Members {
		all = append(all, m.Is...)
	}
	return all
}

// Person returns who a caller is in the group, in one form for all ways in which that person comes;
// false if it is none of them. fits says whether an entry is the caller's.
func (g Group) Person(by string, fits func(entry string) bool) (person string, member bool) {
	for _, m := range g.Members {
		for _, entry := range m.Is {
			if !fits(entry) {
				continue
			}
			if m.Person != "" {
				return PersonName(m.Person), true
			}
			person, member = by, true
		}
	}
	return person, member && by != ""
}

// PersonName is how a member who is a person is named, as if a caller.
func PersonName(person string) string { return "person:" + person }

// Name is a caller's name where two callers must be two people. A token and a sign-in of the same
// name may belong to one person, so they have one name.
func Name(by string) string {
	if name, ok := strings.CutPrefix(by, "token:"); ok {
		return PersonName(name)
	}
	return by
}

// Key is the key under which a person's vote is counted, see [Name].
func Key(person string) string {
	sum := sha256.Sum256([]byte(Name(person)))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}
