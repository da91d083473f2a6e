package client

import (
	"context"
	"net/http"
	"net/url"
)

// LinkRequest creates an approval link; see [Client.MakeLink].
type LinkRequest struct {
	// The id of the suspension. The id of the call is accepted too, if the call was suspended
	// only once. The call must be of the kind [KindApproval], [KindInput] or [KindClient].
	Target string `json:"target"`
	// The recipient, a name or an address of at most 120 visible characters. It is recorded
	// with the decision.
	For string `json:"for"`
	// Lifetime in seconds. Default and maximum: 604,800 (7 days).
	ExpiresIn float64 `json:"expires_in,omitempty"`
	// Lets the recipient edit the arguments of the call. Creating it needs the role "decide"
	// too, and the call must wait for an approval without a result.
	Edit bool `json:"edit,omitempty"`
	// [RequireToken]: the link is answered with an access token, and the decision is that of
	// the token's caller. [RequireSignIn]: a person signs in at the operator's identity
	// provider, and the decision is that of this person. [RequireCode]: the link is answered
	// with a one-time code, which is sent to For, a mail address. Empty: having the link is
	// enough.
	Require string `json:"require,omitempty"`
}

// What a link may ask for besides.
const (
	RequireToken  = "token"   // an access token of who decides
	RequireSignIn = "sign_in" // a person who signs in at the operator's identity provider
	RequireCode   = "code"    // a one-time code from the mail address of the recipient
)

// Link is an approval link: it lets one recipient answer one suspension without a token.
type Link struct {
	// Opaque, with the prefix "lnk_". It can't be used to answer the call.
	ID         string `json:"id"`
	RunID      string `json:"run_id"`     // the run of the call
	Suspension string `json:"suspension"` // the suspension that the link answers
	CallID     string `json:"call_id"`    // the suspended call
	Tool       string `json:"tool"`       // the tool of the call
	For        string `json:"for"`        // the recipient
	// Whether the recipient may edit the arguments of the call.
	Edit bool `json:"edit,omitempty"`
	// What the link asks for besides: [RequireToken], [RequireSignIn] or [RequireCode]. Empty:
	// nothing.
	Require string `json:"require,omitempty"`
	// Who created the link. Empty if the server runs without tokens.
	CreatedBy string `json:"created_by,omitempty"`
	CreatedAt Time   `json:"created_at"` // when the link was created
	// When the link expires: after ExpiresIn of the request, or at the deadline of the call if
	// that is earlier.
	ExpiresAt Time `json:"expires_at"`
	// When the link was revoked. Nil if it wasn't.
	RevokedAt *Time  `json:"revoked_at,omitempty"`
	RevokedBy string `json:"revoked_by,omitempty"` // who revoked the link
	// The link: a path of this server, or a full URL if the server has a public one
	// ("--public-url"). It answers the call without a token. Only the response that creates the
	// link contains it.
	Link string `json:"link,omitempty"`
}

// Outcome is how a suspension was settled; see [Client.Suspension].
type Outcome struct {
	RunID      string `json:"run_id"`      // the run of the call
	ThreadID   string `json:"thread_id"`   // the conversation of the run
	Agent      string `json:"agent"`       // the agent of the run
	CallID     string `json:"call_id"`     // the call that was suspended
	Tool       string `json:"tool"`        // the tool of the call
	Suspension string `json:"suspension"`  // the suspension
	ResumeMode string `json:"resume_mode"` // how the answer was to become a result
	Since      Time   `json:"since"`       // when the call was suspended
	// When the call was to be settled without an answer. Nil if it had no deadline.
	Deadline *Time `json:"deadline,omitempty"`
	// "answered"; "timed_out": the deadline passed without an answer; "withdrawn": the run
	// ended or continued without an answer.
	State string `json:"state"`
	// The decision. Nil if there was none, or if the deadline hasn't been applied yet.
	Decision *OutcomeDecision `json:"decision,omitempty"`
	// The decision is held until then.
	AppliesAt *Time `json:"applies_at,omitempty"`
	// What happened to the call afterwards: "succeeded", "failed", "cancelled" or "suspended".
	// Empty until that is known.
	Call string `json:"call,omitempty"`
}

// OutcomeDecision is the decision that settled a suspension.
type OutcomeDecision struct {
	DecisionID string `json:"decision_id"`      // for [Client.Withdraw]
	Action     string `json:"action"`           // the action of the decision
	Error      string `json:"error,omitempty"`  // the error that became the call's result
	Silent     bool   `json:"silent,omitempty"` // approved by the deadline, without an answer
	Reason     string `json:"reason,omitempty"` // the reason of the decision
	// Who decided: "token:" and the token's name, "link:" and the recipient, or "deadline".
	// Empty if callers have no names. Records of earlier versions have "message" if a message
	// answered.
	By      string `json:"by,omitempty"`
	Via     string `json:"via,omitempty"`     // the entry point, as in "decision.recorded"
	At      Time   `json:"at"`                // when the decision was made
	Applied *bool  `json:"applied,omitempty"` // it took effect; nil: not known yet
}

// MakeLink creates an approval link for one recipient. Only this answer has the Link itself. Each
// request creates another link, so the client doesn't retry one whose answer is lost.
func (c *Client) MakeLink(ctx context.Context, run string, req LinkRequest) (Link, error) {
	var l Link
	err := c.do(ctx, request{method: http.MethodPost, path: runPath(run, "/links"), body: req, once: true}, &l)
	return l, err
}

// Links lists the approval links of a run, oldest first.
func (c *Client) Links(ctx context.Context, run string) ([]Link, error) {
	page, err := get[Page[Link]](ctx, c, runPath(run, "/links"), nil)
	return page.Items, err
}

// RevokeLink revokes an approval link. A decision that was made with it remains.
func (c *Client) RevokeLink(ctx context.Context, run, link string) (Link, error) {
	var l Link
	err := c.do(ctx, request{method: http.MethodDelete, path: runPath(run, "/links/"+url.PathEscape(link))}, &l)
	return l, err
}
