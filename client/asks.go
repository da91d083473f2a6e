package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/client/internal/backoff"
)

// The statuses of an ask.
const (
	AskWaiting   = "waiting"   // it has no answer yet
	AskApproved  = "approved"  // an approver said yes
	AskDenied    = "denied"    // an approver, or a rule of the operator, said no
	AskTimedOut  = "timed_out" // the deadline passed without an answer, which counts as no
	AskCancelled = "cancelled" // it was cancelled, or ended without an answer
)

// AskRequest asks people to approve something; see [Client.Ask].
type AskRequest struct {
	Title string `json:"title"` // the question, at most 500 characters
	// What the question is about: an object that approvers see, and may edit.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// The only callers who may approve, as in agent files: "token:anna", "token:ops-*" or
	// "role:admin". Nil: every caller with the role decide. An empty list is refused.
	Approvers []string `json:"approvers,omitzero"`
	// The group that decides, or the policy, by the name that it has in the policy file of the
	// server. At most one of Approvers, Group and Policy can be set.
	Group  string `json:"group,omitempty"`
	Policy string `json:"policy,omitempty"`
	// "starter": the caller who asks may not approve.
	NotBy string `json:"not_by,omitempty"`
	// How long to wait for an answer, such as "30m", "24h" or "7d", at most 365 days. After
	// that the answer is no. Empty: no limit.
	Deadline string `json:"deadline,omitempty"`
	// Stored and returned with the ask. At most 2,048 bytes as compact JSON.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Who is notified of the answer.
	Callback *AskCallback `json:"callback,omitempty"`
}

// AskCallback is the address that gets signed notices of an ask, each a [Notice].
type AskCallback struct {
	// The public https address that gets a POST request for each notice.
	URL string `json:"url"`
	// The name of the server's secret that signs the request. It begins with CALLBACK_.
	Secret string `json:"secret"`
	// What is reported. Default: [NoticeDecided] and [NoticeDone].
	On []string `json:"on,omitempty"`
}

// Ask is an approval that a program asked for. It is a run of the built-in agent "dormouse-ask",
// with the same id.
type Ask struct {
	ID     string `json:"id"`     // opaque, with the prefix "run_"
	Status string `json:"status"` // the current status, such as [AskWaiting]
	Title  string `json:"title"`  // the question
	// The arguments. Once approved: those that the approver saw, or made of them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// The original arguments, if the approver edited them.
	Asked json.RawMessage `json:"asked_arguments,omitempty"`
	// The suspension to decide. Empty until the ask is in the inbox, for less than a second.
	Suspension string `json:"suspension,omitempty"`
	// When the ask times out. Nil without a deadline.
	Deadline *Time `json:"deadline,omitempty"`
	// Who decided, such as "token:anna". Empty if callers have no names.
	DecidedBy string `json:"decided_by,omitempty"`
	// The entry point of the decision, such as "api" or "link".
	Via       string `json:"via,omitempty"`
	DecidedAt *Time  `json:"decided_at,omitempty"` // when it was decided
	// The approver's reason, or why there is no approval.
	Reason    string `json:"reason,omitempty"`
	StartedBy *Actor `json:"started_by,omitempty"` // who asked
	// The metadata of the request.
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	CreatedAt Time            `json:"created_at"` // when it was asked
}

// Ask asks people to approve something, and returns at once. Requests with the same key and the
// same content ask once. With an empty key, the client makes one for this call.
func (c *Client) Ask(ctx context.Context, req AskRequest, key string) (Ask, error) {
	var ask Ask
	header, err := c.keyed(key)
	if err != nil {
		return ask, err
	}
	err = c.do(ctx, request{method: http.MethodPost, path: "/v1/asks", body: req, header: header}, &ask)
	return ask, err
}

// PollAsk reads an ask. The server holds the answer until the ask is decided, for as long as wait
// but at most 20 seconds. Use [Client.WaitAsk] to wait longer.
func (c *Client) PollAsk(ctx context.Context, id string, wait time.Duration) (Ask, error) {
	var ask Ask
	header := map[string]string{}
	if n := wholeSeconds(wait); n > 0 {
		header["Prefer"] = "wait=" + strconv.Itoa(n)
	}
	err := c.do(ctx, request{method: http.MethodGet, path: askPath(id, ""), header: header}, &ask)
	return ask, err
}

// WaitAsk returns the ask once its Status is not [AskWaiting] any more. It waits until ctx ends.
func (c *Client) WaitAsk(ctx context.Context, id string) (Ask, error) {
	for pause := backoff.First; ; pause = min(2*pause, time.Second) {
		ask, err := c.PollAsk(ctx, id, longPoll)
		if err != nil || ask.Status != AskWaiting {
			return ask, err
		}
		if err := c.sleep(ctx, pause); err != nil {
			return ask, err
		}
	}
}

// CancelAsk withdraws an ask. One that was decided is an [*Error] with the code "run_done".
// Cancelling it again has no further effect.
func (c *Client) CancelAsk(ctx context.Context, id string) (Ask, error) {
	var ask Ask
	err := c.do(ctx, request{method: http.MethodPost, path: askPath(id, "/cancel")}, &ask)
	return ask, err
}

func askPath(id, rest string) string { return "/v1/asks/" + url.PathEscape(id) + rest }
