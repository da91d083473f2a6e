package client

import "encoding/json"

// The kinds of notices.
const (
	NoticeSuspended    = "suspended"     // a call waits for an answer
	NoticeReminded     = "reminded"      // it still waits: people are reminded, or others asked
	NoticeDeadlineNear = "deadline_near" // a quarter of the time for an answer is left
	NoticeDecided      = "decided"       // the wait is over, with or without an answer
	NoticeDone         = "done"          // the run ended, for any reason
	NoticeFailed       = "failed"        // the run ended in an error, or was stopped or blocked
	NoticeTest         = "test"          // a test of the webhook, without a run
)

// The formats of a notice's body.
const (
	NoticeStandard = "standard" // a [Notice], signed according to Standard Webhooks
	NoticeSlack    = "slack"    // a message for an incoming webhook of Slack
	NoticeTeams    = "teams"    // an adaptive card for a workflow of Microsoft Teams
	NoticeTemplate = "template" // your own JSON
)

// NotifyTarget is a receiver of notices about a run. It has either a URL or Mail.
type NotifyTarget struct {
	// Its name, unique in the list: at most 32 characters of a-z, 0-9, - and _.
	Name string `json:"name"`
	// The kinds of notices that it receives, such as [NoticeSuspended].
	On []string `json:"on"`
	// The public https address that receives a POST request for each notice.
	URL  string   `json:"url,omitempty"`
	Mail []string `json:"mail,omitempty"` // at most 10 mail addresses
	// The format of the body. Default: [NoticeStandard].
	Format string `json:"format,omitempty"`
	// With [NoticeTemplate]: the JSON to send.
	Template json.RawMessage `json:"template,omitempty"`
	// The name of the server's secret that signs the request. It must begin with CALLBACK_.
	// Required by [NoticeStandard].
	Secret string `json:"secret,omitempty"`
}

// Notice tells a webhook that something happened in a run. A webhook may receive a notice more than
// once, each time with the same ID.
type Notice struct {
	// The same in each attempt. It is also in the header webhook-id.
	ID        string `json:"id"`
	Type      string `json:"type"`      // what happened, such as [NoticeSuspended]
	Timestamp Time   `json:"timestamp"` // when it happened
	Tenant    string `json:"tenant"`    // the tenant of the run
	// The event of the run's journal that the notice is about. [NoticeTest] has none.
	Event Event `json:"event,omitzero"`
	// The run as it is when the notice is sent, which may be later than the event. With "done"
	// and "failed": its output, usage and outcome.
	Run *Run `json:"run,omitempty"`
	// With "suspended": what an approver must see. Nil if the call no longer waits.
	Approval *Approval `json:"approval,omitempty"`
	// Where a person can answer. Nil if a link can't answer the call, if the start of the run
	// named the endpoint, or if the server has no public URL.
	Links *NoticeLinks `json:"links,omitempty"`
	// Set if the server can't read the run now. Then Run, Approval or both are missing.
	Error *RunError `json:"error,omitempty"`
	// The members that the server omitted, such as "approval.arguments", because the notice
	// would exceed 256 KiB. Read them from the API. The server omits them in this order until
	// the notice fits: "run.pending", members of "event.data", "approval.preview",
	// "approval.requests", "approval.suspension.response_schema", "approval.asked_arguments",
	// "approval.arguments", "run.output". It keeps members of less than 1 KiB.
	Truncated []string `json:"truncated,omitempty"`
}

// NoticeLinks are signed links with which a person can answer a call. Opening one changes nothing:
// its page shows the call and asks for the answer.
type NoticeLinks struct {
	Show string `json:"show"` // the page with the call
	// The same page, with the approval prepared: one click approves. Empty if the link may only
	// deny, and for calls of the kinds [KindInput] and [KindClient], whose page has a form.
	Approve   string `json:"approve,omitempty"`
	Deny      string `json:"deny"`       // the same page, with the denial prepared
	ExpiresAt Time   `json:"expires_at"` // when the links expire
}
