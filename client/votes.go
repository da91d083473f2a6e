package client

// Votes is how far several people have come with a decision on a call, where the agent's policy
// asks more than one.
type Votes struct {
	// The name of the policy.
	Policy string `json:"policy,omitempty"`
	// The stage of the policy, from 1, and how many there are. Each stage asks another group.
	Stage  int `json:"stage"`
	Stages int `json:"stages"`
	// The group that is asked.
	Group string `json:"group,omitempty"`
	// How many different people must approve.
	Need int `json:"need"`
	// How many denials deny the call.
	Deny int `json:"deny"`
	// How many have approved, and how many have denied.
	Yes int `json:"yes"`
	No  int `json:"no"`
	// Who has voted, in the order of their votes.
	Voters []Voter `json:"voters,omitempty"`
}

// Voter is a person who has voted on a call.
type Voter struct {
	// The principal, such as "token:anna".
	By string `json:"by"`
	// The entry point.
	Via string `json:"via,omitempty"`
	// What the person said: "resume" or "cancel".
	Action string `json:"action"`
	// Whether the person approved other arguments. Everybody then votes on these.
	Edited bool `json:"edited,omitempty"`
	// The reason that the person gave.
	Reason string `json:"reason,omitempty"`
	// When the person voted.
	At Time `json:"at"`
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
	// How many different people must approve.
	Need int `json:"need"`
	// How many have approved, and how many have denied, with this vote.
	Yes int `json:"yes"`
	No  int `json:"no"`
	// What the vote came to: "counted" (others must vote too), "passed" (the next stage is
	// asked), "approved", "denied", "edited" (others vote on the new arguments) or "superseded"
	// (the question was closed before the vote was taken up).
	Outcome string `json:"outcome"`
}
