package core

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// DecisionRecord is the data of a decision.recorded event. Applied is false for an accepted
// decision that a cancel in the same commit overtook. TimedOut marks the record that a passed
// deadline writes, Silent one that approves because its policy says so, and Late an answer that
// arrived after it and has no effect.
type DecisionRecord struct {
	CallID     string `json:"call_id"`
	Suspension string `json:"suspension"`
	// of what a caller sent; a message and a deadline have none
	Digest   string `json:"digest,omitempty"`
	By       string `json:"by,omitempty"`
	Via      string `json:"via,omitempty"`
	Link     string `json:"link,omitempty"`      // with via link: the link's id
	MintedBy string `json:"minted_by,omitempty"` // and who made it
	Verified string `json:"verified,omitempty"`  // and how its recipient was verified
	Applied  bool   `json:"applied"`
	TimedOut bool   `json:"timed_out,omitempty"`
	Silent   bool   `json:"silent,omitempty"`
	Late     bool   `json:"late,omitempty"`

	// Digests of the arguments that the decision was about, and of those it put in their place;
	// both in hex, of the canonical form.
	ArgumentsDigest string `json:"arguments_digest,omitempty"`
	EditedDigest    string `json:"edited_arguments_digest,omitempty"`
	// of a vote
	Ballot *vote.Ballot `json:"vote,omitempty"`
	Resume

	Hold int64 `json:"-"` // when it is applied, if not at once
}

// Edits says whether the decision changed the arguments and put them to the vote.
func (d DecisionRecord) Edits() bool {
	return d.Ballot != nil && d.Ballot.Outcome == vote.OutcomeEdited
}

// Approves says whether the decision lets a call run that waits for an approval. What a deadline
// decides does not, unless its policy approves by silence.
func (d DecisionRecord) Approves() bool {
	return d.Action == ActionResume && d.Error == "" && (!d.TimedOut || d.Silent)
}

// LeavesOpen says whether the decision is a vote that did not close its question.
func (d DecisionRecord) LeavesOpen() bool {
	return d.Ballot != nil && (d.Ballot.Outcome == vote.OutcomeCounted || d.Ballot.Outcome == vote.OutcomeSuperseded)
}

// Signal is the decision on its way to the inbox, its [Resume] as the value. [Signal.Record] is the
// way back.
func (d DecisionRecord) Signal(kind SignalKind) Signal {
	return Signal{Kind: kind, Call: d.CallID, ID: d.DecisionID, Digest: d.Digest, Value: Encode(d.Resume), By: d.By, Via: d.Via, At: d.UpdatedAt,
		Link: d.Link, Mint: d.MintedBy, Ver: d.Verified, Hold: d.Hold}
}

// Record is the decision that a signal carries, before anything follows from it: r is what its
// value says.
func (s Signal) Record(suspension string, r Resume) DecisionRecord {
	return DecisionRecord{CallID: s.Call, Suspension: suspension, Digest: s.Digest, By: s.By, Via: s.Via, Link: s.Link, MintedBy: s.Mint, Verified: s.Ver, Resume: r}
}

// MarshalJSON keeps the members of the embedded decision beside its own.
func (d DecisionRecord) MarshalJSON() ([]byte, error) {
	type plain struct {
		CallID     string          `json:"call_id"`
		Suspension string          `json:"suspension"`
		Digest     string          `json:"digest,omitempty"`
		By         string          `json:"by,omitempty"`
		Via        string          `json:"via,omitempty"`
		Link       string          `json:"link,omitempty"`
		MintedBy   string          `json:"minted_by,omitempty"`
		Verified   string          `json:"verified,omitempty"`
		Applied    bool            `json:"applied"`
		TimedOut   bool            `json:"timed_out,omitempty"`
		Silent     bool            `json:"silent,omitempty"`
		Late       bool            `json:"late,omitempty"`
		Asked      string          `json:"arguments_digest,omitempty"`
		Edited     string          `json:"edited_arguments_digest,omitempty"`
		Ballot     *vote.Ballot    `json:"vote,omitempty"`
		DecisionID string          `json:"decision_id"`
		Action     ResumeAction    `json:"action"`
		Result     json.RawMessage `json:"result,omitempty"`
		Error      string          `json:"error,omitempty"`
		Reason     string          `json:"reason,omitempty"`
		Arguments  json.RawMessage `json:"arguments,omitempty"`
		Grant      Grant           `json:"grant,omitempty"`
		UpdatedAt  int64           `json:"updated_at"`
		Shown      string          `json:"shown,omitempty"`
		ShownBy    string          `json:"shown_by,omitempty"`
	}
	return EncodeAny(plain{d.CallID, d.Suspension, d.Digest, d.By, d.Via, d.Link, d.MintedBy, d.Verified, d.Applied, d.TimedOut, d.Silent, d.Late, d.ArgumentsDigest, d.EditedDigest, d.Ballot,
		d.DecisionID, d.Action, d.Result, d.Error, d.Reason, d.Arguments, d.Grant, d.UpdatedAt, d.Shown, d.ShownBy})
}
