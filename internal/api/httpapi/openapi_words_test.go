package httpapi

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/planner"
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
	aSchema     = &schema{Types: []string{"object", "boolean"}}
	name255     = &schema{Type: "string", MaxLength: jsonschema.Ptr(255)}
	millis      = &schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)}
	statuses    = words[core.RunStatus]()
	messageIDs  = &schema{Type: "string", MaxLength: jsonschema.Ptr(128)}
	onPending   = enumOf("refuse", "abandon", "queue", "")
	reasons     = enumOf("natural_end", "behavior_requested", "stopped", "cancelled", "blocked", "error")
	responses   = enumOf(string(core.ResponseDone), string(core.ResponseNoOp), string(core.ResponseAwaitingInput))
)

const warningCodes = "`hidden`, `blanks`, `marks`, `not_text`, `order`, `mixed_scripts`, `looks_like`, `styled`, `digits`, `punctuation`, `power_of_ten`, " +
	"`many_digits`, `check_digits`, `address`, `same_name`, `similar_name`, `not_taken_apart`; others may come"

// input is what starts and messages carry.
var input = &schema{Description: "Text, or a list of content parts.", AnyOf: []*schema{
	{Type: "string", Pattern: `\S`, Description: "Text that is not blank."},
	{Type: "array", MinItems: jsonschema.Ptr(1), Items: refTo("InputPart")},
}}

// inputPart is one piece of an input.
var inputPart = &schema{Description: "A piece of what the user says.", OneOf: []*schema{
	partOf(core.PartText, []string{"text"}, map[string]*schema{"text": {Type: "string"}}),
	partOf(core.PartImage, []string{"media_type", "data"}, map[string]*schema{"media_type": enumOf(runinput.ImageTypes...), "data": inBase64}),
	partOf(core.PartDocument, []string{"media_type", "data"}, map[string]*schema{"media_type": enumOf(runinput.DocumentTypes...), "data": inBase64,
		"name": {Type: "string", MaxLength: jsonschema.Ptr(runinput.MaxName), Description: "Left out if it has none."}}),
}}

var inBase64 = &schema{Type: "string", ContentEncoding: "base64", MinLength: jsonschema.Ptr(4), Description: "Base64 in the usual alphabet, padded and in one line."}

func partOf(kind string, needed []string, members map[string]*schema) *schema {
	members["type"] = &schema{Const: jsonschema.Ptr[any](kind)}
	return &schema{Type: "object", Required: append([]string{"type"}, needed...), AdditionalProperties: nothing, Properties: members}
}

// Words that several members share.
const (
	whoBy     = "The principal, such as `token:anna`. Left out where callers have no names."
	whoVia    = "The way it came, such as `api`, `link` or `queue`."
	messageID = "The message, unique in its thread."
	callID    = "The call, unique in its thread."
)

var (
	causes             = enumOf(texts(core.TurnCauses)...)
	checkpoints        = enumOf(texts(core.Checkpoints)...)
	activationOutcomes = enumOf(planner.ActivationOutcomes...)
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
var narrowing = &schema{Type: "object", Description: "Rules that can only take away.", AdditionalProperties: nothing, PropertyOrder: []string{"block", "deny", "ask", "allow"},
	Properties: map[string]*schema{"block": ruleList, "deny": ruleList, "ask": ruleList, "allow": ruleList}}

var ruleList = &schema{Type: "array", Items: refTo("Rule")}

var rule = &schema{Description: "A tool's name or a pattern; or an object that can say more, as in agent files.", AnyOf: []*schema{
	{Type: "string", MinLength: jsonschema.Ptr(1)},
	{Type: "object", Required: []string{"tool"}},
}}

// abouts says of each component what it is.
var abouts = map[string]string{
	"StartRequest":     "What starts a run.",
	"MessageRequest":   "A new turn of a conversation.",
	"ResumeRequest":    "May be left out, as may each of its members.",
	"Nothing":          "No members; the body may be left out.",
	"Decision":         "An answer to a call that waits. What it must hold depends on the `kind` of the call.",
	"Answer":           "A decision on a suspension that is known.",
	"Verdict":          "The answer to a link.",
	"VerdictForm":      "The answer to a link, as its page sends it.",
	"Decisions":        "Several decisions, answered one by one.",
	"Run":              "A run as it was when it was read.",
	"RunPage":          "A page of runs.",
	"Usage":            "What the model took in and gave out, over the whole run.",
	"RunError":         "Why a run ended in error.",
	"Actor":            "Who did something, and which way it came.",
	"Pending":          "A call that waits for an answer.",
	"Request":          "What a user wrote before the call.",
	"Warning":          "Something that a reader of the arguments may miss.",
	"Suspension":       "What a decision names as its target, and what to show to the person or program that is asked.",
	"Part":             "A piece of a message.",
	"Approval":         "A call that waits, and the run it belongs to.",
	"ApprovalPage":     "A page of the inbox.",
	"LinkRequest":      "What makes an approval link.",
	"Link":             "An approval link.",
	"LinkPage":         "The approval links of a run.",
	"Outcome":          "What became of a call that waited.",
	"OutcomeDecision":  "What was decided, by whom and when.",
	"DecisionAnswer":   "What became of one decision.",
	"DecisionAnswers":  "What became of each decision, in the order of the request.",
	"Winner":           "The decision that was first.",
	"Message":          "One entry of a conversation.",
	"MessagePage":      "A page of a conversation.",
	"Preview":          "What an approver is shown of what a call would do.",
	"ToolDetails":      "What a tool does, for an approver.",
	"ToolCall":         "A call that the model asked for.",
	"Thread":           "A conversation.",
	"Event":            "One entry of a thread's log. More types may come: pass over those you do not know.",
	"EventPage":        "A page of events.",
	"FeedPage":         "A page of the events of all runs.",
	"Counts":           "How many calls wait for an answer.",
	"RecordedDecision": "A recorded decision, with its run and the call that waited.",
	"Call":             "A tool call of a run.",
	"CallPage":         "A page of tool calls.",
	"DecisionPage":     "A page of the history of decisions.",

	"RunStatusData":         "Data of `run.status`.",
	"RunStartedData":        "Data of `run.started`.",
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
	"CallInvalidAnswerData": "Data of `call.invalid_answer`.",
	"CallEndedData":         "Data of `call.succeeded`, `call.failed` and `call.cancelled`.",
	"DecisionRecordedData":  "Data of `decision.recorded`.",
	"StateDeltaData":        "Data of `state.delta`.",
	"StateOp":               "One change of the state.",
	"StateSnapshotData":     "Data of `state.snapshot`.",
	"StepResetData":         "Data of `step.reset`.",
	"FailureData":           "Data of `hook.failed` and `memory.failed`.",
	"RequestRecordedData":   "Data of `interrupt.recorded` and `cancel.recorded`.",
	"TurnEndedData":         "Data of `turn.ended`.",
	"ActivationEndedData":   "Data of `activation.ended`.",
	"Agent":                 "Something that can be run.",
	"AgentPage":             "All agents.",
	"Tool":                  "A tool of an agent.",
	"Problem":               "An error answer, RFC 9457. Programs go by `code`, which does not change.",
	"Health":                "The server and its store.",
}

// members says of each member what it means, and what it holds where its Go type leaves that open.
var members = map[string]member{
	"StartRequest.agent":       {"The agent's name.", &schema{Type: "string", MinLength: jsonschema.Ptr(1)}},
	"StartRequest.input":       {"What the user says: text, or a list of content parts.", refTo("Input")},
	"StartRequest.thread_id":   {"The conversation to go on with; left out, a new one begins.", nil},
	"StartRequest.metadata":    {"Kept and shown with the run; at most 2,048 bytes as compact JSON.", anObject},
	"StartRequest.on_pending":  {"With a `thread_id` whose run is open: `refuse` (or left out), `abandon` what it waits for, or `queue` behind it.", onPending},
	"StartRequest.permissions": {"Takes rights away from this run, on top of the agent's own rules; at most 1,024 bytes as compact JSON. The shapes are those of agent files; `allow` may stand there and means nothing.", refTo("Permissions")},
	"StartRequest.memory":      {"`false` keeps the run out of the agent's memory.", nil},

	"MessageRequest.input":      {"What the user says: text, or a list of content parts.", refTo("Input")},
	"MessageRequest.on_pending": {"If the run waits for a decision: `refuse` the message (or left out), `abandon` what it waits for, or `queue` behind it.", onPending},

	"ResumeRequest.decision_id": {"The caller's key: a repeat that carries it is known. At most 255 bytes.", name255},
	"ResumeRequest.reason":      {"Why, for the record.", nil},

	"VerdictForm.action": {"`resume` is a yes, `cancel` a no.", enumOf("resume", "cancel")},
	"VerdictForm.reason": {"Why, for the record; the model is told of a no's reason.", nil},
	"VerdictForm.result": {"Of a call whose `resume_mode` is `use_decision_as_tool_result`: the result, as text, or as JSON where its schema is not that of a text.", nil},
	"VerdictForm.shown":  {"The `fingerprint` of the question that was shown. Without it the form is refused (409 `changed`).", nil},
	"Verdict.action":     {"`resume` is a yes, `cancel` a no.", enumOf("resume", "cancel")},
	"Verdict.reason":     {"Why, for the record; the model is told of a no's reason.", nil},

	"Verdict.result":       {"Of a call whose `resume_mode` is `use_decision_as_tool_result`: the result that the call is to have. Any JSON.", anyValue},
	"Verdict.shown":        {"The `fingerprint` of the question that was shown. If the question is another one by now, nothing is stored (409 `changed`).", nil},
	"Decision.shown":       {"The `fingerprint` of the question that the approver was shown. If the question is another one by now, nothing is stored (409 `changed`). Left out, nothing is claimed. It is no part of what makes a repeat the same decision.", nil},
	"Decision.shown_by":    {"With `shown`: the program that drew the question and its version, such as `desk/2`. Left out, `api`.", nil},
	"Decision.decision_id": {"The caller's key, at most 255 bytes. Left out, it is made of the rest, so that a repeat is the same decision.", name255},
	"Decision.target":      {"A suspension's id; or a call's id, while that call was suspended only once.", &schema{Type: "string", MinLength: jsonschema.Ptr(1)}},
	"Decision.action":      {"`resume` is a yes, `cancel` a no. Left out, the result says it.", enumOf("resume", "cancel", "")},
	"Decision.result":      {"The result of a client or input call, or of one whose outcome is unknown. Of an approval, a yes or a no. Any JSON.", anyValue},
	"Decision.error":       {"In place of a result: the call failed. For an approval it is a no.", nil},
	"Decision.arguments":   {"With the yes to an approval: the arguments that the call runs with, in place of the model's.", anObject},
	"Decision.grant":       {"With the yes to an approval: `run` also allows the later calls of this run that the same rule would ask about.", enumOf(string(core.GrantRun), "")},
	"Decision.reason":      {"Why, for the record; the model is told of a no's reason.", nil},

	"Decisions.decisions": {"1 to 100 of them.", &schema{Type: "array", Items: refTo("DecisionOfSeveral"), MinItems: jsonschema.Ptr(1), MaxItems: jsonschema.Ptr(maxDecisions)}},

	"Run.id":             {"Opaque, with the prefix `run_`.", runID},
	"Run.thread_id":      {"The conversation it belongs to.", threadID},
	"Run.agent":          {"The agent's name.", nil},
	"Run.agent_version":  {"A digest of the agent's definition; the run keeps it to its end.", nil},
	"Run.status":         {"Where it is.", statuses},
	"Run.reason":         {"Why it ended; null until it is done.", orNull(reasons.CloneSchemas())},
	"Run.code":           {"Of a run that ended `stopped` or `blocked`: which rule. With `waiting_on`: why it waits, such as `model_unavailable`.", nil},
	"Run.detail":         {"A sentence beside `code`.", nil},
	"Work.steps":         {"How many turns of the model are committed.", nil},
	"Work.activations":   {"How often it was taken up.", nil},
	"Work.resumes":       {"How many decisions it went on with.", nil},
	"Work.usage":         {"Tokens.", nil},
	"Run.output":         {"The final text, or the value given to `finish`; null if there is none.", anyValue},
	"Run.response_state": {"How the agent says it ended; null unless it is done.", orNull(responses.CloneSchemas())},
	"Run.error":          {"Set if `reason` is `error`.", nil},
	"Run.started_by":     {"Who started it, or retried the run before.", nil},
	"Run.first_line": {"The first non-blank line of the run's input, at most 200 characters. Left out for a retry, which goes on from the input of `retry_of`, " +
		"for an input without text, and until a run with a long input starts.", nil},
	"Run.cancelled_by": {"Who cancelled it.", nil},
	"Actor.by":         {"The principal, such as `token:anna` or `link:anna@example.com`; left out where callers have no names.", nil},
	"Actor.via":        {"The way it came: `api`, `link` or `queue`.", nil},
	"Run.retry_of":     {"The run that this one goes on from.", orNull(runID.CloneSchemas())},
	"Run.metadata":     {"As it was given.", anObject},
	"Run.pending":      {"The calls that wait for an answer.", nil},
	"Run.queued":       {"How many messages wait for the end of this run.", nil},
	"Run.created_at":   {"When it was started.", nil},
	"Run.updated_at":   {"When it changed last.", nil},

	"Run.waiting_on": {"What a `running` run cannot go on without: `model`, while its model does not answer. The run goes on by itself when it does. " +
		"No such member: nothing.", enumOf("model")},
	"Run.waiting_since":   {"With `waiting_on`: when the first attempt in a row failed.", nil},
	"Run.next_attempt_at": {"With `waiting_on`: when the model is asked again. No such member while it is being asked.", nil},

	"Usage.input_tokens":  {"Taken in.", nil},
	"Usage.output_tokens": {"Given out.", nil},

	"RunError.code":   {"What went wrong.", nil},
	"RunError.detail": {"A sentence.", nil},

	"Pending.call_id":         {"The call's id.", nil},
	"Pending.tool_name":       {"The tool, by the name that call events use.", nil},
	"Pending.asked_arguments": {"As the model asked. Left out unless a person edited them.", anyValue},
	"Pending.tool":            {"The tool; empty where the run as a whole was interrupted.", nil},
	"Pending.arguments":       {"Those it would run with.", anyValue},
	"Pending.kind":            {"Who is expected to answer: an approver (`approval`), a client that runs the tool (`client`), the person or program that is asked (`input`), a person who finds out what happened (`unknown_outcome`), a person who resumes the run (`interrupt`).", words[core.Kind]()},
	"Pending.suspension":      {"What to answer.", nil},
	"Pending.resume_mode":     {"How the answer becomes a result.", words[core.ResumeMode]()},
	"Pending.since":           {"Since when it waits.", nil},
	"Pending.deadline":        {"When it is settled without an answer. Left out: never.", nil},
	"Pending.grantable":       {"Whether a yes may carry `\"grant\":\"run\"`.", nil},
	"Pending.grant_scope":     {"What that allows beyond this call, in a sentence to show before it is given.", nil},
	"Pending.not_by":          {"`starter`: the callers who asked for the thread's work may deny the call, but not approve it.", enumOf(core.NotByStarter, "")},
	"Pending.approvers":       {"The only callers who may approve it.", nil},
	"Pending.warnings":        {"What a reader of the arguments may miss, such as characters that do not show; at most 20. Left out: nothing.", nil},

	"Pending.requests":     {"The thread's user messages that the model had read when it asked for this call, the newest last: at most 8. Those of earlier runs are among them.", nil},
	"Pending.requests_cut": {"Whether there are earlier messages, which are not shown.", nil},
	"Pending.said":         {"The model's own words in the turn that asks for the call: at most 2 KiB of them. They are the model's account, not a fact.", nil},
	"Pending.said_cut":     {"Whether they go on.", nil},
	"Pending.tool_details": {"What the tool does and where its calls go, in the version that the run is pinned to. Left out where that version cannot be read.", nil},
	"Pending.fingerprint":  {"Names exactly this question: tenant, run, suspension, version of the agent, tool, the arguments that would run, and the preview. Send it back as `shown` with the decision.", fingerprint},

	"Request.text":  {"What a user wrote: at most 2 KiB of the newest message and 512 bytes of each one before.", nil},
	"Request.cut":   {"Whether the text goes on.", nil},
	"Request.files": {"How many images and documents came with it. They are not shown.", nil},
	"Request.by":    {"Who sent it; left out where callers have no names.", nil},
	"Request.via":   {"The way it came: `api` or `queue`.", nil},

	"Pending.preview": {"What the call would do, where the agent says how to show that. It was made before anyone was asked, and every reader sees the same.", nil},
	"Preview.text":    {"A text with the arguments in it, or what a tool that only reads found: at most 4 KiB.", nil},
	"Preview.failed":  {"Why there is no text, in a sentence.", nil},
	"Preview.tool":    {"The tool that found it. Left out for a text of the agent's author.", nil},

	"ToolDetails.description": {"What the agent's author says that it does.", nil},
	"ToolDetails.kind":        {"What runs the call: `http`, `lambda`, `mcp`, `go`, `client` or `recorded`.", nil},
	"ToolDetails.target":      {"Where the call goes: the method and the host, the function, or the server and its tool. It holds no path, query, header or user name.", nil},

	"Warning.path": {"The value it is about, or that leads to it through a name it is about, as a JSON Pointer; of a long one, that of what is around it.", nil},
	"Warning.code": {"What it is: " + warningCodes + ".", nil},
	"Warning.text": {"The same in a sentence, in ASCII.", nil},

	"Suspension.id":              {"Opaque, with the prefix `sus_`.", susID},
	"Suspension.action":          {"What is asked for.", nil},
	"Suspension.message":         {"Why, for people.", nil},
	"Suspension.response_schema": {"A JSON Schema that the result must fit.", aSchema},

	"Approval.run_id":        {"The run that waits.", runID},
	"Approval.thread_id":     {"Its conversation.", threadID},
	"Approval.agent":         {"Its agent.", nil},
	"Approval.agent_version": {"The version that the run is pinned to.", nil},
	"Approval.metadata":      {"As the run was given it.", anObject},
	"Approval.started_by":    {"Who started the run.", nil},
	"Approval.error":         {"Set if what waits cannot be read (`unreadable`): nothing else of the call is known then. One such entry hides no other.", nil},

	"LinkRequest.target":     {"A suspension's id; or a call's id, while that call was suspended only once. It waits for an approval.", &schema{Type: "string", MinLength: jsonschema.Ptr(1)}},
	"LinkRequest.for":        {"The one recipient, a name or an address: at most 120 characters, all of which show. It is recorded with the decision.", &schema{Type: "string", MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(120), Pattern: `\S`}},
	"LinkRequest.expires_in": {"In how many seconds it expires: at most, and if left out, 604,800 (7 days).", &schema{Type: "integer", Minimum: jsonschema.Ptr(0.0), Maximum: jsonschema.Ptr(604800.0)}},

	"Link.id":         {"Opaque, with the prefix `lnk_`. It answers nothing.", nil},
	"Link.run_id":     {"The run of the call.", runID},
	"Link.suspension": {"The suspension that the link answers.", susID},
	"Link.call_id":    {"The call that waits.", nil},
	"Link.tool":       {"Its tool.", nil},
	"Link.for":        {"The recipient.", nil},
	"Link.created_by": {"Who made it; left out where the server needs no tokens.", nil},
	"Link.created_at": {"When it was made.", nil},
	"Link.expires_at": {"Until when it answers: its own end, or the deadline of the call if that is sooner.", nil},
	"Link.revoked_at": {"When it was revoked; left out if it was not.", nil},
	"Link.revoked_by": {"Who revoked it.", nil},
	"Link.link":       {"What answers the call, without a token: a path of this server, or a whole URL where the server has a public one (`--public-url`). It is shown once, to the caller who made it.", nil},

	"Outcome.run_id":      {"The run of the call.", runID},
	"Outcome.thread_id":   {"Its conversation.", threadID},
	"Outcome.agent":       {"Its agent.", nil},
	"Outcome.call_id":     {"The call that waited.", nil},
	"Outcome.tool":        {"Its tool.", nil},
	"Outcome.suspension":  {"The suspension that the link was for.", susID},
	"Outcome.resume_mode": {"How the answer was to become a result.", words[core.ResumeMode]()},
	"Outcome.since":       {"Since when it waited.", nil},
	"Outcome.deadline":    {"When it was to be decided without an answer. No such member: never.", nil},
	"Outcome.state":       {"`answered`; `timed_out`: no answer came before the deadline; `withdrawn`: the run ended or went on without an answer.", enumOf(query.OutcomeAnswered, query.OutcomeTimedOut, query.OutcomeWithdrawn)},
	"Outcome.decision":    {"What was decided. Left out if nothing was, or the deadline was not applied yet.", nil},
	"Outcome.call":        {"How the call went on from there, once that is known.", enumOf("succeeded", "failed", "cancelled", "suspended")},

	"OutcomeDecision.action":  {"What it said.", words[core.ResumeAction]()},
	"OutcomeDecision.error":   {"The error that the call was given.", nil},
	"OutcomeDecision.reason":  {"Its reason.", nil},
	"OutcomeDecision.by":      {"Who decided: `token:` and the token's name, `link:` and the recipient, or `deadline`; left out where callers have no names. Records of earlier versions have `message` where a message answered.", nil},
	"OutcomeDecision.via":     {"The way it came, as in `decision.recorded`.", nil},
	"OutcomeDecision.at":      {"When.", nil},
	"OutcomeDecision.applied": {"Whether it took effect; left out until the run has taken it up.", nil},

	"DecisionAnswer.status":      {"The HTTP status that it would have had alone.", millis},
	"DecisionAnswer.code":        {"`accepted`, `already_decided`, or the code of a problem.", nil},
	"DecisionAnswer.detail":      {"A sentence, of a refusal.", nil},
	"DecisionAnswer.target":      {"As it was sent.", nil},
	"DecisionAnswer.call_id":     {"The call that was answered.", nil},
	"DecisionAnswer.decision_id": {"The caller's key, or the one that was made.", nil},
	"DecisionAnswer.same":        {"With `already_decided`: whether it was this decision.", nil},
	"DecisionAnswer.applied":     {"Whether it took effect; left out while that is open.", nil},
	"DecisionAnswer.winner":      {"The decision that was first, if it was another.", nil},
	"DecisionAnswers.answers":    {"One for each decision.", nil},

	"Winner.decision_id": {"Its key.", nil},
	"Winner.action":      {"What it said.", words[core.ResumeAction]()},
	"Winner.result":      {"Its result.", anyValue},
	"Winner.error":       {"Its error.", nil},
	"Winner.reason":      {"Its reason.", nil},
	"Winner.by":          {"Who decided; left out where callers have no names.", nil},
	"Winner.via":         {"The way it came.", nil},
	"Winner.at":          {"When.", nil},

	"Message.id":         {"Unique in the thread. Of a user message: the `message_id` that its sender gave it, if any.", nil},
	"Message.seq":        {"Of the event that tells of the message.", nil},
	"Message.step":       {"Of that event.", nil},
	"Message.cut":        {"Of an assistant message: a cancel stopped the model in the middle of it.", nil},
	"Message.outcome":    {"Of a tool's message: how the call ended. [Call outcomes](events.md#call-outcomes) lists them.", callOutcomes},
	"Message.value":      {"Of a tool's message: the result as JSON. Left out if it is plain text or was cut off.", anyValue},
	"Message.ran_with":   {"Of a tool's message: the edited arguments that the call ran with. The model is told of them.", anyValue},
	"Message.added":      {"Of a tool's message: what hooks added to the result for the model.", nil},
	"Message.run_id":     {"The run it belongs to.", runID},
	"Message.role":       {"Who says it.", enumOf(string(core.RoleUser), string(core.RoleAssistant), string(core.RoleTool))},
	"Message.text":       {"What is said; of a tool, its result.", nil},
	"Message.parts":      {"All that the message is made of, in its order; left out if that is text alone.", nil},
	"Message.tool_calls": {"The calls that the model asks for.", nil},
	"Message.call_id":    {"Of a tool's message: the call that it answers.", nil},
	"Message.tool":       {"Of a tool's message: the tool.", nil},
	"Message.error":      {"Whether the result tells of a failure.", nil},
	"Message.pending":    {"It stands where the call waited; the result comes later.", nil},
	"Message.by":         {"Of a user message: the principal who sent it.", nil},
	"Message.via":        {"Of a user message: the way it came.", nil},
	"Message.answers":    {"Of a user message: the call whose result its text became.", nil},
	"Message.at":         {"When it was committed.", nil},

	"Part.type": {"What it is. `reasoning` is what the model thought; what its provider seals is not shown, and the text may be missing.",
		enumOf(core.PartText, core.PartReasoning, core.PartImage, core.PartDocument)},
	"Part.text":       {"Of text and reasoning.", nil},
	"Part.media_type": {"Of an image or a document.", nil},
	"Part.name":       {"Of a document.", nil},
	"Part.bytes":      {"How many bytes an image or a document has.", nil},
	"Part.data":       {"These bytes in base64, where `data=true` asks for them.", &schema{Type: "string", ContentEncoding: "base64"}},

	"ToolCall.id":        {"The call's id.", nil},
	"ToolCall.name":      {"The tool.", nil},
	"ToolCall.arguments": {"As the model wrote them; text that is no JSON is shown as a text.", anyValue},

	"Thread.id":     {"Opaque, with the prefix `thr_`.", threadID},
	"Thread.agent":  {"The agent of its newest run.", nil},
	"Thread.run_id": {"Its newest run.", runID},
	"Thread.status": {"The status of that run.", statuses},

	"StartRequest.thread_key":   {"Your own id of the conversation, at most 255 bytes: the conversation is found or created. Not with `thread_id`.", name255},
	"StartRequest.message_id":   {"Your own id of the input, at most 128 bytes. In a conversation the same id has the effect of one request, in place of an `Idempotency-Key`; a request with both is refused.", messageIDs},
	"MessageRequest.message_id": {"Your own id of the message, at most 128 bytes. The same id has the effect of one request, in place of an `Idempotency-Key`; a request with both is refused.", messageIDs},
	"Run.cursor":                {"The position in the run's events behind everything that was committed when it was read.", nil},
	"Thread.cursor":             {"The position in its events behind everything that was committed when it was read.", nil},
	"Thread.key":                {"The `thread_key` it was read by.", nil},
	"DecisionAnswer.cursor":     {"With `accepted`: the position in the run's events at that moment. Read from here to see what follows.", nil},
	"Decisions.all_or_none":     {"Whether all of them are stored in one write, or none. At most 16 then.", nil},
	"BatchExtra.answers":        {"With `batch_refused`: what each decision met. The code `batch_refused` says that nothing is wrong with a decision itself.", nil},
	"Answer.shown":              {"The `fingerprint` of the question that the approver was shown. If the question is another one by now, nothing is stored (409 `changed`). Left out, nothing is claimed. It is no part of what makes a repeat the same decision.", nil},
	"Answer.shown_by":           {"With `shown`: the program that drew the question and its version, such as `desk/2`. Left out, `api`.", nil},
	"Answer.decision_id":        {"The caller's key, at most 255 bytes. Left out, it is made of the rest, so that a repeat is the same decision.", name255},
	"Answer.action":             {"`resume` is a yes, `cancel` a no. Left out, the result says it.", enumOf("resume", "cancel", "")},
	"Answer.result":             {"The result of a client or input call, or of one whose outcome is unknown. Of an approval, a yes or a no. Any JSON.", anyValue},
	"Answer.error":              {"In place of a result: the call failed. For an approval it is a no.", nil},
	"Answer.arguments":          {"With the yes to an approval: the arguments that the call runs with, in place of the model's.", anObject},
	"Answer.grant":              {"With the yes to an approval: `run` also allows the later calls of this run that the same rule would ask about.", enumOf(string(core.GrantRun), "")},
	"Answer.reason":             {"Why, for the record; the model is told of a no's reason.", nil},
	"Call.call_id":              {callID, nil},
	"Call.tool_name":            {"The tool. Empty if the run itself waits.", nil},
	"Call.arguments":            {"As the model asked.", anyValue},
	"Call.ran_with":             {"The edited arguments that the call ran with, or is to run with. Left out unless a person edited them.", anyValue},
	"Call.message_id":           {"The assistant message that asks for the call.", nil},
	"Call.step":                 {"The step that asked for it.", nil},
	"Call.status":               {"Where the call is now.", words[core.CallStatus]()},
	"Call.kind":                 {"Who is expected to answer, or was asked last.", nil},
	"Call.resume_token":         {"The suspension it waits on, or waited on last: the `target` of a decision.", nil},
	"Call.resume_mode":          {"How the answer becomes a result.", words[core.ResumeMode]()},
	"Call.deadline":             {"When the wait ends without an answer.", nil},
	"Call.resume":               {"The decision that was applied to that suspension. Left out while there is none.", nil},
	"Call.scratch":              {"What the tool keeps from one run of its body to the next. Gone when the call has ended.", anyValue},
	"Call.outcome":              {"How the call ended. [Call outcomes](events.md#call-outcomes) lists them.", callOutcomes},
	"Call.result":               {"The result as text.", nil},
	"Call.value":                {"The result as JSON. Left out if it is plain text or was cut off.", anyValue},
	"Call.may_have_run":         {"The call was cancelled and may have taken effect.", nil},
	"Call.attempts":             {"How many bodies of the call have started, as far as that is committed.", nil},
	"Call.ready_at":             {"When the model's turn that asks for it was committed.", nil},
	"Call.started_at":           {"When its last body started.", nil},
	"Call.ended_at":             {"When the call ended.", nil},
	"Call.updated_at":           {"When it last changed.", nil},
	"Event.v":                   {"The version of the shapes of all events. New types and new members do not change it.", &schema{Type: "integer", Const: jsonschema.Ptr[any](float64(wire.EventVersion))}},
	"Event.checkpoint":          {"On the last event of a commit: what the commit made durable.", &schema{Type: "array", Items: checkpoints}},
	"Event.seq":                 {"Numbered without gaps in each thread.", nil},
	"Event.run_id":              {"The run it belongs to.", runID},
	"Event.thread_id":           {"Its conversation.", threadID},
	"Event.turn":                {"The run's turn, from 1. A turn starts with an input, a message or an answer, and ends when the run is done or waits.", nil},
	"Event.step":                {"The run's step, from 1: an answer of the model, and its calls. Left out before the first.", nil},
	"Event.at":                  {"When it was committed.", nil},
	"Event.type":                {"What happened.", nil},
	"Event.data":                {"What it holds depends on `type`. Left out if the type has none.", anyValue},
	"Event.cursor":              {"Where to go on reading behind this event.", nil},

	"Agent.name":         {"Its name.", nil},
	"Agent.version":      {"A digest of its definition.", nil},
	"Agent.description":  {"What it is for.", nil},
	"Agent.model":        {"Whose model it asks.", nil},
	"Agent.instructions": {"What the model is told first.", nil},
	"Agent.tools":        {"What it may call.", nil},
	"Agent.unavailable":  {"Why it cannot be started now, and why its open runs wait. Not there if it can be started.", nil},

	"Tool.name":        {"Its name.", nil},
	"Tool.description": {"What it does.", nil},
	"Tool.parameters":  {"A JSON Schema of its arguments.", aSchema},
	"Tool.result":      {"Of a client tool: a JSON Schema of what the caller answers.", aSchema},
	"Tool.delivery":    {"Whether it may run twice if a process is lost.", words[core.Delivery]()},
	"Tool.client":      {"Whoever calls this API runs it.", nil},
	"Tool.permission":  {"What the agent's rules say of it; `conditional` if that depends on the arguments.", nil},

	"Page.items": {"The entries.", nil},
	"Page.next":  {"The cursor of the next page; left out on the last one.", nil},

	"FeedPage.items":  {"The events, roughly in time order.", nil},
	"FeedPage.next":   {"The cursor for the next request; always set.", nil},
	"FeedPage.counts": {"How many calls wait. Set on the page that reaches the end of the feed, if anything was committed since `after`.", nil},

	"Counts.waiting":  {"How many calls wait for an answer.", nil},
	"Counts.kinds":    {"How many of each kind, such as `approval` or `client`.", nil},
	"Counts.at_least": {"The real number may be higher: counting stopped at 500 runs, or a run could not be read.", nil},

	"DecisionPage.items":      {"The decisions, newest first.", nil},
	"DecisionPage.next":       {"The cursor of the next page; left out on the last one.", nil},
	"DecisionPage.unreadable": {"How many decisions, or commits with decisions, are missing because their run cannot be read.", nil},

	"RecordedDecision.at":          {"When it was recorded.", nil},
	"RecordedDecision.run_id":      {"Its run.", runID},
	"RecordedDecision.thread_id":   {"The run's conversation.", threadID},
	"RecordedDecision.seq":         {"The number of its event in the conversation.", nil},
	"RecordedDecision.agent":       {"The agent of the run.", nil},
	"RecordedDecision.tool_name":   {"The tool whose call waited; empty if the run itself waited.", nil},
	"RecordedDecision.kind":        {"What the call waited for.", nil},
	"RecordedDecision.resume_mode": {"What happens to the call when it is approved.", nil},
	"RecordedDecision.unreadable":  {"Set if the decision or its run cannot be read; members are then missing.", nil},

	"EventPage.items":   {"The events.", nil},
	"EventPage.next":    {"The cursor for the next request; always set.", nil},
	"EventPage.done":    {"The run is over, and all of it was shown.", nil},
	"EventPage.waiting": {"The run waits for an answer, and all of it was shown.", nil},

	"Problem.type":         {"Always `about:blank`.", &schema{Const: jsonschema.Ptr[any]("about:blank")}},
	"Problem.title":        {"A few words.", nil},
	"Problem.status":       {"The HTTP status.", nil},
	"Problem.code":         {"What is wrong, for programs.", nil},
	"Problem.detail":       {"A sentence that is safe to show.", nil},
	"Problem.run_id":       {"With `run_open`: the run that is in the way.", nil},
	"DecisionExtra.same":   {"With `already_decided`: false, since another decision was first.", nil},
	"DecisionExtra.winner": {"With `already_decided`: that decision.", nil},

	"RunStatusData.id":          {"The run.", runID},
	"RunStatusData.status":      {"Its new status.", statuses},
	"RunStatusData.done_reason": {"Why it ended; null until it is done.", orNull(reasons.CloneSchemas())},
	"RunStatusData.updated_at":  {"When the status changed.", nil},

	"RunStartedData.by":       {whoBy, nil},
	"RunStartedData.via":      {whoVia, nil},
	"RunStartedData.retry_of": {"The run that this one retries.", runID},

	"TurnStartedData.cause": {"What started the turn.", causes},

	"MessageReceivedData.message_id": {messageID, nil},
	"MessageReceivedData.text":       {"Its text. Images and documents are in the message.", nil},
	"MessageReceivedData.by":         {whoBy, nil},
	"MessageReceivedData.via":        {whoVia, nil},
	"MessageReceivedData.answers":    {"The call whose result the text became.", nil},

	"MessageQueuedData.key":        {"Names the message among those that wait.", nil},
	"MessageQueuedData.message_id": {"The id that its sender gave it.", nil},
	"MessageQueuedData.parts":      {"Its content, without the bytes of images and documents.", nil},
	"MessageQueuedData.by":         {whoBy, nil},
	"MessageQueuedData.via":        {whoVia, nil},

	"StepStartedData.asked_at":       {"When the model was asked.", nil},
	"StepStartedData.latency_ms":     {"Milliseconds until its answer was complete.", nil},
	"StepStartedData.first_token_ms": {"Milliseconds until its first words. Left out if the answer did not come in pieces.", nil},
	"StepStartedData.usage":          {"What the call used. Null if the provider did not say; left out if the model counts no tokens.", orNull(refTo("StepUsage"))},

	"StepUsage.input_tokens":       {"All that was read, from a cache or not.", nil},
	"StepUsage.output_tokens":      {"All that was written.", nil},
	"StepUsage.cache_read_tokens":  {"Of the input, what came from the provider's cache.", nil},
	"StepUsage.cache_write_tokens": {"Of the input, what was put into the provider's cache.", nil},

	"DeltaData.part_id": {"What it is part of, unique in the thread.", nil},
	"DeltaData.attempt": {"Which attempt of the model says it. `step.reset` comes between two attempts.", nil},
	"DeltaData.offset":  {"Where the text begins, in bytes of UTF-8.", nil},
	"DeltaData.text":    {"The next piece, in whole characters.", nil},

	"SaidData.part_id":    {"The same as that of its deltas.", nil},
	"SaidData.message_id": {messageID, nil},
	"SaidData.text":       {"All of it.", nil},
	"SaidData.cut":        {"A cancel stopped the model in the middle of it.", nil},

	"CallReadyData.call_id":    {callID, nil},
	"CallReadyData.tool_name":  {"The tool.", nil},
	"CallReadyData.arguments":  {"As the model wrote them. Text that is no JSON is shown as a text.", anyValue},
	"CallReadyData.message_id": {"The assistant message that asks for the call.", nil},

	"CallInvalidData.call_id":   {callID, nil},
	"CallInvalidData.tool_name": {"The tool.", nil},
	"CallInvalidData.detail":    {"What is wrong with the arguments.", nil},

	"CallStartedData.call_id":    {callID, nil},
	"CallStartedData.tool_name":  {"The tool.", nil},
	"CallStartedData.status":     {"Always `running`.", enumOf(core.CallRunning.String())},
	"CallStartedData.arguments":  {"Those that run, if a person edited them.", anyValue},
	"CallStartedData.started_at": {"When the body started. Left out if it starts after this event is committed.", nil},
	"CallStartedData.updated_at": {"When the status changed.", nil},
	"CallStartedData.live":       {"The event is not stored.", nil},

	"CallProgressData.call_id":   {callID, nil},
	"CallProgressData.tool_name": {"The tool.", nil},
	"CallProgressData.done":      {"How much is done.", nil},
	"CallProgressData.total":     {"Of how much, if that is known.", nil},
	"CallProgressData.text":      {"What the tool is doing. Untrusted.", nil},

	"CallInvalidAnswerData.call_id":    {callID, nil},
	"CallInvalidAnswerData.suspension": {"The suspension that still waits.", nil},
	"CallInvalidAnswerData.detail":     {"What is wrong with the result.", nil},
	"CallInvalidAnswerData.by":         {whoBy, nil},
	"CallInvalidAnswerData.via":        {whoVia, nil},

	"CallResumingData.call_id":    {callID, nil},
	"CallResumingData.tool_name":  {"The tool. Left out if the run itself waited.", nil},
	"CallResumingData.status":     {"Always `resuming`.", enumOf(core.CallResuming.String())},
	"CallResumingData.updated_at": {"When the status changed.", nil},

	"CallEndedData.call_id":      {callID, nil},
	"CallEndedData.tool_name":    {"The tool. Left out if the run itself waited.", nil},
	"CallEndedData.status":       {"As the type of the event says.", enumOf(core.CallSucceeded.String(), core.CallFailed.String(), core.CallCancelled.String())},
	"CallEndedData.outcome":      {"How the call ended. [Call outcomes](events.md#call-outcomes) lists them.", callOutcomes},
	"CallEndedData.result":       {"The result as text.", nil},
	"CallEndedData.value":        {"The result as JSON. Left out if it is plain text or was cut off.", anyValue},
	"CallEndedData.ran_with":     {"The edited arguments that the call ran with. The model is told of them.", anyValue},
	"CallEndedData.added":        {"What hooks added to the result for the model.", nil},
	"CallEndedData.message_id":   {"The message that holds the result.", nil},
	"CallEndedData.started_at":   {"When the body that settled the call started. Left out if no body did: a rule, a person, a client or the end of the run.", nil},
	"CallEndedData.ended_at":     {"When the body, or the wait, ended.", nil},
	"CallEndedData.attempts":     {"How many bodies of the call have started, those included that asked to wait or that a crashed worker may have started.", nil},
	"CallEndedData.may_have_run": {"The call was cancelled while its body ran, or while it was unknown whether it had run: it may have taken effect.", nil},
	"CallEndedData.updated_at":   {"When the status changed.", nil},

	"DecisionRecordedData.call_id":                 {"The call that was answered.", nil},
	"DecisionRecordedData.suspension":              {"The suspension that was answered.", nil},
	"DecisionRecordedData.decision_id":             {"The key of the decision.", nil},
	"DecisionRecordedData.digest":                  {"SHA-256 of what the decision says, in hex. Left out if a message or the deadline decided.", nil},
	"DecisionRecordedData.action":                  {"What it says.", words[core.ResumeAction]()},
	"DecisionRecordedData.result":                  {"Its result.", anyValue},
	"DecisionRecordedData.error":                   {"Its error.", nil},
	"DecisionRecordedData.reason":                  {"Its reason.", nil},
	"DecisionRecordedData.arguments":               {"The arguments that it puts in place of the call's.", anyValue},
	"DecisionRecordedData.arguments_digest":        {"SHA-256 of the arguments that the decision was about, in hex, of their canonical JSON.", nil},
	"DecisionRecordedData.edited_arguments_digest": {"The same of the edited arguments.", nil},
	"DecisionRecordedData.grant":                   {"What else it allows.", nil},
	"DecisionRecordedData.by":                      {whoBy + " With `via` `link`: `link:` and the recipient; with `via` `deadline`: `deadline`.", nil},
	"DecisionRecordedData.via":                     {"The way the decision came: `api`, `link`, `message` or `deadline`.", nil},
	"DecisionRecordedData.link":                    {"The id of the link it came by.", nil},
	"DecisionRecordedData.minted_by":               {"Who made that link.", nil},
	"DecisionRecordedData.shown":                   {"The fingerprint of the question that the approver was shown. Left out: nothing was claimed.", nil},
	"DecisionRecordedData.shown_by":                {"What drew it: `page/1` for the page of a link, `api`, or what the client calls itself.", nil},
	"DecisionRecordedData.applied":                 {"Whether it took effect.", nil},
	"DecisionRecordedData.timed_out":               {"The deadline passed without an answer, and decided.", nil},
	"DecisionRecordedData.late":                    {"It came after the deadline and changes nothing.", nil},
	"DecisionRecordedData.updated_at":              {"When it was sent.", nil},

	"StateDeltaData.ops":       {"The changes, in order.", nil},
	"StateOp.scope":            {"Whose state; left out, the run's.", words[core.Scope]()},
	"StateOp.key":              {"Which entry.", nil},
	"StateOp.op":               {"What is done to it.", words[core.StateOpKind]()},
	"StateOp.value":            {"What is set, added or inserted.", anyValue},
	"StateSnapshotData.run":    {"The run's.", nil},
	"StateSnapshotData.thread": {"The conversation's, over all its runs.", nil},

	"StepResetData.reason": {"`repeated`: the model is asked again. `cancelled`: the run was cancelled. `model_unavailable`: the model failed, and is asked again at `try_at`. `yielded`: the run made way for others.", enumOf("repeated", "cancelled", "model_unavailable", "yielded")},
	"StepResetData.text":   {"What happened, in words.", nil},
	"StepResetData.code":   {"With `model_unavailable`: why.", nil},
	"StepResetData.try":    {"How many attempts in a row have failed.", nil},
	"StepResetData.try_at": {"When the model is asked again.", nil},

	"FailureData.detail": {"What went wrong.", nil},

	"RequestRecordedData.id":      {"The key of the request. A cancel has none.", nil},
	"RequestRecordedData.by":      {whoBy, nil},
	"RequestRecordedData.via":     {whoVia, nil},
	"RequestRecordedData.applied": {"Whether it changed anything.", nil},

	"TurnEndedData.status":         {"Whether the run is done or waits.", enumOf("done", "suspended")},
	"TurnEndedData.reason":         {"Why the run ended.", reasons},
	"TurnEndedData.code":           {"More about the reason, for programs.", nil},
	"TurnEndedData.detail":         {"More about the reason, in words.", nil},
	"TurnEndedData.by":             {"Who cancelled the run.", nil},
	"TurnEndedData.via":            {whoVia, nil},
	"TurnEndedData.response_state": {"What the end means to the caller.", responses},
	"TurnEndedData.output":         {"The run's output: the value it finished with, or its final text. Null if it has none; left out if the run waits.", anyValue},
	"TurnEndedData.usage":          {"What the run has used so far.", nil},
	"TurnEndedData.pending":        {"What the run waits for, as it was when it began to wait.", nil},

	"ActivationEndedData.activation": {"Counts the activations of the run.", nil},
	"ActivationEndedData.outcome":    {"How it ended: `step_done` and `suspended_step_partial` are followed by another activation.", activationOutcomes},
	"ActivationEndedData.step":       {"The run's last step.", nil},

	"Health.status": {"`failing`, with 503, while the store can't be relied on.", enumOf(wire.HealthOK, wire.HealthFailing)},
	"Health.storage": {"What is wrong with the store. `full`: reads are served and nothing is stored. `failing`: the disk answers with errors. `damaged`: a part of what is stored is damaged. " +
		"`gone`: the data directory was moved, removed or replaced. Left out if nothing is wrong.", enumOf(wire.StorageFull, wire.StorageFailing, wire.StorageDamaged, wire.StorageGone)},
	"Health.version":   {"Of the program.", nil},
	"Health.log_bytes": {"Bytes of the write-ahead log that are not in the database's main file yet. A log that keeps growing says that it can't be copied.", nil},
}
