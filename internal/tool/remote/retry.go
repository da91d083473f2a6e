package remote

import (
	"cmp"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// reading is what an attempt means for the call.
type reading struct {
	retry bool // another attempt is allowed and may help
	after time.Duration
	// heard says that the other side answered, which is kept even if the context has ended
	heard bool
	// doubt says why the attempt may have taken effect; it is empty if it cannot have
	doubt string
	// outcome is the outcome if this attempt is the last; earlier is the doubt about the
	// attempts before it
	outcome func(earlier string) core.Outcome
}

// read applies the rules of the package to an attempt.
func (c Call) read(a Attempt) reading {
	switch a := a.(type) {
	case NotSent:
		if a.Why != "" {
			return reading{retry: a.Retry, after: a.After, outcome: func(earlier string) core.Outcome { return c.notSent(a.Why, earlier) }}
		}
	case Refused:
		if a.Why+a.Said != "" {
			return reading{retry: a.Retry && (a.Certain || c.repeatable()), after: a.After, heard: true,
				outcome: func(earlier string) core.Outcome { return c.refused(a, earlier) }}
		}
	case Answered:
		if a.Doubt == "" || !c.repeatable() {
			return reading{heard: true, outcome: func(earlier string) core.Outcome { return c.answered(a, earlier) }}
		}
		again := Unknown{Why: a.Doubt, Retry: true, After: a.After}
		if a.Outcome.Failed {
			again.Said = a.Outcome.Text
		}
		return c.inDoubt(again)
	case Unknown:
		return c.inDoubt(a)
	}
	return c.inDoubt(Unknown{})
}

func (c Call) inDoubt(a Unknown) reading {
	a.Why = cmp.Or(a.Why, "its outcome is unknown")
	return reading{retry: a.Retry && c.repeatable(), after: a.After, heard: a.Said != "", doubt: a.Why,
		outcome: func(earlier string) core.Outcome { return c.unknown(a, earlier) }}
}

// repeatable reports whether the call may be sent again even if it may have run.
func (c Call) repeatable() bool { return !c.Request.AtMostOnce }
