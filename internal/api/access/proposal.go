package access

import "time"

// Proposal is a decision that a model has proposed, in the text that its client hands back with
// what the user made of it. It decides nothing, and grants nothing: it says which question the user
// was shown, and with which answer.
type Proposal struct {
	Tenant     string
	By         string // see [Principal.By]
	Suspension string
	Shown      string    // the fingerprint of the question
	Digest     string    // of the answer
	Expires    time.Time // to the second
}

// proposalForm is not [stateForm]: the state of a run confirms no decision.
const proposalForm = "proposal-1"

// SignProposal is the proposal's text. The first key signs it.
func (k LinkKeys) SignProposal(p Proposal) string {
	return k.sign(proposalForm, p.Expires, p.Tenant, p.By, p.Suspension, p.Shown, p.Digest)
}

// OpenProposal reads what [LinkKeys.SignProposal] wrote, by any of the keys. Its errors are those
// of [LinkKeys.Open].
func (k LinkKeys) OpenProposal(signed string, now time.Time) (Proposal, error) {
	f, expires, err := k.open(proposalForm, signed, 5, now)
	if err != nil {
		return Proposal{}, err
	}
	return Proposal{Tenant: f[0], By: f[1], Suspension: f[2], Shown: f[3], Digest: f[4], Expires: expires}, nil
}
