package core

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// While a call waits, moments come: its people are reminded, others are asked, its deadline is
// near. They are worked out once, when the call is suspended, and journaled with it, so that no
// later version of the agent moves them.
//
//	suspend ── Rules.Times ── journaled … due ── applyMoments ── how many have passed

// Moment is a time at which something is due about a call that waits.
type Moment struct {
	At   int64      `json:"at"`
	What MomentKind `json:"what"`
}

// MomentKind is what is due. The strings are stored.
type MomentKind string

const (
	MomentNear     MomentKind = "near"     // the deadline is near
	MomentRemind   MomentKind = "remind"   // the people are reminded
	MomentEscalate MomentKind = "escalate" // another group is asked
)

// Times are when something is due about a call that is suspended now.
type Times struct {
	Deadline int64 // 0: what [Rules.Deadline] says
	Moments  Moments
}

// TimesOf works out the times of a stage of a policy; after says when so many ms that count have
// passed.
func TimesOf(p *vote.Policy, stage int, after func(ms int64) int64) (t Times) {
	if p.Deadline != nil {
		t.Deadline = after(p.Deadline.Within)
	}
	s := p.At(stage)
	if s.Remind != nil {
		for i := range int64(min(max(s.Remind.Most, 1), vote.MostReminders)) {
			t.Moments = append(t.Moments, Moment{At: after(s.Remind.After + i*s.Remind.Every), What: MomentRemind})
		}
	}
	if s.Escalate != nil {
		t.Moments = append(t.Moments, Moment{At: after(s.Escalate.After), What: MomentEscalate})
	}
	return t
}

// AllHours is the time that counts where a policy has no hours.
func AllHours(now int64) func(ms int64) int64 { return func(ms int64) int64 { return now + ms } }

// Moments are those of one suspension, in the order of time.
type Moments []Moment

// Passed are the moments that have come and that were not among the first n that came before.
func (m Moments) Passed(n int, now int64) []Moment {
	end := n
	for end < len(m) && m[end].At <= now {
		end++
	}
	return m[min(n, len(m)):end]
}

// Next is the time of the first moment after n; 0 if there is none.
func (m Moments) Next(n int) int64 {
	if n >= len(m) {
		return 0
	}
	return m[n].At
}

// Strongest is what is done where several moments have come at once, such as after an outage:
// people get one notice, not one for each.
func Strongest(passed []Moment) MomentKind {
	for _, what := range []MomentKind{MomentEscalate, MomentNear} {
		if slices.ContainsFunc(passed, func(m Moment) bool { return m.What == what }) {
			return what
		}
	}
	return MomentRemind
}
