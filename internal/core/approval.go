package core

// Asks is what a verdict asks, and whom it bars, in short: an approval lifts the ask that it
// answered, and no other that has come up since. One that bars no one is digested as it was before
// rules could.
func (v Verdict) Asks() string {
	text := v.Reason + "\x00" + v.Grant
	if v.NotBy != "" {
		text += "\x00" + v.NotBy
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

// Waives says whether an approval has satisfied what the verdict asks.
func (a Approval) Waives(v Verdict) bool {
	return a.WaivedAsk == anyAsk || a.WaivedAsk != "" && a.WaivedAsk == v.Asks()
}
