package client

// Votes is how far several people have come with a decision on a call, where the agent's policy
// asks more than one.
type Votes struct {
	Policy string `json:"policy,omitempty"` // the name of the policy
	// The stage of the policy, from 1, and how many there are. Each stage asks another group.
	Stage  int    `json:"stage"`
	Stages int    `json:"stages"`
	Group  string `json:"group,omitempty"` // the group that is asked
	Need   int    `json:"need"`            // how many different people must approve
	Deny   int    `json:"deny"`            // how many denials deny the call
	Yes    int    `json:"yes"`             // how many have approved, and how many have denied
	No     int    `json:"no"`
	// Who has voted, in the order of their votes.
	Voters []Voter `json:"voters,omitempty"`
}

// Voter is a person who has voted on a call.
type Voter struct {
	By     string `json:"by"`            // the principal, such as "token:anna"
	Via    string `json:"via,omitempty"` // the entry point
	Action string `json:"action"`        // what the person said: "resume" or "cancel"
	// Whether the person approved other arguments. Everybody then votes on these.
	Edited bool   `json:"edited,omitempty"`
	Reason string `json:"reason,omitempty"` // the reason that the person gave
	At     Time   `json:"at"`               // when the person voted
}

// Ballot says what a decision was one vote of.
type Ballot struct {
	// Identifies the person among the voters of the suspension.
	Key string `json:"key"`
	// The groups of the policy that the person belongs to, with commas between them.
	Group string `json:"group,omitempty"`
	// The stage of the policy, from 1, and how many there are. 0 if it was closed before.
	Stage  int `json:"stage"`
	Stages int `json:"stages"`
	Need   int `json:"need"` // how many different people must approve
	// How many have approved, and how many have denied, with this vote.
	Yes int `json:"yes"`
	No  int `json:"no"`
	// What the vote came to: "counted" (others must vote too), "passed" (the next stage is
	// asked), "approved", "denied", "edited" (others vote on the new arguments) or "superseded"
	// (the question was closed before the vote was taken up).
	Outcome string `json:"outcome"`
}
