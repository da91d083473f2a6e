package client

import (
	"context"
	"net/http"
)

// MostBulk is how many questions one [Bulk] answers at most.
const MostBulk = 20 // such a page can still be read

// Bulk answers several approvals of one kind in the same way: those with the same Alike of an
// [Approval]. See [Client.DecideBulk].
type Bulk struct {
	// The caller's key for this request, at most 100 bytes. The DecisionID of each decision
	// begins with it. If omitted, each is derived from the decision, as in [Decision].
	BulkID string `json:"bulk_id,omitempty"`
	// "resume" approves all calls, "cancel" denies them.
	Action string `json:"action"`
	// The reason, for the record of each. The model sees the reason of a denial.
	Reason string `json:"reason,omitempty"`
	// The program that showed the questions, such as "desk/2". Default: "api".
	ShownBy string `json:"shown_by,omitempty"`
	// For how many seconds each is held: 1 to 60. If omitted, they take effect at once.
	Hold int `json:"hold,omitempty"`
	// 1 to 20 questions, each once.
	Questions []BulkQuestion `json:"questions"`
}

// BulkQuestion is a question as the approver saw it.
type BulkQuestion struct {
	// The id of the suspension.
	Suspension string `json:"suspension"`
	// The Fingerprint of the question. If the question has changed, it gets no answer.
	Shown string `json:"shown"`
}

// BulkOf returns the answer to several approvals with the same Alike, as they were shown.
func BulkOf(action string, shown ...Approval) Bulk {
	b := Bulk{Action: action}
	for _, a := range shown {
		b.Questions = append(b.Questions, BulkQuestion{Suspension: a.Suspension.ID, Shown: a.Fingerprint})
	}
	return b
}

// DecideBulk answers several approvals, of any runs. Each decision is stored on its own and has its
// own answer, in the order of b: some may be refused while others take effect. If the questions
// aren't alike, or one must be answered by itself, the error is an [*Error] with the code
// "not_alike" or "answer_singly", and nothing is stored.
//
// Sending a bulk again has no further effect, as with [Client.Decide].
func (c *Client) DecideBulk(ctx context.Context, b Bulk) ([]DecisionAnswer, error) {
	var answers DecisionAnswers
	err := c.do(ctx, request{method: http.MethodPost, path: "/v1/decisions", body: b}, &answers)
	return answers.Answers, err
}
