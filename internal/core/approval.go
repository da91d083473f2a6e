package core

import "strings"

// Asks is what a verdict asks, and whom it bars, in short: an approval lifts the ask that it
// answered, and no other that has come up since. One that bars no one is digested as it was before
// rules could.
func (v Verdict) Asks() string {
	text := v.Reason + "\x00" + v.Grant
	if v.NotBy != "" {
		text += "\x00" + v.NotBy
	}
	if v.Policy != nil {
		text += "\x00policy " + v.Policy.Digest()
	}
	return Digest([]byte(text))[:12]
}

// Approve notes that an approver let the call run, and which ask that satisfied.
func (a *Approval) Approve() {
	a.Approved = true
	if a.AskDigest != "" {
		a.WaivedAsk = a.AskDigest
	}
}

// Waives says whether an approval has satisfied what the verdict asks. An approver who edits waives
// every ask but one with a policy that did not let that approver decide alone.
func (a Approval) Waives(v Verdict) bool {
	if under, edited := strings.CutPrefix(a.WaivedAsk, anyAsk); edited {
		return v.Policy == nil || under == v.Policy.Digest()
	}
	return a.WaivedAsk != "" && a.WaivedAsk == v.Asks()
}
