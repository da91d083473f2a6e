package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"

	"github.com/dormouse-dev/dormouse/client/internal/paging"
)

// The kinds of suspended calls: who must answer.
const (
	KindApproval = "approval" // an approver
	KindClient   = "client"   // the program that runs the tool
	KindInput    = "input"    // the person or program that the tool asks
	// a person who finds out whether the call took effect
	KindUnknownOutcome = "unknown_outcome"
	KindInterrupt      = "interrupt" // a person who resumes the interrupted run
	// another run, whose end is the answer: it is in events only, and takes no decision
	KindChild = "child"
)

// Pending is a suspended call: it waits for an answer. An interrupted run waits as a call of the
// kind "interrupt", without a tool.
type Pending struct {
	// The id of the call.
	CallID string `json:"call_id"`
	// The tool, under the member name that call events use.
	ToolName string `json:"tool_name"`
	// The tool. Empty if the run itself was interrupted.
	Tool string `json:"tool"`
	// The arguments the call would run with.
	Arguments json.RawMessage `json:"arguments"`
	// The model's original arguments. Empty unless an approver edited them.
	Asked json.RawMessage `json:"asked_arguments,omitempty"`
	// Who must answer: an approver ("approval"); the client that runs the tool ("client"); the
	// person or program the tool asks ("input"); a person who finds out whether the call took
	// effect ("unknown_outcome"); a person who resumes the interrupted run ("interrupt"). In
	// events also "child": another run works for the call, so no one answers it.
	Kind string `json:"kind"`
	// The suspension to answer.
	Suspension Suspension `json:"suspension"`
	// How the answer becomes a result.
	ResumeMode string `json:"resume_mode"`
	// When the call was suspended.
	Since Time `json:"since"`
	// When the call is settled without an answer. Nil if it has no deadline.
	Deadline *Time `json:"deadline,omitempty"`
	// Whether an approval may carry the grant [GrantRun].
	Grantable bool `json:"grantable,omitempty"`
	// What such a grant allows beyond this call, in a sentence for the approver.
	GrantScope string `json:"grant_scope,omitempty"`
	// "starter": callers who requested the thread's work may deny the call but not approve it.
	NotBy string `json:"not_by,omitempty"`
	// If set, only these callers may approve the call.
	Approvers []string `json:"approvers,omitempty"`
	// If several people decide about the call: how far they have come.
	Votes *Votes `json:"votes,omitempty"`
	// The suspension that this one follows: the stage before, or the question about the
	// arguments before an edit.
	Follows string `json:"follows,omitempty"`
	// What an approver may overlook in the arguments, such as invisible characters. At most 20.
	// Empty if there is nothing.
	Warnings []Warning `json:"warnings,omitempty"`
	// The user messages of the thread that the model had read when it requested this call,
	// newest last. At most 8, including those of earlier runs.
	Requests []Request `json:"requests,omitempty"`
	// Whether earlier messages were left out.
	RequestsCut bool `json:"requests_cut,omitempty"`
	// What the model said in the turn that requested the call, at most 2 KiB. It is the model's
	// account, not a fact.
	Said string `json:"said,omitempty"`
	// Whether Said was truncated.
	SaidCut bool `json:"said_cut,omitempty"`
	// What the tool does and where calls go, in the run's agent version. Nil if unreadable.
	ToolDetails *ToolDetails `json:"tool_details,omitempty"`
	// What the call would do, if the agent defines a preview. It is made once, before the
	// question is asked; every reader sees the same.
	Preview *Preview `json:"preview,omitempty"`
	// Identifies exactly this question: tenant, run, suspension, agent version, tool, arguments
	// that would run, and preview. Send it back as the Shown of the decision.
	Fingerprint string `json:"fingerprint,omitempty"`
	// The runs from the shown one, which is left out, down to the one that waits. Empty if the
	// shown one waits itself. In the inbox, which shows no run, it begins with the root.
	Path []PathStep `json:"path,omitempty"`
}

// TitlePart is a piece of a title: words of the tool's author or, if Argument is set, the value of
// that argument.
type TitlePart struct {
	// Text on one line, without characters that don't show or that reorder others. A number has
	// its digits as in the JSON.
	Text string `json:"text"`
	// The name of the argument. Empty for words of the author.
	Argument string `json:"argument,omitempty"`
}

// Preview shows the approver what the call would do.
type Preview struct {
	// Text with the arguments filled in, or the result of a read-only tool. At most 4 KiB.
	Text string `json:"text,omitempty"`
	// Why there is no text.
	Failed string `json:"failed,omitempty"`
	// The tool that produced the text. Empty if the agent's author wrote it.
	Tool string `json:"tool,omitempty"`
}

// Request is a user message that preceded the call, as the approver sees it.
type Request struct {
	// The user's text: at most 2 KiB of the newest message and 512 bytes of each earlier one.
	Text string `json:"text"`
	// Whether Text was truncated.
	Cut bool `json:"cut,omitempty"`
	// How many images and documents the message has. They aren't included.
	Files int `json:"files,omitempty"`
	// The sender. Empty if callers have no names.
	By string `json:"by,omitempty"`
	// The entry point: "api" or "queue".
	Via string `json:"via,omitempty"`
}

// ToolDetails say what a tool does and where its calls go. They contain no secrets.
type ToolDetails struct {
	// The question that the tool's author wrote, with the call's values: the texts together.
	// Set each value off from the words. It is empty if the tool has no title, if the answer
	// is more than yes or no, and if a value is missing, long or may mislead.
	Title []TitlePart `json:"title,omitempty"`
	// What the tool does, by the agent's author; or that the client supplied it.
	Description string `json:"description,omitempty"`
	// What it is: "http", "lambda", "mcp", "go", "agent", "a2a", "client" or "recorded".
	Kind string `json:"kind,omitempty"`
	// Where calls go: method and host, function, server and tool, agent, or the host of an
	// agent that runs elsewhere. It contains no path, query, header or user name.
	Target string `json:"target,omitempty"`
	// The JSON Schema of the arguments. Empty if there is none, or if it is larger than 16 KiB.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// Warning names something in the arguments that an approver may overlook.
type Warning struct {
	// A JSON Pointer to the value, or to the member whose name causes the warning. A long
	// pointer is shortened to an enclosing value.
	Path string `json:"path"`
	// The kind of warning: "hidden", "blanks", "marks", "not_text", "order", "mixed_scripts",
	// "looks_like", "styled", "digits", "punctuation", "power_of_ten", "many_digits",
	// "check_digits", "address", "same_name", "similar_name", "not_taken_apart"; more may be
	// added.
	Code string `json:"code"`
	// An explanation in ASCII.
	Text string `json:"text"`
}

// Suspension is one wait of a call. A decision names its ID as the target.
type Suspension struct {
	// Opaque, with the prefix "sus_".
	ID string `json:"id"`
	// What is requested.
	Action string `json:"action"`
	// Why, for people.
	Message string `json:"message,omitempty"`
	// The JSON Schema of the result.
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
	Withdrawn      []string        `json:"withdrawn,omitempty"` // ids of decisions
}

// Approval is an entry of the inbox: a suspended call, of any kind, and its run.
type Approval struct {
	// The suspended run.
	RunID string `json:"run_id"`
	// The conversation of the run.
	ThreadID string `json:"thread_id"`
	// The agent of the run.
	Agent string `json:"agent"`
	// The agent version the run is pinned to.
	AgentVersion string `json:"agent_version,omitempty"`
	// The metadata of the run.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Who started the run.
	StartedBy *Actor `json:"started_by,omitempty"`
	// Set if the call can't be read ("unreadable"): its other members are then unknown.
	Error *RunError `json:"error,omitempty"`
	// How the rules ask the reader to answer: "named", "group", "anyone" or, if not, empty.
	AskedAs string `json:"asked_as,omitempty"`
	// Questions with the same value can be answered together, with [Client.DecideBulk]. Empty
	// if the question must be answered by itself.
	Alike string `json:"alike,omitempty"`
	Pending
}

// OrderDeadline, as the Order of an [ApprovalFilter], puts the most urgent first.
const OrderDeadline = "deadline" // as opposed to "since"

// InboxPage is one page of the inbox.
type InboxPage struct {
	// The entries.
	Items []Approval `json:"items"`
	// The cursor of the next page. Empty on the last page.
	Next string `json:"next,omitempty"`
	// How many questions wait. Nil unless it was asked for.
	Count *InboxCount `json:"count,omitempty"`
}

// InboxCount says how many questions are put to people: calls of every kind but [KindClient].
type InboxCount struct {
	// The number: of the tenant or, with filters, of the page.
	Questions int `json:"questions"`
	// There may be more: counting stopped at a bound, or at the end of the page.
	AtLeast bool `json:"at_least,omitempty"`
}

// ApprovalFilter selects suspended calls. Empty fields select all.
type ApprovalFilter struct {
	Agent    string // the agent of the run
	Kind     string // such as [KindApproval]
	Tool     string // the tool of the call
	ThreadID string // the conversation of the run
	// In what a call is called by: its title, tool, agent or conversation. At most 200 bytes.
	Text string
	// How the rules ask the caller: "named", "group", "anyone" or, for all of these, "any".
	Mine string

	// [OrderDeadline] returns those with the least time left first. By default, the longest
	// waiting come first.
	Order  string
	Limit  int    // entries on a page: by default 50, at most 200
	Cursor string // the Next of an earlier page
}

func (f ApprovalFilter) query() url.Values {
	q := pageQuery(f.Limit, f.Cursor)
	add(q, "agent", f.Agent)
	add(q, "kind", f.Kind)
	add(q, "tool", f.Tool)
	add(q, "thread_id", f.ThreadID)
	add(q, "q", f.Text)
	add(q, "mine", f.Mine)
	add(q, "order", f.Order)
	return q
}

// Approvals returns the suspended calls of all runs. It reads page after page. An error is the last
// value.
func (c *Client) Approvals(ctx context.Context, f ApprovalFilter) iter.Seq2[Approval, error] {
	return paging.All(f.Cursor, func(cursor string) ([]Approval, string, error) {
		f.Cursor = cursor
		page, err := c.ApprovalPage(ctx, f)
		return page.Items, page.Next, err
	})
}

// ApprovalPage reads one page of the suspended calls of all runs.
func (c *Client) ApprovalPage(ctx context.Context, f ApprovalFilter) (Page[Approval], error) {
	return get[Page[Approval]](ctx, c, "/v1/approvals", f.query())
}

// Inbox is [Client.ApprovalPage] with the number of questions.
func (c *Client) Inbox(ctx context.Context, f ApprovalFilter) (InboxPage, error) {
	q := f.query()
	q.Set("count", "true")
	return get[InboxPage](ctx, c, "/v1/approvals", q)
}
