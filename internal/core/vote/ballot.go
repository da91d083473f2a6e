package vote

// Ballot is what the journal keeps of a decision that is one vote among several.
type Ballot struct {
	Key     string  `json:"key"`             // of the person, see [Key]
	Group   string  `json:"group,omitempty"` // whose vote it is
	Stage   int     `json:"stage"`           // from 1
	Stages  int     `json:"stages"`
	Need    int     `json:"need"` // people who must approve
	Yes     int     `json:"yes"`  // who have, with this vote
	No      int     `json:"no"`
	Outcome Outcome `json:"outcome"`
}

// Outcome is what a vote came to.
type Outcome string

const (
	OutcomeCounted  Outcome = "counted"  // the question is still open
	OutcomePassed   Outcome = "passed"   // the next stage is asked
	OutcomeApproved Outcome = "approved" // the call may run
	OutcomeDenied   Outcome = "denied"   // the call does not run
	OutcomeEdited   Outcome = "edited"   // others vote on the new arguments
	// the question was closed before the vote was taken up: by an edit, the deadline, a message
	// or the end of the run
	OutcomeSuperseded Outcome = "superseded"
)
