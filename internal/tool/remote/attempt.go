package remote

import (
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Attempt is the result of sending a call once: a [NotSent], [Refused], [Unknown] or [Answered].
// Any other value, including nil and pointers, counts as an Unknown that is not retried.
type Attempt interface{ attempt() }

// NotSent says that nothing ran, for certain, because the other side never received the call. Even
// an at-most-once call may be retried. Without Why it counts as an [Unknown].
type NotSent struct {
	Why   string // continues [Words.Subject]: "could not be reached: it refused the connection"
	Retry bool   // another attempt may help
	After time.Duration
}

// Refused says that the other side claims to have done nothing. Without Why and Said it counts as
// an [Unknown].
type Refused struct {
	// Why continues [Words.Subject] for a call that did not run: "answered 401 Unauthorized"
	Why   string
	Said  string // a sentence, shown if Why is empty or an earlier attempt is in doubt
	Retry bool   // another attempt may help
	// Certain says that the claim is as reliable as a NotSent, so that an at-most-once call may
	// be retried, too.
	Certain bool
	After   time.Duration
}

// Unknown says that the call may have run and no answer says whether it did.
type Unknown struct {
	Why string // a clause that ends a sentence: "no answer came within 10s"
	// Said is a sentence with details, if there is one; it is shown if the call may be repeated
	Said  string
	Retry bool // another attempt may help; it is made only if the call may be repeated
	After time.Duration
}

// Answered says that the other side answered, with a success or a failure. The adapter decides what
// is shown of it; this package adds doubts about the effect.
type Answered struct {
	Outcome core.Outcome
	// Settled marks a failure that had no effect; any other failure gets a note that it may
	// have had one
	Settled bool

	// Doubt is why the answer is not good enough if the call may be repeated: it then counts as
	// an [Unknown] with this reason and is retried after After. An at-most-once call cannot get
	// a better answer, and keeps it.
	Doubt string
	After time.Duration
}

func (NotSent) attempt() {}

func (Refused) attempt() {}

func (Unknown) attempt() {}

func (Answered) attempt() {}
