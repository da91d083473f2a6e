package core

import (
	"encoding/json"
	"strings"
)

// Signal is what an outsider leaves in the inbox. Only the members of its kind are set. A value too
// large for the head is stored beside it under its digest first, and Ref names it.
type Signal struct {
	Kind SignalKind `json:"k"`
	Call string     `json:"c,omitempty"`  // of a decision
	ID   string     `json:"id,omitempty"` // decision id, or message key
	// of a start or a message: the id that its sender gave it
	Msg    string `json:"msg,omitempty"`
	Digest string `json:"dig,omitempty"` // of a decision's content
	// Value is a message's parts, or a decision's [Resume].
	Value json.RawMessage `json:"v,omitempty"`
	Ref   string          `json:"ref,omitempty"`
	By    string          `json:"by,omitempty"`  // the principal, as the entry point names it
	Via   string          `json:"via,omitempty"` // the entry point: api, link, queue
	At    int64           `json:"t"`
	On    OnPending       `json:"on,omitempty"` // of a message: what if the run waits
	// of a message: the tool's question that it answers, if nothing else does first
	Sus string `json:"sus,omitempty"`
	// of a decision by an approval link: the link's id
	Link string `json:"link,omitempty"`
	Mint string `json:"mint,omitempty"` // and who made the link
	Ver  string `json:"ver,omitempty"`  // how its recipient was verified
	// of a vote: the groups of the policy that its voter belongs to, with commas
	As string `json:"as,omitempty"`
	// of a decision that is held: the time from which on it is applied. Of one that was
	// withdrawn: when that was. See package hold
	Hold int64 `json:"hold,omitempty"`
}

// ViaLink: the decision came by an approval link. By then names the recipient the link was made
// for.
const ViaLink = "link"

// ViaAgent: a run of another agent caused it, see [Parent].
const ViaAgent = "agent"

// VerifiedByCode: who decided by an approval link has sent the one-time code that the recipient's
// mail address got.
const VerifiedByCode = "code"

// OnPending says what becomes of a message to a run that waits.
type OnPending string

const (
	PendingRefuse OnPending = "" // it is not taken
	// what is waited for is given up, and the run goes on with the message
	PendingAbandon OnPending = "abandon"
	PendingQueue   OnPending = "queue" // it starts a new run when this one is done
)

// SignalKind says what a signal asks for.
type SignalKind string

const (
	SignalStart    SignalKind = "start"
	SignalMessage  SignalKind = "message"
	SignalDecision SignalKind = "decision"
	// a held decision that was withdrawn
	SignalWithdrawn SignalKind = "undo"
	SignalVote      SignalKind = "vote" // a decision that is counted with others
	SignalCancel    SignalKind = "cancel"
	SignalPause     SignalKind = "interrupt"
	SignalLate      SignalKind = "late" // a decision after its deadline
	// a child has ended; Value is the [ChildResult]. It answers a suspension as a decision does
	SignalChild SignalKind = "child"
	// the run above lets this one go on after an interrupt; ID is the interrupt's
	SignalContinue SignalKind = "on"
	// an agent elsewhere says that there is news of its task, or others than before are to be
	// notified of the run; what is new is looked up
	SignalNews SignalKind = "news"
	// a client's result that does not fit its schema; Value is why
	SignalMisfit SignalKind = "bad"
	// a decision by a caller who may not decide; Value is the code of the refusal
	SignalRefused SignalKind = "ref"
)

// Inbox keys. A decision's key is the id of the suspension it answers.
const (
	KeyStart  = "m:start"
	KeyCancel = "cancel"
	KeyPause  = "int"
	KeyNews   = "news"
)

// LateKey is the inbox key of an answer that came after the deadline of its suspension.
func LateKey(suspension string) string { return "late:" + suspension }

// WithdrawnKey is the inbox key of a decision on the suspension that was withdrawn.
func WithdrawnKey(suspension string) string { return "undo:" + suspension }

// VoteKey is the inbox key of a vote, by who votes on which suspension.
func VoteKey(voter, suspension string) string { return "v:" + voter + ":" + suspension }

// VoteOf reads a [VoteKey]; both are empty if key is none.
func VoteOf(key string) (voter, suspension string) {
	rest, ok := strings.CutPrefix(key, "v:")
	voter, suspension, two := strings.Cut(rest, ":")
	if !ok || !two {
		return "", ""
	}
	return voter, suspension
}

// InterruptKey is the inbox key of an interrupt that comes from the run above, and ContinueKey that
// of its end.
func InterruptKey(interrupt string) string { return KeyPause + ":" + interrupt }

// ContinueKey is described at [InterruptKey].
func ContinueKey(interrupt string) string { return "on:" + interrupt }

// MisfitKey is the inbox key of a result that does not fit the schema of its suspension.
func MisfitKey(suspension string) string { return "bad:" + suspension }

// RefusedKey is the inbox key of a decision by a caller who may not decide about the suspension.
func RefusedKey(suspension string) string { return "ref:" + suspension }

// MessageKey is the inbox key of a message.
func MessageKey(id string) string { return "m:" + id }
