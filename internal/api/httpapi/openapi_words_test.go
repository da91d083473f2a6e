package httpapi

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	coreevents "github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/runinput"
)

// member is what the document says of one member of a type: a sentence, and a schema where the Go
// type does not say enough.
type member struct {
	about string
	is    *jsonschema.Schema
}

type schema = jsonschema.Schema

var (
	timeSchema = &schema{Type: "string", Format: "date-time", Pattern: `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`,
		Description: "RFC 3339 in UTC, with milliseconds."}
	runID       = &schema{Type: "string", Pattern: `^run_.+_[0-9a-z]+$`}
	threadID    = &schema{Type: "string", Pattern: `^thr_.+$`}
	fingerprint = &schema{Type: "string", Pattern: `^v[0-9]+:[0-9a-f]{64}$`}
	susID       = &schema{Type: "string", Pattern: `^sus_[0-9a-z]+_.+$`}
	anyValue    = &schema{}
	anObject    = &schema{Type: "object"}
	noticeKinds = enumOf(texts(notice.Kinds)...)
	// empty: the default
	noticeFormats = enumOf(append(texts(notice.Formats), "")...)
	aSchema       = &schema{Types: []string{"object", "boolean"}}
	name255       = &schema{Type: "string", MaxLength: jsonschema.Ptr(255)}
	millis        = &schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)}
	statuses      = words[core.RunStatus]()
	messageIDs    = &schema{Type: "string", MaxLength: jsonschema.Ptr(128)}
	onPending     = enumOf("refuse", "abandon", "queue", "")
	reasons       = enumOf("natural_end", "behavior_requested", "stopped", "cancelled", "blocked", "error")
	responses     = enumOf(string(core.ResponseDone), string(core.ResponseNoOp), string(core.ResponseAwaitingInput))
)

const warningCodes = "`hidden`, `blanks`, `marks`, `not_text`, `order`, `mixed_scripts`, `looks_like`, `styled`, `digits`, `punctuation`, `power_of_ten`, " +
	"`many_digits`, `check_digits`, `address`, `same_name`, `similar_name`, `not_taken_apart`; more may be added"

// input is what starts and messages carry.
var input = &schema{Description: "Text, or a list of content parts.", AnyOf: []*schema{
	{Type: "string", Pattern: `\S`, Description: "Text with at least one non-blank character."},
	{Type: "array", MinItems: jsonschema.Ptr(1), Items: refTo("InputPart")},
}}

// inputPart is one piece of an input.
var inputPart = &schema{Description: "One content part of the user's input.", OneOf: []*schema{
	partOf(core.PartText, []string{"text"}, map[string]*schema{"text": {Type: "string"}}),
	partOf(core.PartImage, []string{"media_type", "data"}, map[string]*schema{"media_type": enumOf(runinput.ImageTypes...), "data": inBase64}),
	partOf(core.PartDocument, []string{"media_type", "data"}, map[string]*schema{"media_type": enumOf(runinput.DocumentTypes...), "data": inBase64,
		"name": {Type: "string", MaxLength: jsonschema.Ptr(runinput.MaxName), Description: "The name of the document, optional."}}),
}}

var inBase64 = &schema{Type: "string", ContentEncoding: "base64", MinLength: jsonschema.Ptr(4), Description: "Standard base64, padded, without line breaks."}

func partOf(kind string, needed []string, members map[string]*schema) *schema {
	members["type"] = &schema{Const: jsonschema.Ptr[any](kind)}
	return &schema{Type: "object", Required: append([]string{"type"}, needed...), AdditionalProperties: nothing, Properties: members}
}

// Words that several members share.
const (
	whoBy     = "The principal, such as `token:anna`. Omitted if callers have no names."
	whoVia    = "The entry point, such as `api`, `link` or `queue`."
	messageID = "The message, unique in its thread."
	callID    = "The call, unique in its thread."
)

var (
	causes             = enumOf(texts(core.TurnCauses)...)
	checkpoints        = enumOf(texts(core.Checkpoints)...)
	activationOutcomes = enumOf(coreevents.ActivationOutcomes...)
	callOutcomes       = func() *schema {
		var all []string
		for _, w := range core.CallOutcomes {
			all = append(all, string(w.Outcome))
		}
		return enumOf(all...)
	}()
)

func texts[T ~string](values []T) (all []string) {
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

var nothing = &schema{Not: &schema{}}

// narrowing are the permissions of one run: docs/reference/agent-file.md says what its rules mean.
var narrowing = &schema{Type: "object", Description: "Rules that further restrict a run. They can't allow anything.", AdditionalProperties: nothing, PropertyOrder: []string{"block", "deny", "ask", "allow"},
	Properties: map[string]*schema{"block": ruleList, "deny": ruleList, "ask": ruleList, "allow": ruleList}}

var ruleList = &schema{Type: "array", Items: refTo("Rule")}

var rule = &schema{Description: "A tool name, a pattern, or an object as in agent files.", AnyOf: []*schema{
	{Type: "string", MinLength: jsonschema.Ptr(1)},
	{Type: "object", Required: []string{"tool"}},
}}

// abouts says of each component what it is.
var abouts = map[string]string{
	"StartRequest":         "Starts a run.",
	"NotifyTarget":         "Where notices of a run go, and which.",
	"ClientTool":           "A tool that the client runs, for one run.",
	"ContextItem":          "Something that the client tells the model, for one run.",
	"MessageRequest":       "A user message for a conversation.",
	"ResumeRequest":        "The body and each of its members may be omitted.",
	"Nothing":              "No members. The body may be omitted.",
	"Decision":             "An answer to a suspended call. The `kind` of the call decides which members it needs.",
	"Answer":               "A decision on the suspension in the path.",
	"Verdict":              "The answer to an approval link.",
	"HookAnswer":           "The answer to a verified webhook.",
	"HookErrors":           "Messages beside the inputs of a dialog.",
	"VerdictForm":          "The answer to an approval link, as its web page sends it.",
	"Decisions":            "Several decisions. Each gets its own answer.",
	"Run":                  "The run at the time of the request.",
	"RunPage":              "A page of runs.",
	"Usage":                "The tokens of all model calls of the run.",
	"TreeUsage":            "What a run and the runs below it have used.",
	"PathStep":             "A run on the way down to one below it.",
	"ParentRun":            "The call that a run works for.",
	"RemoteTask":           "The task that a run gives to a remote agent.",
	"ChildRun":             "A run that a call waits for.",
	"Cost":                 "An amount of money.",
	"Me":                   "Who the caller is, and what the caller may do.",
	"DayUsage":             "What the runs used that started on one day.",
	"AgentUsage":           "What the runs of an agent used.",
	"RunError":             "Why the run ended in error.",
	"Actor":                "The principal behind an action, and its entry point.",
	"Pending":              "A suspended call: it waits for an answer.",
	"Request":              "A user message that preceded the call.",
	"Warning":              "Something in the arguments that an approver may overlook.",
	"Suspension":           "One wait of a call. Decisions name its `id` as their target; the other members tell the person or program what to answer.",
	"Part":                 "One content part of a message.",
	"Approval":             "A suspended call with its run.",
	"ApprovalPage":         "A page of the inbox.",
	"AskRequest":           "Asks people to approve something.",
	"AskCallback":          "The address that gets signed notices of an ask.",
	"Ask":                  "An approval that a program asked for. It is a run of the built-in agent `dormouse-ask`.",
	"LinkRequest":          "Creates an approval link.",
	"Link":                 "An approval link.",
	"LinkPage":             "The approval links of a run.",
	"Outcome":              "How a suspension was settled.",
	"OutcomeDecision":      "The decision, who made it and when.",
	"DecisionAnswer":       "The result of one decision.",
	"DecisionAnswers":      "The result of each decision, in the order of the request.",
	"Winner":               "The decision that was accepted first.",
	"Votes":                "How far several people have come with a decision on a call.",
	"Voter":                "A person who has voted on a call.",
	"Ballot":               "What a decision was one vote of.",
	"Message":              "One message of a conversation.",
	"MessagePage":          "A page of messages.",
	"Preview":              "What the call would do, shown to the approver.",
	"ToolDetails":          "What the tool does, shown to the approver.",
	"ToolCall":             "A tool call that the model requested.",
	"Thread":               "A conversation.",
	"Event":                "One entry of a journal. Ignore types you don't know: new ones may be added.",
	"EventPage":            "A page of events.",
	"FeedPage":             "A page of events of all runs of the tenant.",
	"Counts":               "The number of suspended calls.",
	"RecordedDecision":     "A recorded decision, with its run and its call.",
	"Call":                 "A tool call of a run.",
	"CallPage":             "A page of tool calls.",
	"DecisionPage":         "A page of recorded decisions.",
	"WebhookRequest":       "Adds a webhook, with either `url` or `mail`. Every run that starts afterwards notifies it. On AWS, runs that started before do so after 5 s at most.",
	"WebhookChange":        "Changes the members that are sent. An empty text or list removes the member.",
	"Webhook":              "An endpoint of a tenant, which is notified of what happens in runs.",
	"WebhookPage":          "The webhooks of the tenant.",
	"WebhookTest":          "The result of a test notice.",
	"EndpointRequest":      "Names an endpoint.",
	"DisabledEndpoint":     "An endpoint that gets no notices until it is enabled.",
	"DisabledEndpointPage": "A page of disabled endpoints.",
	"Delivery":             "One notice for one endpoint.",
	"DeliveryPage":         "A page of deliveries.",
	"DeliveryAttempt":      "One attempt to deliver a notice.",
	"RedriveRequest":       "Names the endpoint whose dead notices are redriven.",
	"Redriven":             "How many dead notices were put back in line.",

	"RunStatusData":         "Data of `run.status`.",
	"RunStartedData":        "Data of `run.started`.",
	"RunEndedData":          "Data of `run.ended`.",
	"TurnStartedData":       "Data of `turn.started`.",
	"MessageReceivedData":   "Data of `message.received`.",
	"MessageQueuedData":     "Data of `message.queued`.",
	"StepStartedData":       "Data of `step.started`.",
	"StepUsage":             "What one model call used.",
	"DeltaData":             "Data of `text.delta` and `reasoning.delta`.",
	"SaidData":              "Data of `text.ended` and `reasoning.ended`.",
	"CallReadyData":         "Data of `call.ready`.",
	"CallInvalidData":       "Data of `call.invalid`.",
	"CallStartedData":       "Data of `call.started`.",
	"CallProgressData":      "Data of `call.progress`.",
	"CallResumingData":      "Data of `call.resuming`.",
	"ChildStartedData":      "Data of `child.started`.",
	"ChildEndedData":        "Data of `child.ended`.",
	"RemoteStartedData":     "Data of `remote.started`.",
	"RemoteEndedData":       "Data of `remote.ended`.",
	"CallRemindedData":      "Data of `call.reminded`, `call.escalated` and `call.deadline_near`. If several moments had passed, one event stands for all of them.",
	"CallInvalidAnswerData": "Data of `call.invalid_answer`.",
	"DecisionRefusedData":   "Data of `decision.refused`.",
	"CallEndedData":         "Data of `call.succeeded`, `call.failed` and `call.cancelled`.",
	"DecisionRecordedData":  "Data of `decision.recorded`.",
	"StateDeltaData":        "Data of `state.delta`.",
	"StateOp":               "One change of the state.",
	"StateSnapshotData":     "Data of `state.snapshot`.",
	"StepResetData":         "Data of `step.reset`.",
	"FailureData":           "Data of `hook.failed` and `memory.failed`.",
	"RequestRecordedData":   "Data of `interrupt.recorded`, `continue.recorded` and `cancel.recorded`.",
	"TurnEndedData":         "Data of `turn.ended`.",
	"ActivationEndedData":   "Data of `activation.ended`.",
	"Agent":                 "A deployed agent.",
	"AgentPage":             "All agents.",
	"Tool":                  "A tool of an agent.",
	"Problem":               "An error, as RFC 9457 defines it. Programs should test `code`, which never changes.",
	"Health":                "The state of the server and its store.",
}

// members says of each member what it means, and what it holds where its Go type leaves that open.
var members = map[string]member{
	"StartRequest.agent":       {"The name of the agent.", &schema{Type: "string", MinLength: jsonschema.Ptr(1)}},
	"StartRequest.input":       {"The user's input: text, or a list of content parts.", refTo("Input")},
	"StartRequest.thread_id":   {"The conversation to continue. Omit it to start a new one.", nil},
	"StartRequest.metadata":    {"Stored and returned with the run. At most 2,048 bytes as compact JSON.", anObject},
	"StartRequest.on_pending":  {"What to do if the run of `thread_id` is open: `refuse` this request (default), `abandon` the suspended calls, or `queue` the input until the run ends.", onPending},
	"StartRequest.permissions": {"Further restrictions for this run, on top of the agent's own rules. At most 1,024 bytes as compact JSON. Rules have the form of agent files. `allow` is accepted and ignored.", refTo("Permissions")},
	"StartRequest.memory":      {"`false`: the run neither reads nor writes the agent's memory.", nil},
	"StartRequest.notify":      {"Who is notified of this run, beside the targets in the agent file. At most 5.", nil},

	"Supplied.client_tools": {"Tools that the client runs, for an agent whose file `accepts` them. Those of a message are for the run that it starts: an open run keeps its own. At most 32, and 32,768 bytes.", &schema{Types: []string{"array", "null"}, MaxItems: jsonschema.Ptr(supplied.MostTools), Items: refTo("ClientTool")}},
	"Supplied.context":      {"What the model is shown as the client's words. At most 32 items, and 32,768 bytes.", &schema{Types: []string{"array", "null"}, MaxItems: jsonschema.Ptr(supplied.MostContext), Items: refTo("ContextItem")}},
	"Supplied.state":        {"The value of the key `dormouse.client` when the run starts. At most 16,384 bytes.", anyValue},

	"ClientTool.name":         {"Letters, digits, - and _, at most 64. It must not look like the name of an agent's tool.", &schema{Type: "string", Pattern: agent.ToolName.String()}},
	"ClientTool.description":  {"What the tool does, for the model. At most 4,096 bytes.", &schema{Type: "string", MaxLength: jsonschema.Ptr(supplied.DescriptionBytes)}},
	"ClientTool.parameters":   {"JSON Schema of the arguments, without references. Default: any object.", anyValue},
	"ContextItem.description": {"What the value is. At most 4,096 bytes.", &schema{Type: "string", MaxLength: jsonschema.Ptr(supplied.DescriptionBytes)}},
	"ContextItem.value":       {"Any JSON value.", anyValue},

	"NotifyTarget.name":     {"Its name, unique in the list: at most 32 characters of `a-z`, `0-9`, `-` and `_`.", &schema{Type: "string", Pattern: notice.TargetName}},
	"NotifyTarget.on":       {"What is reported. `done` is the end of the run for any reason; `failed` is an end in error, by a limit or by a rule.", &schema{Type: "array", MinItems: jsonschema.Ptr(1), UniqueItems: true, Items: enumOf(texts(notice.Kinds)...)}},
	"NotifyTarget.url":      {"The address that gets a POST request for each notice: public, and `https`. A target has either `url` or `mail`.", &schema{Type: "string", Pattern: `^[hH][tT][tT][pP][sS]://[^#]+$`, MaxLength: jsonschema.Ptr(2048)}},
	"NotifyTarget.mail":     {"Mail addresses, at most 10.", &schema{Type: "array", MaxItems: jsonschema.Ptr(notice.MostAddresses), UniqueItems: true, Items: &schema{Type: "string", Pattern: notice.MailAddress}}},
	"NotifyTarget.format":   {"How the body is written. Default: `standard`, signed as Standard Webhooks say.", enumOf(append(texts(notice.Formats), "")...)},
	"NotifyTarget.template": {"With `template`: the JSON that is sent. At most 8,192 bytes.", anyValue},
	"NotifyTarget.secret":   {"The name of the server's secret that signs the request. It begins with `CALLBACK_`. Required by `standard`.", &schema{Type: "string", Pattern: `^(CALLBACK_[A-Z0-9_]*)?$`}},

	"MessageRequest.input":      {"The user's message: text, or a list of content parts.", refTo("Input")},
	"MessageRequest.on_pending": {"What to do if the run waits for a decision: `refuse` the message (default), `abandon` the suspended calls, or `queue` the message until the run ends.", onPending},

	"ResumeRequest.decision_id": {"The caller's key for this request, at most 255 bytes. A repeat with the same key has no further effect.", name255},
	"ResumeRequest.reason":      {"The reason, for the record.", nil},

	"HookAnswer.ignored":     {"Why the delivery has no effect: a condition of the hook doesn't hold.", nil},
	"HookAnswer.replayed":    {"The event was received before; this delivery has no further effect.", nil},
	"HookAnswer.run_id":      {"The run that was started, or that receives the message.", nil},
	"HookAnswer.decision_id": {"The id of the stored decision.", nil},
	"HookAnswer.challenge":   {"Answers Slack's check of the address.", nil},
	"HookAnswer.type":        {"For Discord: 1 answers its ping, 6 accepts an interaction.", nil},

	"HookAnswer.response_action": {"For the dialog of a Slack app: `errors` shows `errors` in it.", nil},
	"HookAnswer.errors":          {"For the dialog of a Slack app: why the answer in it was refused.", nil},
	"HookErrors.reason":          {"The message beside the reason of a denial.", nil},

	"VerdictForm.action":    {"`resume` approves, `cancel` denies, `edit` approves with edited arguments, `code` has a one-time code sent. `change` and `compare` decide nothing: they answer with the page to edit the arguments, and with the page that shows the difference.", enumOf("resume", "cancel", "edit", "code", "change", "compare")},
	"VerdictForm.reason":    {"The reason, for the record. The model sees the reason of a denial.", nil},
	"VerdictForm.result":    {"For a call of the kind `input` or `client`, or with `resume_mode: use_decision_as_tool_result`: the result, as text, or as JSON if its schema isn't a string. If the page has a field for each value, it sends those instead.", nil},
	"VerdictForm.arguments": {"Only for links that allow editing (`edit`): the arguments on the page, as JSON. With `action: edit`, they take the place of the call's.", nil},
	"VerdictForm.token":     {"Only for links with `require: token`: the access token of the person who decides.", nil},
	"VerdictForm.code":      {"Only for links with `require: code`: the one-time code.", nil},
	"Verdict.code":          {"Only for links with `require: code`: the one-time code, six digits.", nil},
	"Verdict.arguments":     {"Only for links that allow editing (`edit`): approves the call with these arguments. An object.", anyValue},
	"VerdictForm.shown":     {"The `fingerprint` of the question that the page showed. A form without it is refused (409 `changed`).", nil},
	"Verdict.action":        {"`resume` approves, `cancel` denies. `code`, only for links with `require: code`, has a one-time code sent and answers nothing.", enumOf("resume", "cancel", "code")},
	"Verdict.reason":        {"The reason, for the record. The model sees the reason of a denial.", nil},

	"Verdict.result":       {"For a call of the kind `input` or `client`, or with `resume_mode: use_decision_as_tool_result`: the answer. Any JSON that fits the response schema.", anyValue},
	"Verdict.shown":        {"The `fingerprint` of the question that the approver saw. If the question has changed, nothing is stored (409 `changed`).", nil},
	"Decision.shown":       {"The `fingerprint` of the question that the approver saw. If the question has changed, nothing is stored (409 `changed`). If omitted, this isn't checked. It doesn't count when a repeat is compared with the first decision.", nil},
	"Decision.shown_by":    {"With `shown`: the program that showed the question and its version, such as `desk/2`. Default: `api`.", nil},
	"Decision.decision_id": {"The caller's key for this decision, at most 255 bytes. If omitted, it is derived from the other members, so a repeat counts as the same decision.", name255},
	"Decision.target":      {"The id of the suspension. The id of the call is accepted too, if the call was suspended only once.", &schema{Type: "string", MinLength: jsonschema.Ptr(1)}},
	"Decision.action":      {"`resume` approves, `cancel` denies. If omitted, `result` decides.", enumOf("resume", "cancel", "")},
	"Decision.result":      {"The result of a client call, an input call, or a call with an unknown outcome. For an approval: yes or no. Any JSON.", anyValue},
	"Decision.error":       {"Instead of a result: the call failed. For an approval, a denial.", nil},
	"Decision.arguments":   {"With an approval: arguments that replace the model's.", anObject},
	"Decision.grant":       {"With an approval: `run` also allows later calls of this run that the same rule would ask about.", enumOf(string(core.GrantRun), "")},
	"Decision.reason":      {"The reason, for the record. The model sees the reason of a denial.", nil},

	"Decisions.decisions": {"1 to 100 decisions.", &schema{Type: "array", Items: refTo("DecisionOfSeveral"), MinItems: jsonschema.Ptr(1), MaxItems: jsonschema.Ptr(maxDecisions)}},

	"Run.id":             {"Opaque, with the prefix `run_`.", runID},
	"Run.thread_id":      {"The conversation of the run.", threadID},
	"Run.agent":          {"The agent's name.", nil},
	"Run.agent_version":  {"A digest of the agent's definition. It stays the same for the life of the run.", nil},
	"Run.status":         {"The current status.", statuses},
	"Run.reason":         {"Why the run ended. Null until it is done.", orNull(reasons.CloneSchemas())},
	"Run.code":           {"For a run that ended `stopped` or `blocked`: the rule that ended it. With `waiting_on`: the reason for the wait, such as `model_unavailable`.", nil},
	"Run.detail":         {"An explanation of `code`.", nil},
	"Work.steps":         {"The number of committed model turns.", nil},
	"Work.activations":   {"How many times a worker has claimed the run.", nil},
	"Work.resumes":       {"How many decisions have resumed the run.", nil},
	"Work.usage":         {"The tokens used.", nil},
	"Run.output":         {"The final text, or the value the model passed to `finish`. Null if there is none.", anyValue},
	"Run.response_state": {"How the agent describes the end of the run. Null until it is done.", orNull(responses.CloneSchemas())},
	"Run.error":          {"Set if `reason` is `error`.", nil},
	"Run.started_by":     {"Who started the run, or retried the earlier one.", nil},
	"Run.first_line": {"The first non-blank line of the run's input, at most 200 characters. Omitted for a retry (it continues from the input of `retry_of`), " +
		"for an input without text, and until a run with a long input starts.", nil},
	"Run.client_tool_names": {"The names of the tools that the request supplied and the agent accepts, once it starts.", nil},
	"Run.cancelled_by":      {"Who cancelled the run.", nil},
	"Actor.by":              {"The principal, such as `token:anna` or `link:anna@example.com`. Omitted if callers have no names.", nil},
	"Actor.via":             {"The entry point: `api`, `link` or `queue`.", nil},
	"Family.retry_of":       {"The run that this one retries.", orNull(runID.CloneSchemas())},
	"Run.metadata":          {"The metadata of the start request.", anObject},
	"Run.pending":           {"The suspended calls that wait for an answer. In `readRun`, those of the runs below follow, each with its `path`; decisions on all of them may be sent to this run.", nil},
	"Family.parent":         {"The call that the run works for. Omitted for a run that no other one has started.", nil},
	"Family.children":       {"The runs that calls of this one wait for. Only `readRun` lists them.", nil},
	"Family.pending_cut":    {"There are more than 64 runs below, or one of them can't be read: `pending` and `usage.total` may lack something.", nil},
	"Family.remote":         {"The task of the remote agent that does the work of this run. Omitted for other runs.", nil},

	"RemoteTask.tool":             {"The tool of the run's agent that calls the remote one.", nil},
	"RemoteTask.task_id":          {"The id that the remote agent gave the task. Omitted until it has accepted it.", nil},
	"RemoteTask.context_id":       {"The remote agent's id for the conversation of the task.", nil},
	"RemoteTask.url":              {"Where requests about the task go.", nil},
	"RemoteTask.next_look_at":     {"When the remote agent is asked about the task next, or asked to stop again. Omitted while a request is in progress, and once the task has ended.", nil},
	"RemoteTask.unanswered_since": {"Since when the remote agent has not answered. Omitted if it has.", nil},
	"RemoteTask.stop_attempts":    {"How many attempts to stop the task were not confirmed. A run that has ended stays `running` until the remote agent confirms, for about a day at most.", nil},

	"ParentRun.run_id":    {"The run of the call.", runID},
	"ParentRun.thread_id": {"The conversation of that run.", threadID},
	"ParentRun.call_id":   {"The call.", nil},
	"ChildRun.run_id":     {"The run.", runID},
	"ChildRun.thread_id":  {"Its conversation. It takes no messages.", threadID},
	"ChildRun.agent":      {"The agent of the run. Of a remote agent, the tool that calls it.", nil},
	"ChildRun.call_id":    {"The call that waits for it.", nil},
	"ChildRun.status":     {"Its status. A run about to be started is `created`.", statuses},
	"Run.queued":          {"How many messages wait for the end of this run.", nil},
	"Run.created_at":      {"When the run was started.", nil},
	"Run.updated_at":      {"When the run last changed.", nil},

	"ModelWait.waiting_on": {"What a `running` run waits for: `model`, while its model doesn't answer. The run continues on its own when it does. " +
		"Omitted if it waits for nothing.", enumOf("model")},
	"ModelWait.waiting_since":   {"With `waiting_on`: when the first of the consecutive failures occurred.", nil},
	"ModelWait.next_attempt_at": {"With `waiting_on`: when the model is called next. Omitted while a call is in progress.", nil},

	"Usage.input_tokens":      {"Tokens sent to the model.", nil},
	"Usage.output_tokens":     {"Tokens the model generated.", nil},
	"Usage.total":             {"Of a run that has started others: what it and they have used. Runs below that are still open count in `readRun` only.", nil},
	"TreeUsage.runs":          {"How many runs these are.", nil},
	"TreeUsage.input_tokens":  {"Tokens sent to models.", nil},
	"TreeUsage.output_tokens": {"Tokens that models generated.", nil},
	"TreeUsage.cost":          {"What the model calls have cost. Omitted if that isn't known of one of the runs.", nil},

	"Work.cost":          {"What the run's model calls have cost so far. Omitted if that isn't known: the model has no `price`, or a provider didn't report the tokens of a call.", nil},
	"Me.name":            {"The name of the token. Omitted where no token is needed.", nil},
	"Me.by":              {"The name under which the caller's decisions are recorded, such as `token:anna`. Omitted where no token is needed.", nil},
	"Me.tenant":          {"The tenant that the caller belongs to.", nil},
	"Me.tenant_name":     {"What pages call the tenant.", nil},
	"Me.roles":           {"The roles. `admin` includes all others.", nil},
	"Me.groups":          {"The groups of the server's policy file that the caller belongs to.", nil},
	"Me.agents":          {"The agents that the caller may start now.", nil},
	"DayUsage.day":       {"The day.", nil},
	"DayUsage.agents":    {"The runs of each agent, by name.", nil},
	"AgentUsage.agent":   {"The name of the agent.", nil},
	"RunsUsage.runs":     {"The number of runs.", nil},
	"RunsUsage.usage":    {"The tokens of all of them.", nil},
	"RunsUsage.cost":     {"What those with a known cost have cost.", nil},
	"RunsUsage.unpriced": {"The number of runs whose cost isn't known, which `cost` doesn't include.", nil},
	"Cost.usd":           {"Dollars, as an exact decimal.", nil},

	"RunError.code":   {"The error, for programs.", nil},
	"RunError.detail": {"The error, for people.", nil},

	"Pending.call_id":         {"The id of the call.", nil},
	"Pending.tool_name":       {"The tool, under the member name that call events use.", nil},
	"Pending.asked_arguments": {"The model's original arguments. Omitted unless an approver edited them.", anyValue},
	"Pending.tool":            {"The tool. Empty if the run itself was interrupted.", nil},
	"Pending.arguments":       {"The arguments the call would run with.", anyValue},
	"Pending.kind":            {"Who must answer: an approver (`approval`); the client that runs the tool (`client`); the person or program the tool asks (`input`); a person who finds out whether the call took effect (`unknown_outcome`); a person who resumes the interrupted run (`interrupt`). In events also `child`: another run works for the call, so no one answers it.", words[core.Kind]()},
	"Pending.suspension":      {"The suspension to answer.", nil},
	"Pending.resume_mode":     {"How the answer becomes a result.", words[core.ResumeMode]()},
	"Pending.since":           {"When the call was suspended.", nil},
	"Pending.deadline":        {"When the call is settled without an answer. Omitted if it has no deadline.", nil},
	"Pending.grantable":       {"Whether an approval may carry `\"grant\":\"run\"`.", nil},
	"Pending.grant_scope":     {"What such a grant allows beyond this call, in a sentence for the approver.", nil},
	"Pending.not_by":          {"`starter`: callers who requested the thread's work may deny the call but not approve it.", enumOf(core.NotByStarter, "")},
	"Pending.approvers":       {"If set, only these callers may approve the call.", nil},
	"Pending.votes":           {"If several people decide about the call: how far they have come.", nil},
	"Pending.follows":         {"The suspension that this one follows: the policy's stage before, or the question about the arguments before an edit.", nil},
	"Pending.warnings":        {"What an approver may overlook in the arguments, such as invisible characters. At most 20. Omitted if there is nothing.", nil},

	"Pending.requests":     {"The user messages of the thread that the model had read when it requested this call, newest last. At most 8, including those of earlier runs.", nil},
	"Pending.requests_cut": {"Whether earlier messages were left out.", nil},
	"Pending.said":         {"What the model said in the turn that requested the call, at most 2 KiB. It is the model's account, not a fact.", nil},
	"Pending.said_cut":     {"Whether `said` was truncated.", nil},
	"Pending.tool_details": {"What the tool does and where its calls go, in the agent version the run is pinned to. Omitted if that version can't be read.", nil},
	"Pending.fingerprint":  {"Identifies exactly this question: tenant, run, suspension, agent version, tool, arguments that would run, and preview. Send it back as `shown` with the decision.", fingerprint},
	"Pending.path":         {"The runs from the shown one, which is left out, down to the one that waits. Omitted if the shown one waits itself. In the inbox, which shows no run, it begins with the root.", nil},
	"PathStep.run_id":      {"The run.", runID},
	"PathStep.call_id":     {"The call of the run above that it works for. Omitted for a run that no other one has started.", nil},
	"PathStep.agent":       {"The agent of the run.", nil},

	"Request.text":  {"The user's text: at most 2 KiB of the newest message and 512 bytes of each earlier one.", nil},
	"Request.cut":   {"Whether `text` was truncated.", nil},
	"Request.files": {"How many images and documents the message has. They aren't included.", nil},
	"Request.by":    {"The sender. Omitted if callers have no names.", nil},
	"Request.via":   {"The entry point: `api` or `queue`.", nil},

	"Pending.preview": {"What the call would do, if the agent defines a preview. It is made once, before the question is asked; every reader sees the same.", nil},
	"Preview.text":    {"Text with the arguments filled in, or the result of a read-only tool. At most 4 KiB.", nil},
	"Preview.failed":  {"Why there is no text.", nil},
	"Preview.tool":    {"The tool that produced the text. Omitted if the agent's author wrote it.", nil},

	"ToolDetails.description": {"What the tool does, by the agent's author; or that the client supplied it.", nil},
	"ToolDetails.kind":        {"How the tool is implemented: `http`, `lambda`, `mcp`, `go`, `agent`, `client` or `recorded`.", nil},
	"ToolDetails.parameters":  {"The JSON Schema of the arguments. Left out if there is none, or if it is larger than 16 KiB.", aSchema},
	"ToolDetails.target":      {"Where calls go: method and host, function, server and tool, or agent. It contains no path, query, header or user name.", nil},

	"Warning.path": {"A JSON Pointer to the value, or to the member whose name causes the warning. A long pointer is shortened to an enclosing value.", nil},
	"Warning.code": {"The kind of warning: " + warningCodes + ".", nil},
	"Warning.text": {"An explanation in ASCII.", nil},

	"Suspension.id":              {"Opaque, with the prefix `sus_`.", susID},
	"Suspension.action":          {"What is requested.", nil},
	"Suspension.message":         {"Why, for people.", nil},
	"Suspension.response_schema": {"The JSON Schema of the result.", aSchema},

	"Approval.run_id":        {"The suspended run.", runID},
	"Approval.thread_id":     {"The conversation of the run.", threadID},
	"Approval.agent":         {"The agent of the run.", nil},
	"Approval.agent_version": {"The agent version the run is pinned to.", nil},
	"Approval.metadata":      {"The metadata of the run.", anObject},
	"Approval.started_by":    {"Who started the run.", nil},
	"Approval.error":         {"Set if the call can't be read (`unreadable`). Its other members are then unknown. Other entries are not affected.", nil},

	"AskRequest.title":     {"The question, at most 500 characters on one line.", &schema{Type: "string", Pattern: `\S`, MaxLength: jsonschema.Ptr(500)}},
	"AskRequest.arguments": {"What the question is about: an object that approvers see, and may edit. At most 65,536 bytes.", anObject},
	"AskRequest.approvers": {"The only callers who may approve, as in agent files: `token:anna`, `token:ops-*` or `role:admin`. Omitted: every caller with the role `decide`.", &schema{Type: "array", MinItems: jsonschema.Ptr(1), MaxItems: jsonschema.Ptr(32), Items: &schema{Type: "string"}}},
	"AskRequest.group":     {"The group that decides, as the server's policy file names it. At most one of `approvers`, `group` and `policy`.", nil},
	"AskRequest.policy":    {"The policy that decides, as the server's policy file names it.", nil},
	"AskRequest.not_by":    {"`starter`: the caller who asks may not approve.", enumOf("starter", "")},
	"AskRequest.deadline":  {"How long to wait for an answer, such as `30m`, `24h` or `7d`, at most 365 days. After that the answer is no. Omitted: no limit.", nil},
	"AskRequest.metadata":  {"Stored and returned with the ask. At most 2,048 bytes as compact JSON.", anObject},

	"AskRequest.callback": {"Who is notified of the answer.", nil},

	"AskCallback.url":    {"The public https address that gets a POST request for each notice.", nil},
	"AskCallback.secret": {"The name of the server's secret that signs the request. It begins with `CALLBACK_`.", nil},
	"AskCallback.on":     {"What is reported. Default: `decided` and `done`.", nil},

	"Ask.id":              {"Opaque, with the prefix `run_`.", runID},
	"Ask.status":          {"`waiting`, `approved`, `denied` (by an approver or a rule of the operator), `timed_out` (which counts as no) or `cancelled` (also if it ended without an answer).", enumOf("waiting", "approved", "denied", "timed_out", "cancelled")},
	"Ask.title":           {"The question.", nil},
	"Ask.arguments":       {"The arguments. After an approval: as approved.", anObject},
	"Ask.asked_arguments": {"The original arguments, if the approver edited them.", anObject},
	"Ask.suspension":      {"The suspension to decide. Omitted until the ask is in the inbox.", susID},
	"Ask.deadline":        {"When the ask times out.", nil},
	"Ask.decided_by":      {"Who decided, such as `token:anna`. Omitted if callers have no names.", nil},
	"Ask.via":             {"The entry point of the decision, such as `api` or `link`.", nil},
	"Ask.decided_at":      {"When it was decided.", nil},
	"Ask.reason":          {"The approver's reason, or why there is no approval.", nil},
	"Ask.started_by":      {"Who asked.", nil},
	"Ask.metadata":        {"The metadata of the request.", anObject},
	"Ask.created_at":      {"When it was asked.", nil},

	"LinkRequest.target":     {"The id of the suspension. The id of the call is accepted too, if the call was suspended only once. The call must be of the kind `approval`, `input` or `client`.", &schema{Type: "string", MinLength: jsonschema.Ptr(1)}},
	"LinkRequest.edit":       {"Lets the recipient edit the arguments of the call. The creator needs the role `decide` too.", nil},
	"LinkRequest.require":    {"`token`: the link is answered with an access token, and the decision is recorded under the token's name. Not available behind an authorizer, as on AWS. `sign_in`: a person signs in at the operator's identity provider to answer, and the decision is recorded under that name. Available if the operator has set one. `code`: the link is answered with a one-time code, which is sent to `for`, a mail address. Available if the server sends mail (`--smtp`).", enumOf("token", "sign_in", "code", "")},
	"LinkRequest.for":        {"The recipient, a name or an address of at most 120 visible characters. It is recorded with the decision.", &schema{Type: "string", MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(120), Pattern: `\S`}},
	"LinkRequest.expires_in": {"Lifetime in seconds. Default and maximum: 604,800 (7 days).", &schema{Type: "integer", Minimum: jsonschema.Ptr(0.0), Maximum: jsonschema.Ptr(604800.0)}},

	"Link.id":         {"Opaque, with the prefix `lnk_`. It can't be used to answer the call.", nil},
	"Link.run_id":     {"The run of the call.", runID},
	"Link.suspension": {"The suspension that the link answers.", susID},
	"Link.call_id":    {"The suspended call.", nil},
	"Link.tool":       {"The tool of the call.", nil},
	"Link.for":        {"The recipient.", nil},
	"Link.edit":       {"Whether the recipient may edit the arguments of the call.", nil},
	"Link.require":    {"`token` if the link is answered with an access token, `sign_in` if after a sign-in, `code` if with a one-time code.", nil},
	"Link.created_by": {"Who created the link. Omitted if the server runs without tokens.", nil},
	"Link.created_at": {"When the link was created.", nil},
	"Link.expires_at": {"When the link expires: after `expires_in`, or at the deadline of the call if that is earlier.", nil},
	"Link.revoked_at": {"When the link was revoked. Omitted if it wasn't.", nil},
	"Link.revoked_by": {"Who revoked the link.", nil},
	"Link.link":       {"The link: a path of this server, or a full URL if the server has a public one (`--public-url`). It answers the call without a token. Only the response that creates the link contains it.", nil},

	"WebhookRequest.name":          {"A name for people: at most 32 characters of a-z, 0-9, - and _.", nil},
	"WebhookRequest.agents":        {"Report only runs of these agents. Default: all agents. An empty list is refused.", nil},
	"WebhookRequest.on":            {"What is reported.", &schema{Type: "array", Items: noticeKinds}},
	"WebhookRequest.url":           {"The https address that gets a POST request for each notice. It can contain `{secret:NAME}` after the host.", nil},
	"WebhookRequest.mail":          {"At most 10 mail addresses, in place of `url`.", nil},
	"WebhookRequest.format":        {"How the body is written. Default: `standard`.", noticeFormats},
	"WebhookRequest.template":      {"With the format `template`: the JSON that is sent.", anyValue},
	"WebhookRequest.secret":        {"The name of the server's secret that signs the requests, never its value. It begins with `WEBHOOK_`, and for another tenant than `default` with `WEBHOOK_TENANT__`. Required by the format `standard`.", nil},
	"WebhookRequest.allow_private": {"The URL may lead to a private address, if the operator of the server allows that address too.", nil},

	"WebhookChange.name":          {"A name for people.", nil},
	"WebhookChange.agents":        {"Report only runs of these agents. An empty list: of all.", nil},
	"WebhookChange.on":            {"What is reported.", nil},
	"WebhookChange.url":           {"The address that gets the requests.", nil},
	"WebhookChange.mail":          {"Mail addresses.", nil},
	"WebhookChange.format":        {"How the body is written. Another format than `template` removes the template.", nil},
	"WebhookChange.template":      {"The JSON that is sent.", anyValue},
	"WebhookChange.secret":        {"The name of the secret that signs.", nil},
	"WebhookChange.allow_private": {"The URL may lead to a private address.", nil},
	"WebhookChange.revision":      {"Refuse the change unless the webhook has this revision.", &schema{Type: "integer", Minimum: jsonschema.Ptr(0.0), Maximum: jsonschema.Ptr(float64(1 << 53))}},

	"Webhook.id":         {"Opaque, with the prefix `wh_`. It is also the id of the endpoint.", nil},
	"Webhook.revision":   {"1 at first. Each change adds 1.", nil},
	"Webhook.created_at": {"When the webhook was added.", nil},
	"Webhook.created_by": {"Who added the webhook. Omitted if the server runs without tokens.", nil},
	"Webhook.changed_at": {"When the webhook was last changed. Omitted if it never was.", nil},
	"Webhook.changed_by": {"Who last changed the webhook.", nil},
	"Webhook.disabled":   {"Set if the webhook is disabled: it gets no notices.", nil},
	"Webhook.warnings":   {"Why deliveries cannot work for now, such as a secret that is not set on the server. Lists of webhooks leave it out.", nil},

	"EndpointRequest.endpoint": {"A webhook's id, `agent/AGENT/NAME` or `run/RUN/NAME`.", nil},
	"EndpointRequest.reason":   {"With `disableEndpoint`: why, at most 500 bytes.", nil},

	"DisabledEndpoint.endpoint": {"The id of the endpoint.", nil},
	"DisabledEndpoint.at":       {"When it was disabled.", nil},
	"DisabledEndpoint.reason":   {"Why it was disabled.", nil},
	"DisabledEndpoint.by":       {"Who disabled it. Omitted if the endpoint itself did, by answering 410.", nil},

	"WebhookTest.delivered":       {"Whether the endpoint accepted the notice.", nil},
	"DeliveryAttempt.at":          {"When the attempt began.", nil},
	"DeliveryAttempt.duration_ms": {"How long it took, in milliseconds.", nil},
	"DeliveryAttempt.status":      {"The HTTP status of the answer. Omitted if there was none.", nil},
	"DeliveryAttempt.error":       {"What failed. Omitted if the notice was delivered.", nil},

	"Delivery.id":              {"Opaque, with the prefix `dlv_`.", nil},
	"Delivery.endpoint":        {"The endpoint: a webhook's id, `agent/AGENT/NAME`, `run/RUN/NAME` or `sink/NAME`.", nil},
	"Delivery.thread_id":       {"The thread of the event.", nil},
	"Delivery.event":           {"The `seq` of the event.", nil},
	"Delivery.type":            {"What is reported.", nil},
	"Delivery.state":           {"`waiting`: it is attempted, or attempted again; `delivered`; `dead`: given up.", enumOf("waiting", "delivered", "dead")},
	"Delivery.queued_at":       {"When the notice was queued for the endpoint, or redriven.", nil},
	"Delivery.ended_at":        {"When the notice was delivered or given up.", nil},
	"Delivery.next_attempt_at": {"When it is attempted next, at the earliest. Omitted if that is now, or never.", nil},
	"Delivery.attempts":        {"The number of attempts.", nil},
	"Delivery.log":             {"The newest 8 attempts, oldest first.", nil},

	"RedriveRequest.endpoint": {"The id of the endpoint.", nil},
	"RedriveRequest.cursor":   {"The `next` of the previous answer.", nil},
	"Redriven.redriven":       {"The number of notices.", nil},
	"Redriven.next":           {"More were dead: send it as the `cursor` of another request.", nil},

	"Outcome.run_id":      {"The run of the call.", runID},
	"Outcome.thread_id":   {"The conversation of the run.", threadID},
	"Outcome.agent":       {"The agent of the run.", nil},
	"Outcome.call_id":     {"The call that was suspended.", nil},
	"Outcome.tool":        {"The tool of the call.", nil},
	"Outcome.suspension":  {"The suspension.", susID},
	"Outcome.resume_mode": {"How the answer was to become a result.", words[core.ResumeMode]()},
	"Outcome.since":       {"When the call was suspended.", nil},
	"Outcome.deadline":    {"When the call was to be settled without an answer. Omitted if it had no deadline.", nil},
	"Outcome.state":       {"`answered`; `timed_out`: the deadline passed without an answer; `withdrawn`: the run ended or continued without an answer.", enumOf(query.OutcomeAnswered, query.OutcomeTimedOut, query.OutcomeWithdrawn)},
	"Outcome.decision":    {"The decision. Omitted if there was none, or if the deadline hasn't been applied yet.", nil},
	"Outcome.call":        {"What happened to the call afterwards. Omitted until that is known.", enumOf("succeeded", "failed", "cancelled", "suspended")},

	"OutcomeDecision.action":  {"The action of the decision.", words[core.ResumeAction]()},
	"OutcomeDecision.error":   {"The error that became the call's result.", nil},
	"OutcomeDecision.silent":  {"No one answered in time, and the policy approves then.", nil},
	"OutcomeDecision.reason":  {"The reason of the decision.", nil},
	"OutcomeDecision.by":      {"Who decided: `token:` and the token's name, `link:` and the recipient, or `deadline`. Omitted if callers have no names. Records of earlier versions have `message` if a message answered.", nil},
	"OutcomeDecision.via":     {"The entry point, as in `decision.recorded`.", nil},
	"OutcomeDecision.at":      {"When the decision was made.", nil},
	"OutcomeDecision.applied": {"Whether the decision took effect. Omitted until the run has processed it.", nil},

	"DecisionAnswer.status":      {"The HTTP status the decision would have had on its own.", millis},
	"DecisionAnswer.code":        {"`accepted`, `already_decided`, `code_sent`, or the code of an error.", nil},
	"DecisionAnswer.detail":      {"An explanation of the error.", nil},
	"DecisionAnswer.target":      {"The target of the request.", nil},
	"DecisionAnswer.call_id":     {"The call that was answered.", nil},
	"DecisionAnswer.decision_id": {"The caller's key, or the derived one. It is unique per voter only: two people who vote the same have the same derived one.", nil},
	"DecisionAnswer.same":        {"With `already_decided`: whether the accepted decision is this one.", nil},
	"DecisionAnswer.applied":     {"Whether the decision took effect. Omitted until that is known.", nil},
	"DecisionAnswer.winner":      {"The decision that was accepted first, if it was a different one.", nil},
	"DecisionAnswer.votes":       {"With `accepted`, if several people decide about the call: how far they have come.", nil},
	"DecisionAnswers.answers":    {"One answer for each decision.", nil},

	"Winner.decision_id": {"The key of the decision.", nil},
	"Winner.action":      {"The action of the decision.", words[core.ResumeAction]()},
	"Winner.result":      {"The result of the decision.", anyValue},
	"Winner.error":       {"The error of the decision.", nil},
	"Winner.reason":      {"The reason of the decision.", nil},
	"Winner.by":          {"Who decided. Omitted if callers have no names.", nil},
	"Winner.via":         {"The entry point.", nil},
	"Winner.at":          {"When the decision was made.", nil},
	"Winner.votes":       {"If several people decided: what they said. The other members are those of the vote that decided.", nil},

	"Votes.policy": {"The name of the policy.", nil},
	"Votes.stage":  {"The stage of the policy, from 1. Each stage asks another group.", nil},
	"Votes.stages": {"How many stages the policy has.", nil},
	"Votes.group":  {"The group that is asked.", nil},
	"Votes.need":   {"How many different people must approve.", nil},
	"Votes.deny":   {"How many denials deny the call.", nil},
	"Votes.yes":    {"How many have approved.", nil},
	"Votes.no":     {"How many have denied.", nil},
	"Votes.voters": {"Who has voted, by time.", nil},

	"Voter.by":     {"The principal, such as `token:anna`.", nil},
	"Voter.via":    {"The entry point.", nil},
	"Voter.action": {"What the person said.", words[core.ResumeAction]()},
	"Voter.edited": {"Whether the person approved other arguments. Everyone then votes on these.", nil},
	"Voter.reason": {"The reason that the person gave.", nil},
	"Voter.at":     {"When the person voted.", nil},

	"Ballot.key":     {"Identifies the person among the voters of the suspension.", nil},
	"Ballot.group":   {"The groups of the policy that the person belongs to, with commas between them.", nil},
	"Ballot.stage":   {"The stage of the policy, from 1. 0 if the question was closed before.", nil},
	"Ballot.stages":  {"How many stages the policy has.", nil},
	"Ballot.need":    {"How many different people must approve.", nil},
	"Ballot.yes":     {"How many have approved, with this vote.", nil},
	"Ballot.no":      {"How many have denied, with this vote.", nil},
	"Ballot.outcome": {"What the vote came to: `counted` (others must vote too), `passed` (the next stage is asked), `approved`, `denied`, `edited` (others vote on the new arguments) or `superseded` (the question was closed before the vote was processed).", enumOf("counted", "passed", "approved", "denied", "edited", "superseded")},

	"Message.id":         {"Unique in the thread. For a user message: the sender's `message_id`, if it had one.", nil},
	"Message.seq":        {"The `seq` of the event that records the message.", nil},
	"Message.step":       {"The `step` of that event.", nil},
	"Message.cut":        {"Assistant messages: a cancel interrupted the model.", nil},
	"Message.outcome":    {"Tool messages: how the call ended. " + outcomesMean, callOutcomes},
	"Message.value":      {"Tool messages: the result as JSON. Omitted if the result is plain text or was truncated.", anyValue},
	"Message.ran_with":   {"Tool messages: the edited arguments the call ran with. The model sees them.", anyValue},
	"Message.added":      {"Tool messages: what hooks appended to the result for the model.", nil},
	"Message.run_id":     {"The run of the message.", runID},
	"Message.role":       {"The author of the message.", enumOf(string(core.RoleUser), string(core.RoleAssistant), string(core.RoleTool))},
	"Message.text":       {"The text. For a tool message, the result.", nil},
	"Message.parts":      {"All content parts, in order. Omitted if the message is only text.", nil},
	"Message.tool_calls": {"The calls that the model requested.", nil},
	"Message.call_id":    {"Tool messages: the call with this result.", nil},
	"Message.tool":       {"Tool messages: the tool.", nil},
	"Message.error":      {"Tool messages: whether the call failed.", nil},
	"Message.pending":    {"Tool messages: a placeholder for a suspended call. The result follows later.", nil},
	"Message.by":         {"User messages: the sender.", nil},
	"Message.via":        {"User messages: the entry point.", nil},
	"Message.answers":    {"User messages: the call whose result the text became.", nil},
	"Message.at":         {"When the message was committed.", nil},

	"Part.type": {"The type of the part. `reasoning` is what the model thought. Content that its provider encrypts is not shown, so `text` may be missing.",
		enumOf(core.PartText, core.PartReasoning, core.PartImage, core.PartDocument)},
	"Part.text":       {"For text and reasoning.", nil},
	"Part.media_type": {"For images and documents.", nil},
	"Part.name":       {"For documents.", nil},
	"Part.bytes":      {"The size of the image or document in bytes.", nil},
	"Part.data":       {"The image or document in base64. Only with `data=true`.", &schema{Type: "string", ContentEncoding: "base64"}},

	"ToolCall.id":        {"The id of the call.", nil},
	"ToolCall.name":      {"The tool.", nil},
	"ToolCall.arguments": {"The model's arguments. Arguments that aren't valid JSON are a string.", anyValue},

	"Thread.id":     {"Opaque, with the prefix `thr_`.", threadID},
	"Thread.agent":  {"The agent of the newest run.", nil},
	"Thread.run_id": {"The newest run.", runID},
	"Thread.status": {"The status of the newest run.", statuses},

	"StartRequest.thread_key":   {"Your id for the conversation, at most 255 bytes. The conversation is created if it doesn't exist. Can't be combined with `thread_id`.", name255},
	"StartRequest.message_id":   {"Your id for the input, at most 128 bytes. Within a conversation it works like an `Idempotency-Key`. A request with both is refused.", messageIDs},
	"MessageRequest.message_id": {"Your id for the message, at most 128 bytes. It works like an `Idempotency-Key`. A request with both is refused.", messageIDs},
	"Run.cursor":                {"The position in the run's events after everything that was committed at the time of the request.", nil},
	"Thread.cursor":             {"The position in the thread's events after everything that was committed at the time of the request.", nil},
	"Thread.key":                {"The `thread_key` of the request.", nil},
	"DecisionAnswer.cursor":     {"With `accepted`: the position in the run's events at that time. Read from here to see what the decision causes.", nil},
	"Decisions.all_or_none":     {"Store all decisions in one write, or none of them. At most 16 decisions.", nil},
	"BatchExtra.answers":        {"With `batch_refused`: the result of each decision. The code `batch_refused` marks a decision that is valid itself.", nil},
	"Answer.shown":              {"The `fingerprint` of the question that the approver saw. If the question has changed, nothing is stored (409 `changed`). If omitted, this isn't checked. It doesn't count when a repeat is compared with the first decision.", nil},
	"Answer.shown_by":           {"With `shown`: the program that showed the question and its version, such as `desk/2`. Default: `api`.", nil},
	"Answer.decision_id":        {"The caller's key for this decision, at most 255 bytes. If omitted, it is derived from the other members, so a repeat counts as the same decision.", name255},
	"Answer.action":             {"`resume` approves, `cancel` denies. If omitted, `result` decides.", enumOf("resume", "cancel", "")},
	"Answer.result":             {"The result of a client call, an input call, or a call with an unknown outcome. For an approval: yes or no. Any JSON.", anyValue},
	"Answer.error":              {"Instead of a result: the call failed. For an approval, a denial.", nil},
	"Answer.arguments":          {"With an approval: arguments that replace the model's.", anObject},
	"Answer.grant":              {"With an approval: `run` also allows later calls of this run that the same rule would ask about.", enumOf(string(core.GrantRun), "")},
	"Answer.reason":             {"The reason, for the record. The model sees the reason of a denial.", nil},
	"Call.call_id":              {callID, nil},
	"Call.tool_name":            {"The tool. Empty if the run itself waits.", nil},
	"Call.arguments":            {"The model's arguments.", anyValue},
	"Call.ran_with":             {"The edited arguments the call ran with, or will run with. Omitted unless an approver edited them.", anyValue},
	"Call.message_id":           {"The assistant message that requested the call.", nil},
	"Call.step":                 {"The step that requested the call.", nil},
	"Call.status":               {"The current status.", words[core.CallStatus]()},
	"Call.kind":                 {"Who must answer, or who was last asked.", nil},
	"Call.resume_token":         {"The current or last suspension: the `target` of a decision.", nil},
	"Call.resume_mode":          {"How the answer becomes a result.", words[core.ResumeMode]()},
	"Call.deadline":             {"When the wait ends without an answer.", nil},
	"Call.resume":               {"The decision that was applied to that suspension. Omitted if there is none.", nil},
	"Call.scratch":              {"State that the tool keeps between executions of the call. Removed when the call ends.", anyValue},
	"Call.outcome":              {"How the call ended. " + outcomesMean, callOutcomes},
	"Call.result":               {"The result as text.", nil},
	"Call.value":                {"The result as JSON. Omitted if it is plain text or was truncated.", anyValue},
	"Call.may_have_run":         {"The call was cancelled and may have taken effect.", nil},
	"Call.attempts":             {"How many executions of the call have started, as far as that is committed.", nil},
	"Call.ready_at":             {"When the model turn that requested the call was committed.", nil},
	"Call.started_at":           {"When the last execution started.", nil},
	"Call.ended_at":             {"When the call ended.", nil},
	"Call.updated_at":           {"When the call last changed.", nil},
	"Event.v":                   {"The version of all event schemas.", &schema{Type: "integer", Const: jsonschema.Ptr[any](float64(wire.EventVersion))}},
	"Event.checkpoint":          {"Set on the last event of a commit. It lists what the commit stored. " + meant("checkpoint", core.Checkpoints), &schema{Type: "array", Items: checkpoints}},
	"Event.path":                {"With `tree=true`: how the event's run is reached from the run of the request. Absent for that run's own events.", nil},
	"Event.unfollowed":          {"With `tree=true`, on a `child.started`: `true` if more than 64 runs are open, so that the events of this child and of those below it are left out. Read them at the child's own address.", nil},
	"Event.seq":                 {"The position in the thread. Stored events have consecutive numbers; a live event has the number of the last stored one.", nil},
	"Event.run_id":              {"The event's run.", runID},
	"Event.thread_id":           {"The conversation of the run.", threadID},
	"Event.turn":                {"The turn of the run, counted from 1.", nil},
	"Event.step":                {"The step of the run, counted from 1. A step is one model answer with its calls. Omitted before the first step.", nil},
	"Event.at":                  {"The time of the commit.", nil},
	"Event.type":                {"The type of the event.", nil},
	"Event.data":                {"Depends on `type`. Omitted if the type has no data.", anyValue},
	"Event.cursor":              {"The position after this event. Pass it as `after` to continue from here.", nil},

	"Agent.name":         {"The name of the agent.", nil},
	"Agent.version":      {"A digest of the agent's definition.", nil},
	"Agent.description":  {"What the agent is for.", nil},
	"Agent.model":        {"The model provider.", nil},
	"Agent.instructions": {"The system prompt.", nil},
	"Agent.tools":        {"The tools the model may call.", nil},
	"Agent.accepts":      {"What requests may supply: `client_tools`, `context` and `state`.", &schema{Type: "array", Items: enumOf(supplied.Acceptable...)}},
	"Agent.unavailable":  {"Why the agent can't be started now. Its open runs wait. Omitted if it can be started.", nil},

	"Tool.name":        {"The name of the tool.", nil},
	"Tool.description": {"What the tool does.", nil},
	"Tool.parameters":  {"The JSON Schema of the arguments.", aSchema},
	"Tool.result":      {"For a client tool: the JSON Schema of the result.", aSchema},
	"Tool.delivery":    {"Whether a call may run twice after a crash.", words[core.Delivery]()},
	"Tool.client":      {"The API caller runs the tool.", nil},
	"Tool.agent":       {"The agent that each call starts a run of.", nil},
	"Tool.a2a":         {"The host of the remote agent that each call gives a task to.", nil},
	"Tool.permission":  {"What the agent's rules say about the tool. `conditional` if that depends on the arguments.", nil},

	"Page.items": {"The entries.", nil},
	"Page.next":  {"The cursor of the next page. Omitted on the last page.", nil},

	"FeedPage.items":  {"The events, roughly in time order.", nil},
	"FeedPage.next":   {"The cursor for the next request; always set.", nil},
	"FeedPage.counts": {"The number of suspended calls. Set on the page that reaches the end of the feed, if anything was committed since `after`.", nil},

	"Counts.waiting":  {"The number of suspended calls.", nil},
	"Counts.kinds":    {"The number of suspended calls by kind, such as `approval` or `client`.", nil},
	"Counts.at_least": {"The actual number may be higher: counting stops at 500 runs, and unreadable runs aren't counted.", nil},

	"DecisionPage.items":      {"The decisions, newest first.", nil},
	"DecisionPage.next":       {"The cursor of the next page. Omitted on the last page.", nil},
	"DecisionPage.unreadable": {"How many decisions, or commits with decisions, are missing because their run can't be read.", nil},

	"RecordedDecision.at":          {"When the decision was recorded.", nil},
	"RecordedDecision.run_id":      {"The run of the call.", runID},
	"RecordedDecision.thread_id":   {"The conversation of the run.", threadID},
	"RecordedDecision.seq":         {"The `seq` of its event in the conversation.", nil},
	"RecordedDecision.agent":       {"The agent of the run.", nil},
	"RecordedDecision.tool_name":   {"The tool of the call. Empty if the run itself waited.", nil},
	"RecordedDecision.title":       {"What an ask asks: the first line of its title, at most 200 characters. Omitted for a token without `read`.", nil},
	"RecordedDecision.kind":        {"The kind of the suspension.", nil},
	"RecordedDecision.resume_mode": {"What an approval does to the call.", nil},
	"RecordedDecision.unreadable":  {"Set if the decision or its run can't be read. Members are then missing.", nil},

	"EventPage.items":   {"The events.", nil},
	"EventPage.next":    {"The cursor for the next request; always set.", nil},
	"EventPage.done":    {"The run is done and there are no more events.", nil},
	"EventPage.waiting": {"The run is suspended and there are no more events for now.", nil},

	"Problem.type":         {"Always `about:blank`.", &schema{Const: jsonschema.Ptr[any]("about:blank")}},
	"Problem.title":        {"A short summary.", nil},
	"Problem.status":       {"The HTTP status.", nil},
	"Problem.code":         {"The error, for programs.", nil},
	"Problem.detail":       {"The error, for people. It contains nothing confidential.", nil},
	"Problem.run_id":       {"With `run_open`: the open run. With `child_thread`: the run that started the conversation.", nil},
	"DecisionExtra.same":   {"With `already_decided`: false, because a different decision was accepted first.", nil},
	"DecisionExtra.winner": {"With `already_decided`: the decision that was accepted first.", nil},

	"RunStatusData.id":          {"The run.", runID},
	"RunStatusData.status":      {"The new status.", statuses},
	"RunStatusData.done_reason": {"Why the run ended. Null until it is done.", orNull(reasons.CloneSchemas())},
	"RunStatusData.updated_at":  {"When the status changed.", nil},

	"RunStartedData.by":       {whoBy, nil},
	"RunStartedData.via":      {whoVia, nil},
	"RunStartedData.retry_of": {"The run that this one retries.", runID},

	"RunStartedData.client_tools": {"The tools that the request supplied. The client runs them.", nil},
	"RunStartedData.context":      {"The context that the request supplied.", nil},

	"TurnStartedData.cause": {"What started the turn. " + meant("cause", core.TurnCauses), causes},

	"MessageReceivedData.message_id": {messageID, nil},
	"MessageReceivedData.text":       {"The text.", nil},
	"MessageReceivedData.parts":      {"All content parts, in order, without the bytes of images and documents. Omitted if the message is only text.", nil},
	"MessageReceivedData.by":         {whoBy, nil},
	"MessageReceivedData.via":        {whoVia, nil},
	"MessageReceivedData.answers":    {"The call whose result the text became.", nil},

	"MessageQueuedData.key":        {"Identifies the message in the queue.", nil},
	"MessageQueuedData.message_id": {"The sender's id for the message.", nil},
	"MessageQueuedData.parts":      {"The content, without the bytes of images and documents.", nil},
	"MessageQueuedData.by":         {whoBy, nil},
	"MessageQueuedData.via":        {whoVia, nil},

	"StepStartedData.asked_at":       {"When the model was called.", nil},
	"StepStartedData.latency_ms":     {"Milliseconds until the answer was complete.", nil},
	"StepStartedData.first_token_ms": {"Milliseconds until the first token. Omitted if the answer wasn't streamed.", nil},
	"StepStartedData.usage":          {"The tokens of the call. Null if the provider didn't report them; omitted if the model doesn't count tokens.", orNull(refTo("StepUsage"))},
	"StepStartedData.cost":           {"What the call cost. Omitted if that isn't known.", nil},

	"StepUsage.input_tokens":       {"All input tokens, cached or not.", nil},
	"StepUsage.output_tokens":      {"All output tokens.", nil},
	"StepUsage.cache_read_tokens":  {"Input tokens read from the provider's cache.", nil},
	"StepUsage.cache_write_tokens": {"Input tokens written to the provider's cache.", nil},

	"DeltaData.part_id": {"The part that the text belongs to, unique in the thread.", nil},
	"DeltaData.attempt": {"The model attempt that produced the text. `step.reset` separates two attempts.", nil},
	"DeltaData.offset":  {"The position of `text` in the part, in bytes of UTF-8.", nil},
	"DeltaData.text":    {"The next piece, in whole characters.", nil},

	"SaidData.part_id":    {"The `part_id` of its deltas.", nil},
	"SaidData.message_id": {messageID, nil},
	"SaidData.text":       {"The complete text.", nil},
	"SaidData.cut":        {"A cancel interrupted the model.", nil},

	"CallReadyData.call_id":    {callID, nil},
	"CallReadyData.tool_name":  {"The tool.", nil},
	"CallReadyData.arguments":  {"The model's arguments. Arguments that aren't valid JSON are a string.", anyValue},
	"CallReadyData.message_id": {"The assistant message that requested the call.", nil},
	"CallReadyData.client":     {"The client runs the tool, once the call waits for its result.", nil},

	"CallInvalidData.call_id":   {callID, nil},
	"CallInvalidData.tool_name": {"The tool.", nil},
	"CallInvalidData.detail":    {"What is wrong with the arguments.", nil},

	"CallStartedData.call_id":    {callID, nil},
	"CallStartedData.tool_name":  {"The tool.", nil},
	"CallStartedData.status":     {"Always `running`.", enumOf(core.CallRunning.String())},
	"CallStartedData.arguments":  {"The arguments that run, if an approver edited them.", anyValue},
	"CallStartedData.started_at": {"When the execution started. Omitted if it starts after this event is committed.", nil},
	"CallStartedData.updated_at": {"When the status changed.", nil},
	"CallStartedData.live":       {"The event is not stored.", nil},

	"CallProgressData.call_id":   {callID, nil},
	"CallProgressData.tool_name": {"The tool.", nil},
	"CallProgressData.done":      {"How much is done.", nil},
	"CallProgressData.total":     {"The total amount, if known.", nil},
	"CallProgressData.text":      {"What the tool is doing. Untrusted.", nil},

	"ChildStartedData.call_id":         {callID, nil},
	"ChildStartedData.tool_name":       {"The tool.", nil},
	"ChildStartedData.suspension":      {"The suspension of the call.", nil},
	"ChildStartedData.agent":           {"The agent that is called. With `remote`, the tool that calls it.", nil},
	"ChildStartedData.agent_version":   {"The version of it that runs. With `remote`, the version of the calling agent.", nil},
	"ChildStartedData.child_run_id":    {"The run.", runID},
	"ChildStartedData.child_thread_id": {"Its conversation. It takes no messages.", threadID},
	"ChildStartedData.remote":          {"The agent is a remote one: the run gives it a task and waits for the task's end.", nil},
	"ChildEndedData.call_id":           {callID, nil},
	"ChildEndedData.suspension":        {"The suspension of the call.", nil},
	"ChildEndedData.child_run_id":      {"The run.", runID},
	"ChildEndedData.outcome":           {"How the run ended: `succeeded`, or an outcome that begins with `child_`.", nil},
	"ChildEndedData.code":              {"The code of the run's error, or of what stopped it.", nil},
	"ChildEndedData.detail":            {"What happened, in words.", nil},
	"ChildEndedData.applied":           {"Whether the call still waited for the run.", nil},
	"ChildEndedData.usage":             {"What the run and the runs below it have used.", nil},
	"RemoteStartedData.task_id":        {"The id that the agent gave the task.", nil},
	"RemoteStartedData.context_id":     {"The agent's id for the conversation that the task belongs to.", nil},
	"RemoteStartedData.url":            {"Where requests about the task go.", nil},
	"RemoteStartedData.pushes":         {"Whether the agent sends a notification when there is news of the task. Otherwise the run only polls.", nil},
	"RemoteStartedData.again":          {"Whether the agent already had the task: its first acknowledgement was lost.", nil},
	"RemoteEndedData.task_id":          {"The task. Omitted if the agent never acknowledged one.", nil},
	"RemoteEndedData.outcome": {"`succeeded`; `failed`; `stopped`: no one waited for the task any more, and the agent confirmed that it stopped; `unconfirmed`: it didn't confirm that.",
		enumOf(coreevents.RemoteOutcomes...)},
	"RemoteEndedData.code":        {"The reason of `failed`, such as `remote_refused`.", nil},
	"RemoteEndedData.detail":      {"What happened, in words. Untrusted.", nil},
	"RemoteEndedData.attempts":    {"How many attempts to stop the task were not confirmed.", nil},
	"RemoteEndedData.message_id":  {"The assistant message that holds the result of `succeeded`.", nil},
	"RemoteEndedData.result":      {"The result of `succeeded`. Untrusted.", nil},
	"RemoteEndedData.value":       {"The result of `succeeded` if it is JSON. Untrusted.", anyValue},
	"CallRemindedData.call_id":    {callID, nil},
	"CallRemindedData.tool_name":  {"The tool.", nil},
	"CallRemindedData.suspension": {"The suspension. After `call.escalated` with `replaced`, another one waits.", nil},
	"CallRemindedData.moment":     {"How many of the moments at which something is due have passed.", nil},
	"CallRemindedData.moments":    {"How many there are.", nil},
	"CallRemindedData.deadline":   {"When the deadline passes. Omitted if there is none.", nil},
	"CallRemindedData.group":      {"Of `call.escalated`: the group that is asked.", nil},
	"CallRemindedData.replaced":   {"Of `call.escalated`: the group decides in place of the one before.", nil},

	"DecisionRefusedData.call_id":    {callID, nil},
	"DecisionRefusedData.suspension": {"The suspension. It still waits.", nil},
	"DecisionRefusedData.code":       {"Why the caller may not decide: `not_an_approver` or `separation_of_duties`.", nil},
	"DecisionRefusedData.by":         {whoBy, nil},
	"DecisionRefusedData.via":        {whoVia, nil},

	"CallInvalidAnswerData.call_id":    {callID, nil},
	"CallInvalidAnswerData.suspension": {"The suspension. It still waits.", nil},
	"CallInvalidAnswerData.detail":     {"What is wrong with the result.", nil},
	"CallInvalidAnswerData.by":         {whoBy, nil},
	"CallInvalidAnswerData.via":        {whoVia, nil},

	"CallResumingData.call_id":    {callID, nil},
	"CallResumingData.tool_name":  {"The tool. Omitted if the run itself waited.", nil},
	"CallResumingData.status":     {"Always `resuming`.", enumOf(core.CallResuming.String())},
	"CallResumingData.updated_at": {"When the status changed.", nil},

	"CallEndedData.call_id":      {callID, nil},
	"CallEndedData.tool_name":    {"The tool. Omitted if the run itself waited.", nil},
	"CallEndedData.status":       {"The same status as in the event type.", enumOf(core.CallSucceeded.String(), core.CallFailed.String(), core.CallCancelled.String())},
	"CallEndedData.outcome":      {"How the call ended. " + outcomesMean, callOutcomes},
	"CallEndedData.result":       {"The result as text.", nil},
	"CallEndedData.value":        {"The result as JSON. Omitted if it is plain text or was truncated.", anyValue},
	"CallEndedData.ran_with":     {"The edited arguments the call ran with. The model sees them.", anyValue},
	"CallEndedData.added":        {"What hooks appended to the result for the model.", nil},
	"CallEndedData.message_id":   {"The message with the result.", nil},
	"CallEndedData.started_at":   {"When the execution that settled the call started. Omitted if no execution settled it: a rule, a person, a client or the end of the run did.", nil},
	"CallEndedData.ended_at":     {"When the execution, or the wait, ended.", nil},
	"CallEndedData.attempts":     {"How many executions of the call have started, including those that suspended the call and those a crashed worker may have started.", nil},
	"CallEndedData.may_have_run": {"The call was cancelled while it ran, or while it was unknown whether it had run. It may have taken effect.", nil},
	"CallEndedData.suspension":   {"The suspension that ended with the call, if no decision ended it: the run ended first, or a message came instead of an answer. Subscribers to `decided` are notified.", nil},
	"CallEndedData.updated_at":   {"When the status changed.", nil},

	"DecisionRecordedData.call_id":                 {"The call that was answered.", nil},
	"DecisionRecordedData.suspension":              {"The suspension that was answered.", nil},
	"DecisionRecordedData.decision_id":             {"The key of the decision. The votes of two people can have the same one.", nil},
	"DecisionRecordedData.digest":                  {"SHA-256 of the decision's content, in hex. Omitted if a message or the deadline decided.", nil},
	"DecisionRecordedData.action":                  {"The action of the decision.", words[core.ResumeAction]()},
	"DecisionRecordedData.result":                  {"The result of the decision.", anyValue},
	"DecisionRecordedData.error":                   {"The error of the decision.", nil},
	"DecisionRecordedData.reason":                  {"The reason of the decision.", nil},
	"DecisionRecordedData.arguments":               {"The edited arguments.", anyValue},
	"DecisionRecordedData.arguments_digest":        {"SHA-256 of the canonical JSON of the arguments that the decision was about, in hex.", nil},
	"DecisionRecordedData.edited_arguments_digest": {"The same for the edited arguments.", nil},
	"DecisionRecordedData.grant":                   {"The grant of the decision.", nil},
	"DecisionRecordedData.by":                      {whoBy + " With `via: link` it is `link:` and the recipient; with `via: deadline` it is `deadline`.", nil},
	"DecisionRecordedData.via":                     {"The entry point: `api`, `link`, `message` or `deadline`.", nil},
	"DecisionRecordedData.link":                    {"The id of the approval link that was used.", nil},
	"DecisionRecordedData.verified":                {"How the recipient of that link was verified: `code`, by a one-time code sent to the mail address. Absent if the link was enough.", nil},
	"DecisionRecordedData.minted_by":               {"Who created that link.", nil},
	"DecisionRecordedData.shown":                   {"The fingerprint of the question that the approver saw. Omitted if the caller sent none.", nil},
	"DecisionRecordedData.shown_by":                {"The program that showed the question: `page/1` for the page of a link, `api`, or the name the client gave.", nil},
	"DecisionRecordedData.applied":                 {"Whether the decision took effect. False for a vote that left the question open.", nil},
	"DecisionRecordedData.vote":                    {"If several people decide about the call: what this vote came to.", nil},
	"DecisionRecordedData.timed_out":               {"The deadline passed without an answer and settled the call.", nil},
	"DecisionRecordedData.silent":                  {"With `timed_out`: the policy approves a call that no one has answered.", nil},
	"DecisionRecordedData.late":                    {"The decision arrived after the deadline and has no effect.", nil},
	"DecisionRecordedData.updated_at":              {"When the decision was sent.", nil},

	"StateDeltaData.ops":       {"The changes, in order.", nil},
	"StateOp.scope":            {"The scope of the entry. Omitted: the run.", words[core.Scope]()},
	"StateOp.key":              {"The key of the entry.", nil},
	"StateOp.op":               {"The operation.", words[core.StateOpKind]()},
	"StateOp.value":            {"The value that is set, added or inserted.", anyValue},
	"StateSnapshotData.run":    {"The state of the run.", nil},
	"StateSnapshotData.thread": {"The state of the conversation, shared by all its runs.", nil},

	"StepResetData.reason": {"`repeated`: the model is called again. `cancelled`: the run was cancelled. `model_unavailable`: the model call failed and is retried at `try_at`. `yielded`: the run made way for a newer one.", enumOf("repeated", "cancelled", "model_unavailable", "yielded")},
	"StepResetData.text":   {"What happened, for people.", nil},
	"StepResetData.code":   {"With `model_unavailable`: the cause.", nil},
	"StepResetData.try":    {"The number of consecutive failed attempts.", nil},
	"StepResetData.try_at": {"When the model is called again.", nil},

	"FailureData.detail": {"What went wrong.", nil},

	"RequestRecordedData.id":      {"The key of the request. A cancel has none.", nil},
	"RequestRecordedData.by":      {whoBy, nil},
	"RequestRecordedData.via":     {whoVia, nil},
	"RequestRecordedData.applied": {"Whether the request changed anything.", nil},

	"RunEndedData.reason": {"Why the run ended.", reasons},
	"RunEndedData.code":   {"The reason in detail, for programs.", nil},
	"RunEndedData.detail": {"The reason in detail, for people.", nil},
	"RunEndedData.by":     {"Who cancelled the run.", nil},
	"RunEndedData.via":    {whoVia, nil},

	"TurnEndedData.status":         {"Whether the run is done or suspended.", enumOf("done", "suspended")},
	"TurnEndedData.reason":         {"Why the run ended.", reasons},
	"TurnEndedData.code":           {"The reason in detail, for programs.", nil},
	"TurnEndedData.detail":         {"The reason in detail, for people.", nil},
	"TurnEndedData.by":             {"Who cancelled the run.", nil},
	"TurnEndedData.via":            {whoVia, nil},
	"TurnEndedData.response_state": {"How the agent describes the end of the run.", responses},
	"TurnEndedData.output":         {"The run's output: the value passed to `finish`, or the final text. Null if it has none; omitted if the run is suspended.", anyValue},
	"TurnEndedData.usage":          {"The tokens the run has used so far.", nil},
	"TurnEndedData.pending":        {"The suspended calls, as they were when the run was suspended.", nil},

	"ActivationEndedData.activation": {"The number of this activation of the run.", nil},
	"ActivationEndedData.outcome":    {"How the activation ended. `step_done`, `suspended_step_partial` and `waiting_for_remote` are followed by another activation.", activationOutcomes},
	"ActivationEndedData.step":       {"The last step of the run.", nil},

	"Health.status": {"`failing`, with status 503, while the store doesn't work reliably.", enumOf(wire.HealthOK, wire.HealthFailing)},
	"Health.storage": {"What is wrong with the store. `full`: reads work, writes are refused. `failing`: the disk returns errors. `damaged`: a part of the stored data is damaged. " +
		"`gone`: the data directory was moved, removed or replaced. Omitted if the store works.", enumOf(wire.StorageFull, wire.StorageFailing, wire.StorageDamaged, wire.StorageGone)},
	"Health.version":   {"The version of the program.", nil},
	"Health.log_bytes": {"Bytes of the write-ahead log that haven't been copied to the main database file. A log that keeps growing can't be copied.", nil},
}
