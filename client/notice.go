package client

import "encoding/json"

// The kinds of notices: what a subscriber is notified of.
const (
	NoticeSuspended    = "suspended"     // a call waits for an answer
	NoticeReminded     = "reminded"      // it still waits: people are reminded, or others asked
	NoticeDeadlineNear = "deadline_near" // a quarter of the time for an answer is left
	NoticeDecided      = "decided"       // the wait is over, with an answer or without
	NoticeDone         = "done"          // the run ended, for any reason
	NoticeFailed       = "failed"        // the run ended in an error, or was stopped or blocked
	NoticeTest         = "test"          // a test of the webhook, without a run
)

// How the body of a notice is written.
const (
	NoticeStandard = "standard" // a [Notice], signed as Standard Webhooks say
	NoticeSlack    = "slack"    // a message for an incoming webhook of Slack
	NoticeTeams    = "teams"    // an adaptive card for a workflow of Microsoft Teams
	NoticeTemplate = "template" // your own JSON
)

// NotifyTarget is where notices of a run go, and which. It has either a URL or Mail.
type NotifyTarget struct {
	// Its name, unique in the list: at most 32 characters of a-z, 0-9, - and _.
	Name string `json:"name"`
	// What is reported, such as [NoticeSuspended].
	On []string `json:"on"`
	// The public https address that gets a POST request for each notice.
	URL string `json:"url,omitempty"`
	// At most 10 mail addresses.
	Mail []string `json:"mail,omitempty"`
	// How the body is written. Default: [NoticeStandard].
	Format string `json:"format,omitempty"`
	// With [NoticeTemplate]: the JSON that is sent.
	Template json.RawMessage `json:"template,omitempty"`
	// The name of the server's secret that signs the request. It begins with CALLBACK_.
	// Required by [NoticeStandard].
	Secret string `json:"secret,omitempty"`
}

// Notice is what a webhook receives: something that happened in a run. A receiver may get a notice
// more than once, each time with the same ID.
type Notice struct {
	// The same at each attempt. It is also the header webhook-id.
	ID string `json:"id"`
	// What happened, such as [NoticeSuspended].
	Type string `json:"type"`
	// When it happened.
	Timestamp Time `json:"timestamp"`
	// The tenant of the run.
	Tenant string `json:"tenant"`
	// The event of the run's journal that the notice is about.
	Event Event `json:"event"`
	// The run as it is when the notice is sent, which may be later than the event. With "done"
	// and "failed": its output, usage and outcome.
	Run *Run `json:"run,omitempty"`
	// What an approver has to see, with "suspended". Nil if the call no longer waits.
	Approval *Approval `json:"approval,omitempty"`
	// Where a person can answer. Nil if the call can't be answered by a link, the endpoint was
	// named by the start of the run, or the server has no public URL.
	Links *NoticeLinks `json:"links,omitempty"`
	// Set if the run can't be read now, so that Run, Approval or both are missing.
	Error *RunError `json:"error,omitempty"`
	// The members that were left out because the notice would be longer than 256 KiB, such as
	// "approval.arguments"; the API has them. They are left out in this order, until the notice
	// fits: "run.pending", members of "event.data", "approval.preview", "approval.requests",
	// "approval.suspension.response_schema", "approval.asked_arguments", "approval.arguments",
	// "run.output". Members of less than 1 KiB stay.
	Truncated []string `json:"truncated,omitempty"`
}

// NoticeLinks are signed links for a person who may answer a call. To open one changes nothing: the
// page shows the call and asks for the answer.
type NoticeLinks struct {
	// The page with the call.
	Show string `json:"show"`
	// The same page, with the approval ready: one click gives it. Empty if who opens the link
	// may only deny, and for calls of the kinds [KindInput] and [KindClient], whose page has a
	// form for the answer.
	Approve string `json:"approve,omitempty"`
	// The same page, with the denial ready.
	Deny string `json:"deny"`
	// When the links expire.
	ExpiresAt Time `json:"expires_at"`
}
