package remote

import (
	"cmp"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// reading is what an attempt means for the call at hand.
type reading struct {
	retry bool // another attempt is allowed, and may help
	after time.Duration
	// the other side said something that is kept even if the context ended meanwhile
	heard bool
	// why the attempt may have taken effect; empty if it cannot have
	doubt string
	// if it is the last; earlier is the doubt about those before
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
	a.Why = cmp.Or(a.Why, "it is not known what came of it")
	return reading{retry: a.Retry && c.repeatable(), after: a.After, heard: a.Said != "", doubt: a.Why,
		outcome: func(earlier string) core.Outcome { return c.unknown(a, earlier) }}
}

// repeatable says whether the call may be sent again though it may have run.
func (c Call) repeatable() bool { return !c.Request.AtMostOnce }
