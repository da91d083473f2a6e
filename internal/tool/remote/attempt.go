package remote

import (
	"cmp"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Attempt is what came of sending a call once: a [NotSent], [Refused], [Unknown] or [Answered]. Anything
// else, nil and pointers included, counts as an Unknown that is not tried again.
type Attempt interface{ attempt() }

// NotSent says that nothing ran, for certain: the other side never had the call. Even an at-most-once
// call may be tried again. Without Why it counts as an [Unknown].
type NotSent struct {
	Why   string // continues [Words.Subject]: "could not be reached: it refused the connection"
	Retry bool   // another attempt may help
	After time.Duration
}

// Refused says that the other side claims to have done nothing. Without Why and Said it counts as an
// [Unknown].
type Refused struct {
	Why     string // continues [Words.Subject], of a call that did not run: "answered 401 Unauthorized"
	Said    string // a sentence, shown if Why is empty or an earlier attempt is in doubt
	Retry   bool   // another attempt may help
	Certain bool   // the claim is as good as that of NotSent, so an at-most-once call may be tried again as well
	After   time.Duration
}

// Unknown says that the call may have run, and that no answer says whether it did.
type Unknown struct {
	Why   string // a clause that ends a sentence: "no answer came within 10s"
	Said  string // a sentence that says more, if there is one; shown if the call may be repeated
	Retry bool   // another attempt may help; it is only made if the call may be repeated
	After time.Duration
}

// Answered says that the other side answered, with a success or a failure. What is shown of it is the
// adapter's to say; doubts about its effect are added here.
type Answered struct {
	Outcome core.Outcome
	Settled bool // a failure after which no note on the effect is due; any other may have had one

	// Doubt is why the answer is not good enough if the call may be repeated: it is then an [Unknown]
	// for this reason, tried again after After. An at-most-once call has no better answer, and keeps it.
	Doubt string
	After time.Duration
}

func (NotSent) attempt()  {}
func (Refused) attempt()  {}
func (Unknown) attempt()  {}
func (Answered) attempt() {}

// reading is what an attempt means for the call at hand.
type reading struct {
	retry   bool // another attempt is allowed, and may help
	after   time.Duration
	heard   bool                              // the other side said something that is kept even if the context ended meanwhile
	doubt   string                            // why the attempt may have taken effect; empty if it cannot have
	outcome func(earlier string) core.Outcome // if it is the last; earlier is the doubt about those before
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
