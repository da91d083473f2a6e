package remote

import (
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Attempt is what came of sending a call once: a [NotSent], [Refused], [Unknown] or [Answered].
// Anything else, nil and pointers included, counts as an Unknown that is not tried again.
type Attempt interface{ attempt() }

// NotSent says that nothing ran, for certain: the other side never had the call. Even an
// at-most-once call may be tried again. Without Why it counts as an [Unknown].
type NotSent struct {
	Why   string // continues [Words.Subject]: "could not be reached: it refused the connection"
	Retry bool   // another attempt may help
	After time.Duration
}

// Refused says that the other side claims to have done nothing. Without Why and Said it counts as
// an [Unknown].
type Refused struct {
	// continues [Words.Subject], of a call that did not run: "answered 401 Unauthorized"
	Why   string
	Said  string // a sentence, shown if Why is empty or an earlier attempt is in doubt
	Retry bool   // another attempt may help
	// the claim is as good as that of NotSent, so an at-most-once call may be tried again as
	// well
	Certain bool
	After   time.Duration
}

// Unknown says that the call may have run, and that no answer says whether it did.
type Unknown struct {
	Why string // a clause that ends a sentence: "no answer came within 10s"
	// a sentence that says more, if there is one; shown if the call may be repeated
	Said  string
	Retry bool // another attempt may help; it is only made if the call may be repeated
	After time.Duration
}

// Answered says that the other side answered, with a success or a failure. What is shown of it is
// the adapter's to say; doubts about its effect are added here.
type Answered struct {
	Outcome core.Outcome
	// a failure after which no note on the effect is due; any other may have had one
	Settled bool

	// Doubt is why the answer is not good enough if the call may be repeated: it is then an
	// [Unknown] for this reason, tried again after After. An at-most-once call has no better
	// answer, and keeps it.
	Doubt string
	After time.Duration
}

func (NotSent) attempt() {}

func (Refused) attempt() {}

func (Unknown) attempt() {}

func (Answered) attempt() {}
