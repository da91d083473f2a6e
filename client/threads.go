package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"

	"github.com/dormouse-dev/dormouse/client/internal/paging"
)

// Message is one message of a conversation.
type Message struct {
	// Unique in the thread. For a user message: the sender's MessageID, if it had one.
	ID string `json:"id"`
	// The Seq of the event that records the message.
	Seq int64 `json:"seq"`
	// The Step of that event.
	Step int `json:"step,omitempty"`
	// The run of the message.
	RunID string `json:"run_id"`
	// The author of the message: "user", "assistant" or "tool".
	Role string `json:"role"`
	// The text. For a tool message, the result.
	Text string `json:"text"`
	// All content parts, in order. Empty if the message is only text.
	Parts []Part `json:"parts,omitempty"`
	// Assistant messages: a cancel interrupted the model.
	Cut bool `json:"cut,omitempty"`
	// The calls that the model requested.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// Tool messages: the call with this result.
	CallID string `json:"call_id,omitempty"`
	// Tool messages: the tool.
	Tool string `json:"tool,omitempty"`
	// Tool messages: whether the call failed.
	Error bool `json:"error,omitempty"`
	// Tool messages: how the call ended.
	Outcome string `json:"outcome,omitempty"`
	// Tool messages: the result as JSON. Empty if the result is plain text or was truncated.
	Value json.RawMessage `json:"value,omitempty"`
	// Tool messages: the edited arguments the call ran with. The model sees them.
	RanWith json.RawMessage `json:"ran_with,omitempty"`
	// Tool messages: what hooks appended to the result for the model.
	Added string `json:"added,omitempty"`
	// Tool messages: a placeholder for a suspended call. The result follows later.
	Pending bool `json:"pending,omitempty"`
	// User messages: the sender.
	By string `json:"by,omitempty"`
	// User messages: the entry point.
	Via string `json:"via,omitempty"`
	// User messages: the call whose result the text became.
	Answers string `json:"answers,omitempty"`
	// When the message was committed.
	At Time `json:"at"`
}

// Part is one content part of an input or a message.
type Part struct {
	// "text", "image", "document" or, in messages, "reasoning": what the model thought. Its
	// Text is empty if the provider encrypts it.
	Type string `json:"type"`
	// For text and reasoning.
	Text string `json:"text,omitempty"`
	// For images and documents.
	MediaType string `json:"media_type,omitempty"`
	// For documents.
	Name string `json:"name,omitempty"`
	// In messages: the size of the image or document in bytes.
	Bytes int `json:"bytes,omitempty"`
	// The image or document. In messages it is set only if [MessageOptions] ask for it.
	Data []byte `json:"data,omitempty"`
}

// ToolCall is a tool call that the model requested in a message.
type ToolCall struct {
	// The id of the call.
	ID string `json:"id"`
	// The tool.
	Name string `json:"name"`
	// The model's arguments. Arguments that aren't valid JSON are a string.
	Arguments json.RawMessage `json:"arguments"`
}

// Call is one tool call of a run, from the model's request to its end.
type Call struct {
	// The call, unique in its thread.
	CallID string `json:"call_id"`
	// The tool. Empty if the run itself waits.
	ToolName string `json:"tool_name"`
	// The model's arguments.
	Arguments json.RawMessage `json:"arguments"`
	// The edited arguments the call ran with, or will run with. Empty unless an approver edited
	// them.
	RanWith json.RawMessage `json:"ran_with,omitempty"`
	// The assistant message that requested the call.
	MessageID string `json:"message_id,omitempty"`
	// The step that requested the call.
	Step int `json:"step,omitempty"`
	// The current status.
	Status string `json:"status"`
	// Who must answer, or who was last asked.
	Kind string `json:"kind,omitempty"`
	// The current or last suspension: the Target of a decision.
	ResumeToken string `json:"resume_token,omitempty"`
	// How the answer becomes a result.
	ResumeMode string `json:"resume_mode,omitempty"`
	// When the wait ends without an answer.
	Deadline *Time `json:"deadline,omitempty"`
	// The decision that was applied to that suspension. Nil if there is none.
	Resume *DecisionRecordedData `json:"resume,omitempty"`
	// State that the tool keeps between executions of the call. Removed when the call ends.
	Scratch json.RawMessage `json:"scratch,omitempty"`
	// How the call ended.
	Outcome string `json:"outcome,omitempty"`
	// The result as text.
	Result *string `json:"result,omitempty"`
	// The result as JSON. Empty if it is plain text or was truncated.
	Value json.RawMessage `json:"value,omitempty"`
	// The call was cancelled and may have taken effect.
	MayHaveRun bool `json:"may_have_run,omitempty"`
	// How many executions of the call have started, as far as that is committed.
	Attempts int `json:"attempts"`
	// When the model turn that requested the call was committed.
	ReadyAt Time `json:"ready_at"`
	// When the last execution started.
	StartedAt *Time `json:"started_at,omitempty"`
	// When the call ended.
	EndedAt *Time `json:"ended_at,omitempty"`
	// When the call last changed.
	UpdatedAt Time `json:"updated_at"`
}

// Thread is a conversation.
type Thread struct {
	// Opaque, with the prefix "thr_".
	ID string `json:"id"`
	// The key with which [Client.FindThread] found it.
	Key string `json:"key,omitempty"`
	// The agent of the newest run.
	Agent string `json:"agent"`
	// The newest run.
	RunID string `json:"run_id"`
	// The status of the newest run.
	Status string `json:"status"`
	// The position in the thread's events after everything that was committed at the time of
	// the request.
	Cursor string `json:"cursor"`
}

// Text returns an input that is only text.
func Text(text string) json.RawMessage {
	raw, _ := encode(text) // a string always has a JSON form
	return raw
}

// Parts returns an input of several content parts: text, images and documents. The body of a
// request may have 1 MiB, which leaves about 740 KB for their bytes.
func Parts(parts ...Part) json.RawMessage {
	raw, _ := encode(parts) // strings, numbers and bytes always have a JSON form
	return raw
}

// Thread reads a conversation.
func (c *Client) Thread(ctx context.Context, id string) (Thread, error) {
	return get[Thread](ctx, c, threadPath(id, ""), nil)
}

// FindThread reads the conversation that was started with this ThreadKey.
func (c *Client) FindThread(ctx context.Context, key string) (Thread, error) {
	return get[Thread](ctx, c, "/v1/threads", url.Values{"key": {key}})
}

// ThreadRuns returns the runs of a thread, newest first, page by page. An error is the last value.
func (c *Client) ThreadRuns(ctx context.Context, thread string, f RunFilter) iter.Seq2[Run, error] {
	return c.runs(ctx, threadPath(thread, "/runs"), f)
}

// ThreadRunPage reads one page of the runs of a thread, newest first.
func (c *Client) ThreadRunPage(ctx context.Context, thread string, f RunFilter) (Page[Run], error) {
	return get[Page[Run]](ctx, c, threadPath(thread, "/runs"), f.query())
}

// MessageOptions says how to read messages.
type MessageOptions struct {
	Data   bool // with the bytes of images and documents
	Newest bool // the newest message first

	Limit  int    // messages on a page: by default 200, at most 1000
	Cursor string // the Next of an earlier page
}

// Messages returns the messages of a thread, oldest first by default. It reads page after page. An
// error is the last value.
func (c *Client) Messages(ctx context.Context, thread string, o MessageOptions) iter.Seq2[Message, error] {
	return paging.All(o.Cursor, func(cursor string) ([]Message, string, error) {
		o.Cursor = cursor
		page, err := c.MessagePage(ctx, thread, o)
		return page.Items, page.Next, err
	})
}

// MessagePage reads one page of the messages of a thread, oldest first by default.
func (c *Client) MessagePage(ctx context.Context, thread string, o MessageOptions) (Page[Message], error) {
	q := pageQuery(o.Limit, o.Cursor)
	if o.Data {
		q.Set("data", "true")
	}
	if o.Newest {
		q.Set("order", "desc")
	}
	return get[Page[Message]](ctx, c, threadPath(thread, "/messages"), q)
}

// SendMessage adds a user message to a thread and returns the run that receives it. Requests with
// the same key and the same content send one message. With an empty key, the client makes one for
// this call.
func (c *Client) SendMessage(ctx context.Context, thread string, req MessageRequest, key string) (Run, error) {
	path := threadPath(thread, "/messages")
	if req.MessageID == "" {
		return c.withKey(ctx, path, req, key)
	}
	return c.post(ctx, path, req, map[string]string{keyHeader: key})
}
