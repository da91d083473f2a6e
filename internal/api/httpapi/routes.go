package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/params"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// route is one operation of the API: the server, the OpenAPI document and docs/reference/api.md are
// all built from it.
type route struct {
	method, path string
	name         string // the operation's, in the document
	tag          string
	title        string // a few words, imperative
	about        string // a paragraph; empty if the title suffices

	roles  []access.Role // the caller needs one of them; none: no token needed
	link   bool          // opened with a link: errors may be pages, unknown parameters ignored
	stream bool          // opened with a ticket, at the address of streams
	paced  pace.Kind     // counts against this rate of the tenant
	raw    bool          // the body is taken as it came, whatever its media type is

	params  []param // of query and header; path parameters are derived from path
	body    *body   // nil: it takes none
	answers []answered
	codes   []refusal.Code // of errors, in addition to those of every operation

	serve handler
}

// param is a parameter of the query or a header.
type param struct {
	in, name, about string
	number          bool // a non-negative integer; otherwise text
	most            int  // of a number: larger values count as this
	longest         int  // of text: in bytes
	moment          bool // of text: a time in RFC 3339
	several         bool // of a header: it may be repeated
	one             []string
}

// body is the request body of an operation.
type body struct {
	of       any
	optional bool
	form     any // the same as an HTML form; nil if there is none
}

// answered is one successful response.
type answered struct {
	status  int
	of      any // nil: no content
	about   string
	media   string   // application/json if empty
	headers []string // those that say something
}

// either is one of several types.
type either []any

func takes(of any) *body { return &body{of: of} }

func mayTake(of any) *body { return &body{of: of, optional: true} }

func inQuery(name, about string) param { return param{in: "query", name: name, about: about} }

// started is a response with a run and its Location.
func started(status int, about string) answered {
	return answered{status: status, of: wire.Run{}, about: about, headers: []string{"Location"}}
}

func answers(status int, of any, about string) answered {
	return answered{status: status, of: of, about: about}
}

var (
	keyHeader = param{in: "header", name: "Idempotency-Key", longest: 255,
		about: "The caller's key, at most 255 bytes. Repeating a request with the same key and body has no further effect and returns 200."}
	waitSoLong = param{in: "query", name: "wait", number: true, most: 20,
		about: "How many seconds to wait for new events before responding. By default the response is immediate. If too many reads wait, it is immediate, too, with `Retry-After`."}
	cursorParam = inQuery("cursor", "The `next` value of the previous page.")
	agentParam  = inQuery("agent", "Return only entries of this agent.")
	followParam = param{in: "query", name: "follow", about: "For streams. `true` keeps the stream open while the run is suspended, until it is done.", one: []string{"true", "false"}}
	treeParam   = param{in: "query", name: "tree", one: []string{"true", "false"}, about: "`true` also returns the events of the runs below, each with its `path`: in the order of each run's journal, a run's after the `child.started` that names it, " +
		"otherwise by time. Its cursors are its own. It has no live events, and follows at most 64 open runs below: a `child.started` whose run it does not follow has `unfollowed`."}
	fromParam  = param{in: "query", name: "from", about: "`tail` returns only events committed from now on, if there is no cursor.", one: []string{"tail"}}
	dataParam  = param{in: "query", name: "data", about: "`true` includes the bytes of images and documents.", one: []string{"true", "false"}}
	orderParam = param{in: "query", name: "order", about: "`asc` (default): the oldest first. `desc`: the newest first, read without those before them. A cursor goes on in its order.", one: query.Orders}
	eventOrder = param{in: "query", name: "order", about: "For pages. `asc` (default): the oldest first. `desc`: the newest first, without live events; `after` then returns what is before the cursor, and `done` says that the first event was read.", one: query.Orders}
	lastParam  = param{in: "header", name: "Last-Event-ID", about: "Like `after`, and takes precedence over it. Browsers send it when they reopen a stream."}

	statusParam   = param{in: "query", name: "status", about: "Return only runs with this status.", one: query.RunStatuses}
	metadataParam = inQuery("metadata."+params.AnyKey, "Return only runs whose metadata has this key with this value: a string, or a number, `true`, `false` or `null` as in JSON. "+
		"Everything after the first dot is the key, including further dots. Nested members are not matched. At most 16 keys, each once.")
	runFilters = []param{statusParam, agentParam,
		{in: "query", name: "reason", about: "Return only runs that ended with this reason.", one: query.RunReasons},
		{in: "query", name: "response_state", about: "Return only runs that ended with this response state.", one: query.ResponseStates},
		metadataParam,
		{in: "query", name: "created_after", moment: true, about: "Return only runs created at or after this time, in RFC 3339."},
		{in: "query", name: "created_before", moment: true, about: "Return only runs created before this time, in RFC 3339."}}
)

// aboutRuns is how a list of runs is filtered and paged.
const aboutRuns = "Lists the runs that match all filters. One request examines at most 500 runs, so a page may be short or empty although more runs follow: " +
	"continue while `next` is set. Send a cursor with the same filters as the request that returned it."

var (
	typesParam = inQuery("types", "Comma-separated event types to include: `"+strings.Join(feedTypes, "`, `")+"`.")
	byParam    = inQuery("by", "Return only decisions of this principal, such as `token:anna`.")
	viaParam   = inQuery("via", "Return only decisions that arrived through this entry point, such as `api` or `link`.")
)

// forRuns is a parameter of the ticket route that only the stream of a run or a thread takes.
func forRuns(p param) param {
	p.about += " Valid only for the streams of `readEvents` and `readThreadEvents`."
	return p
}

// forTenant is a parameter of the ticket route that only the stream of a tenant's feed takes.
func forTenant(p param) param {
	p.about += " Valid only for the stream of `readTenantEvents`."
	return p
}

func limitParam(usual string, most int) param {
	return param{in: "query", name: "limit", number: true, most: most, about: "The maximum number of entries to return. The default is " + usual + "."}
}

var (
	canStart    = []access.Role{access.Start}
	canRead     = []access.Role{access.Read}
	canDecide   = []access.Role{access.Decide}
	canSeeInbox = []access.Role{access.Read, access.Decide, access.Links}
	// only this role: a link delegates the right to decide
	canLink = []access.Role{access.Links}
	// for operations that stop a run
	canStop = []access.Role{access.Start, access.Decide}
)

// startCodes are the errors of operations that start a run or a turn.
var startCodes = []refusal.Code{refusal.CodeInvalid, refusal.CodeAgentNotFound, refusal.CodeAgentUnavailable, refusal.CodeThreadNotFound, refusal.CodeRunOpen,
	refusal.CodeIdempotencyMismatch, refusal.CodeInboxFull, refusal.CodeNotAStarter, refusal.CodeTooManyRuns, refusal.CodeBudgetExceeded,
	refusal.CodeTenantFull, refusal.CodeChildThread, problems.CodeRateLimited}

var decisionCodes = []refusal.Code{refusal.CodeInvalid, refusal.CodeBadAction, refusal.CodeBadGrant, refusal.CodeUnclearDecision,
	refusal.CodeWrongKind, refusal.CodeContradiction, refusal.CodeRunNotFound, refusal.CodeCallNotFound, refusal.CodeRunDone,
	refusal.CodeAlreadyDecided, refusal.CodeArgumentsChanged, refusal.CodeChanged, refusal.CodeBatchRefused, refusal.CodeBatchSpansRuns, refusal.CodeLateDecision, refusal.CodeStaleSuspension, refusal.CodeSuspensionIDRequired,
	refusal.CodeNotSuspended, refusal.CodeSchemaMismatch, refusal.CodeResultRequired, refusal.CodeInvalidArguments,
	refusal.CodeNotAnApprover, refusal.CodeSeparationOfDuties, refusal.CodeHoldUnavailable, refusal.CodeDecisionWithdrawn, problems.CodeRateLimited}

func without(codes []refusal.Code, out ...refusal.Code) (rest []refusal.Code) {
	for _, c := range codes {
		if !slices.Contains(out, c) {
			rest = append(rest, c)
		}
	}
	return rest
}

// resumeCodes are fewer than decisionCodes: a resume is a decision with a known target and content.
var resumeCodes = []refusal.Code{refusal.CodeInvalid, refusal.CodeRunNotFound, refusal.CodeRunDone, refusal.CodeNotWaiting,
	refusal.CodeAlreadyDecided, refusal.CodeNotSuspended, refusal.CodeStaleSuspension, problems.CodeRateLimited}

// verdictCodes are fewer than decisionCodes: a link answers one known approval.
var verdictCodes = []refusal.Code{problems.CodeNotFound, problems.CodeLinkExpired, problems.CodeLinkRevoked, refusal.CodeLinkNotFound, refusal.CodeInvalid,
	refusal.CodeBadAction, refusal.CodeWrongKind, refusal.CodeContradiction, refusal.CodeUnclearDecision, refusal.CodeSchemaMismatch, refusal.CodeResultRequired,
	refusal.CodeNotAnApprover, refusal.CodeSeparationOfDuties, refusal.CodeRunNotFound, refusal.CodeCallNotFound, refusal.CodeRunDone,
	refusal.CodeInvalidArguments, problems.CodeUnauthorized, problems.CodeRoleRequired, problems.CodeForbidden, problems.CodeRateLimited,
	refusal.CodeCodeRequired, refusal.CodeCodeWrong, refusal.CodeCodeExpired, refusal.CodeTooManyCodes, refusal.CodeCodeNotSent, refusal.CodeCodeLocked,
	refusal.CodeAlreadyDecided, refusal.CodeArgumentsChanged, refusal.CodeChanged, refusal.CodeLateDecision, refusal.CodeStaleSuspension, refusal.CodeNotSuspended,
	refusal.CodeHoldUnavailable, refusal.CodeDecisionWithdrawn, refusal.CodeDecisionApplied, refusal.CodeDecisionNotFound, refusal.CodeNotYourDecision}

// hookCodes are the errors of starts, messages and decisions, and of what comes before them.
var hookCodes = slices.Concat([]refusal.Code{refusal.CodeInvalidSignature, refusal.CodeHookNotFound, refusal.CodeHookMismatch, refusal.CodeHookUnavailable},
	without(startCodes, refusal.CodeIdempotencyMismatch), []refusal.Code{refusal.CodeUnclearDecision, refusal.CodeWrongKind, refusal.CodeContradiction, refusal.CodeCallNotFound,
		refusal.CodeRunDone, refusal.CodeAlreadyDecided, refusal.CodeChanged, refusal.CodeLateDecision, refusal.CodeStaleSuspension, refusal.CodeNotSuspended,
		refusal.CodeSchemaMismatch, refusal.CodeResultRequired, refusal.CodeInvalidArguments, refusal.CodeNotAnApprover, refusal.CodeSeparationOfDuties})

// table has every operation. Only these are served and documented.
func (a *api) table() []route {
	table := append(a.runRoutes(), a.steeringRoutes()...)
	table = append(table, a.threadRoutes()...)
	table = append(table, a.askRoutes()...)
	table = append(table, a.linkRoutes()...)
	table = append(table, a.signInRoutes()...)
	table = append(table, a.webhookRoutes()...)
	table = append(table, a.deskRoutes()...)
	return append(append(table, a.hookRoutes()...), a.otherRoutes()...)
}

func (a *api) runRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/runs", name: "startRun", tag: "runs", title: "Start a run", roles: canStart, paced: pace.Starts,
			about: "Stores the input and returns immediately. With an idempotency key the request can be repeated safely: it starts one run.",
			body:  takes(wire.StartRequest{}), params: []param{keyHeader},
			answers: []answered{started(202, "Accepted. The run starts soon."), started(200, "The key was used before with the same body. Returns the run it started.")},
			codes:   append([]refusal.Code{refusal.CodeInvalidPermissions}, startCodes...), serve: a.startRun},
		{method: http.MethodGet, path: "/v1/runs", name: "listRuns", tag: "runs", title: "List runs, newest first", roles: canRead,
			about:   aboutRuns,
			params:  slices.Concat(runFilters, []param{limitParam("20", 100), cursorParam}),
			answers: []answered{answers(200, wire.Page[wire.Run]{}, "One page. It may be short or empty although `next` is set.")},
			codes:   []refusal.Code{refusal.CodeInvalid, refusal.CodeBadCursor}, serve: a.listRuns},
		{method: http.MethodGet, path: "/v1/runs/{id}", name: "readRun", tag: "runs", title: "Read a run", roles: canRead,
			about: "Also shows what the open runs below it wait for, and counts their usage: at most 64 of them.",
			params: []param{{in: "header", name: "Prefer", several: true,
				about: "`wait=N` delays the response until the run is done, or it or a run below it waits for an answer, at most N seconds (N up to 20). If too many reads wait, the response is immediate, with `Retry-After` and without `Preference-Applied`."}},
			answers: []answered{{status: 200, of: wire.Run{}, about: "The run at this moment.", headers: []string{"Preference-Applied"}}},
			codes:   []refusal.Code{refusal.CodeRunNotFound}, serve: a.readRun},
		{method: http.MethodGet, path: "/v1/runs/{id}/events", name: "readEvents", tag: "runs", title: "Read or stream a run's events", roles: canRead,
			about: "With `Accept: application/json` it returns a page. Otherwise it opens a stream of server-sent events: first the stored events, then new ones, " +
				"each once and in order. The `id` of an event is its cursor. The stream also carries live events: what the model is saying now. They are not stored. " +
				"The stream ends after the events that end or suspend the run: `turn.ended` and the rest of its commit, including `run.status`. " +
				"Reopened with `Last-Event-ID`, it continues after that event. At the end of a suspended run it stays open; at the end of a finished run it returns 204, " +
				"so a browser's EventSource stops.",
			params: []param{inQuery("after", "A cursor: return only later events."), eventOrder, fromParam, treeParam, limitParam("100", 1000), waitSoLong, followParam, lastParam},
			answers: []answered{answers(200, wire.EventPage{}, "One page."),
				{status: 200, of: "", media: mediaStream, headers: []string{"X-Accel-Buffering"}, about: "A stream: lines of `id`, `event` (the type) and `data` (one event as JSON), and comments that keep the connection open."},
				answers(204, nil, "Streams: the run is done and you have read all of its events."),
				{status: 307, headers: []string{"Location"}, about: "Streams have a separate address, as on AWS. `Location` names it; browsers follow it automatically."}},
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeBadCursor, refusal.CodeRunNotFound, problems.CodeTooManyStreams}, serve: a.events},
		{method: http.MethodGet, path: "/v1/runs/{id}/calls", name: "listCalls", tag: "runs", title: "List a run's tool calls", roles: canRead,
			about:  "Lists the calls in the order in which the model requested them. Suspensions of the run itself, such as an interrupt, are included.",
			params: []param{limitParam("50", 200), cursorParam}, answers: []answered{answers(200, wire.Page[wire.Call]{}, "One page.")},
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeBadCursor, refusal.CodeRunNotFound}, serve: a.listCalls},
		{method: http.MethodGet, path: "/v1/runs/{id}/calls/{call}", name: "readCall", tag: "runs", title: "Read a tool call", roles: canRead,
			answers: []answered{answers(200, wire.Call{}, "The call at this moment.")},
			codes:   []refusal.Code{refusal.CodeRunNotFound, refusal.CodeCallNotFound}, serve: a.readCall},
		{method: http.MethodGet, path: "/v1/streams/{ticket}", name: "readStream", tag: "runs", title: "Stream events at the address in a 307", stream: true,
			about: "`readEvents`, `readThreadEvents` and `readTenantEvents` redirect here if streams have a separate address. The ticket opens this one stream, once, within one minute. " +
				"Send no query. If the connection breaks, request the events at the original address again to get a new ticket.",
			params: []param{inQuery("after", "A cursor: return only later events."), forRuns(followParam), forRuns(treeParam), lastParam, forTenant(agentParam), forTenant(typesParam), viewParam},
			answers: []answered{{status: 200, of: "", media: mediaStream, headers: []string{"X-Accel-Buffering"}, about: "The stream."},
				answers(204, nil, "Streams of a run: the run is done and you have read all of its events.")},
			codes: []refusal.Code{problems.CodeNotFound, problems.CodeLinkExpired, problems.CodeTicketUsed, refusal.CodeInvalid, refusal.CodeBadCursor, refusal.CodeRunNotFound, problems.CodeTooManyStreams}, serve: a.readStream},
	}
}

func (a *api) steeringRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/runs/{id}/decisions", name: "decide", tag: "decisions", title: "Submit decisions", roles: canDecide, paced: pace.Decisions,
			about: "Takes one decision, or several that are answered individually, on calls of the run or of runs below it. With `all_or_none`, up to 16 decisions on calls of one run are stored in one write or not at all, and the run processes them in one turn. " +
				"Repeating a decision has no further effect. Of two different decisions the first one counts. Without `decision_id`, the key is derived from the other members.",
			body: takes(either{wire.Decision{}, wire.Decisions{}}),
			answers: []answered{answers(202, either{wire.DecisionAnswer{}, wire.DecisionAnswers{}}, "Accepted. It takes effect unless the run is cancelled first."),
				answers(200, either{wire.DecisionAnswer{}, wire.DecisionAnswers{}}, "A repeat of the accepted decision (`same: true`), or the answers to several decisions.")},
			codes: decisionCodes, serve: a.decide},
		{method: http.MethodPost, path: "/v1/decisions", name: "decideBulk", tag: "decisions", title: "Answer several approvals at once", roles: canDecide, paced: pace.Decisions,
			about: "Approves or denies 1 to 20 calls of any runs with the same `alike` in the inbox: of the same agent version, tool and rule, and without a warning. Show the approver every value of every call. If the questions differ, or one must be answered by itself, " +
				"nothing is stored. Otherwise each decision is stored or refused on its own, as by `answerSuspension`; no write spans runs. Repeating a request has no further effect.",
			body: takes(wire.Bulk{}), answers: []answered{answers(200, wire.DecisionAnswers{}, "The answer to each, in the order of the request. Some may be refused.")},
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeBadAction, refusal.CodeNotAlike, refusal.CodeAnswerSingly, problems.CodeRateLimited}, serve: a.decideBulk},
		{method: http.MethodGet, path: "/v1/suspensions/{id}", name: "readSuspension", tag: "decisions", title: "Read a suspension", roles: canSeeInbox,
			about:   "Returns the call that a suspension belongs to, for clients that know the id of the suspension but not the run.",
			answers: []answered{answers(200, either{wire.Approval{}, wire.Outcome{}}, "The call while it is suspended; afterwards, its outcome.")},
			codes:   []refusal.Code{refusal.CodeCallNotFound}, serve: a.readSuspension},
		{method: http.MethodPost, path: "/v1/suspensions/{id}", name: "answerSuspension", tag: "decisions", title: "Answer a suspension", roles: canDecide, paced: pace.Decisions,
			about: "Works like `decide`, without a `target`.",
			body:  takes(wire.Answer{}),
			answers: []answered{answers(202, wire.DecisionAnswer{}, "Accepted. It takes effect unless the run is cancelled first."),
				answers(200, wire.DecisionAnswer{}, "A repeat of the accepted decision (`same: true`).")},
			codes: without(decisionCodes, refusal.CodeBatchRefused, refusal.CodeBatchSpansRuns, refusal.CodeSuspensionIDRequired, refusal.CodeRunNotFound), serve: a.answerSuspension},
		{method: http.MethodDelete, path: "/v1/suspensions/{id}/decisions/{decision}", name: "withdrawDecision", tag: "decisions", title: "Withdraw a held decision", roles: canDecide,
			about:   "Takes back a decision that was sent with `hold` and has not taken effect. The call waits as before. Only the caller who decided may do so. Repeating it has no further effect.",
			answers: []answered{answers(200, wire.DecisionAnswer{}, "The decision is withdrawn and never takes effect.")}, codes: []refusal.Code{refusal.CodeCallNotFound, refusal.CodeDecisionNotFound, refusal.CodeNotYourDecision, refusal.CodeDecisionApplied, refusal.CodeRunDone}, serve: a.withdrawDecision},
		{method: http.MethodPost, path: "/v1/runs/{id}/cancel", name: "cancelRun", tag: "runs", title: "Cancel a run", roles: canStop, body: mayTake(struct{}{}),
			about:   "Ends the run at its next commit, or immediately if it is suspended. Suspended calls don't run.",
			answers: []answered{answers(202, wire.Run{}, "Accepted.")},
			codes:   []refusal.Code{refusal.CodeRunNotFound, refusal.CodeRunDone}, serve: a.cancelRun},
		{method: http.MethodPost, path: "/v1/runs/{id}/interrupt", name: "interruptRun", tag: "runs", title: "Interrupt a run", roles: canStop, about: "Pauses the run after its next commit, until it is resumed.",
			body: mayTake(struct{}{}), params: []param{keyHeader}, answers: []answered{answers(202, wire.Run{}, "Accepted.")}, paced: pace.Starts,
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeRunNotFound, refusal.CodeRunDone, problems.CodeRateLimited}, serve: a.interruptRun},
		{method: http.MethodPost, path: "/v1/runs/{id}/resume", name: "resumeRun", tag: "decisions", title: "Resume an interrupted run", roles: canDecide, paced: pace.Decisions,
			body:    mayTake(wire.ResumeRequest{}),
			answers: []answered{answers(202, wire.DecisionAnswer{}, "Accepted."), answers(200, wire.DecisionAnswer{}, "A repeat of the accepted decision (`same: true`).")},
			codes:   resumeCodes, serve: a.resumeRun},
		{method: http.MethodPost, path: "/v1/runs/{id}/retry", name: "retryRun", tag: "runs", title: "Retry a failed run", roles: canStart, paced: pace.Starts,
			about: "Starts a new run in the same thread. It continues from the last commit, with fresh budgets.",
			body:  mayTake(struct{}{}), params: []param{keyHeader},
			answers: []answered{started(202, "Accepted. The run starts soon."), started(200, "The retry was requested before. Returns the run it started.")},
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeRunNotFound, refusal.CodeAgentNotFound, refusal.CodeAgentUnavailable, refusal.CodeRunOpen, refusal.CodeRunSuperseded, refusal.CodeChildThread, refusal.CodeNotFailed,
				refusal.CodeIdempotencyMismatch, refusal.CodeNotAStarter, refusal.CodeTooManyRuns, refusal.CodeBudgetExceeded, refusal.CodeTenantFull, problems.CodeRateLimited}, serve: a.retryRun},
	}
}

func (a *api) threadRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/threads", name: "findThread", tag: "threads", title: "Find a thread by its key", roles: canRead,
			params:  []param{{in: "query", name: "key", longest: 255, about: "The `thread_key` with which the conversation was started."}},
			answers: []answered{answers(200, wire.Thread{}, "The thread.")},
			codes:   []refusal.Code{refusal.CodeInvalid, refusal.CodeThreadNotFound}, serve: a.findThread},
		{method: http.MethodGet, path: "/v1/threads/{id}", name: "readThread", tag: "threads", title: "Read a thread", roles: canRead,
			answers: []answered{answers(200, wire.Thread{}, "The thread.")},
			codes:   []refusal.Code{refusal.CodeThreadNotFound}, serve: a.readThread},
		{method: http.MethodGet, path: "/v1/threads/{id}/messages", name: "readMessages", tag: "threads", title: "List a thread's messages", roles: canRead,
			params: []param{orderParam, limitParam("200", 1000), cursorParam, dataParam}, answers: []answered{answers(200, wire.Page[wire.Message]{}, "One page.")},
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeBadCursor, refusal.CodeThreadNotFound}, serve: a.readMessages},
		{method: http.MethodPost, path: "/v1/threads/{id}/messages", name: "sendMessage", tag: "threads", title: "Send a message", roles: canStart, paced: pace.Starts,
			about: "Starts a new turn: in a new run, or in the open run if `on_pending` says so.",
			body:  takes(wire.MessageRequest{}), params: []param{keyHeader},
			answers: []answered{started(202, "Accepted. Returns the run that receives the message."), started(200, "The key was used before with the same body.")},
			codes:   append([]refusal.Code{refusal.CodeSchemaMismatch}, startCodes...), serve: a.sendMessage},
		{method: http.MethodGet, path: "/v1/threads/{id}/events", name: "readThreadEvents", tag: "threads", title: "Read or stream a thread's events", roles: canRead,
			about:  "Returns the events of all runs of the thread, in order, as pages (`Accept: application/json`) or as a stream. A stream ends when the newest run is done or suspended; with `follow=true` it stays open for later runs. Reopened at its end, a stream waits for the next run.",
			params: []param{inQuery("after", "A cursor: return only later events."), eventOrder, fromParam, limitParam("100", 1000), waitSoLong, followParam, lastParam},
			answers: []answered{answers(200, wire.EventPage{}, "One page. `waiting` is set if the newest run is suspended or done; `done` is set with `order=desc` alone."),
				{status: 200, of: "", media: mediaStream, headers: []string{"X-Accel-Buffering"}, about: "A stream of events."},
				{status: 307, headers: []string{"Location"}, about: "Streams have a separate address, as on AWS. `Location` names it; browsers follow it automatically."}},
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeBadCursor, refusal.CodeThreadNotFound, problems.CodeTooManyStreams}, serve: a.threadEvents},
		{method: http.MethodGet, path: "/v1/threads/{id}/runs", name: "listThreadRuns", tag: "threads", title: "List a thread's runs, newest first", roles: canRead,
			about:  aboutRuns,
			params: slices.Concat(runFilters, []param{limitParam("20", 100), cursorParam}), answers: []answered{answers(200, wire.Page[wire.Run]{}, "One page.")},
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeBadCursor, refusal.CodeThreadNotFound}, serve: a.listThreadRuns},
	}
}

func (a *api) linkRoutes() []route {
	page := func(status int) answered {
		return answered{status: status, of: "", media: linkpage.Media, about: "A web page, if the `Accept` header asks for HTML. Errors are web pages too."}
	}
	return []route{
		{method: http.MethodPost, path: "/v1/runs/{id}/links", name: "makeLink", tag: "decisions", title: "Create an approval link", roles: canLink, paced: pace.Starts,
			about: "Creates a link for one recipient. It lets that person answer one call of the kind `approval`, `input` or `client` without a token. Because a link delegates the right to decide, creating one requires the role `link` and is recorded: " +
				"who created it, for whom, when, and when it expires. Only this response contains `link`. Each request creates another link. If the recipient could only deny, the request is refused.",
			body:    takes(wire.LinkRequest{}),
			answers: []answered{answers(201, wire.Link{}, "The link.")},
			codes: []refusal.Code{problems.CodeNotFound, refusal.CodeInvalid, refusal.CodeWrongKind, refusal.CodeRunNotFound, refusal.CodeCallNotFound, refusal.CodeRunDone, refusal.CodeStaleSuspension,
				refusal.CodeSuspensionIDRequired, refusal.CodeNotSuspended, refusal.CodeTooManyLinks,
				refusal.CodeNotAnApprover, refusal.CodeSeparationOfDuties, problems.CodeRateLimited}, serve: a.makeLink},
		{method: http.MethodGet, path: "/v1/runs/{id}/links", name: "listLinks", tag: "decisions", title: "List a run's approval links", roles: canLink,
			about:   "All links of the run, oldest first, on one page: recipient, creator, expiry, and whether they were revoked. The response doesn't contain the links themselves.",
			answers: []answered{answers(200, wire.Page[wire.Link]{}, "All entries.")},
			codes:   []refusal.Code{refusal.CodeRunNotFound}, serve: a.listLinks},
		{method: http.MethodDelete, path: "/v1/runs/{id}/links/{link}", name: "revokeLink", tag: "decisions", title: "Revoke an approval link", roles: canLink,
			about:   "The link stops working. A decision that was made with it remains. Revoking it again has no effect.",
			answers: []answered{answers(200, wire.Link{}, "The revoked link.")},
			codes:   []refusal.Code{refusal.CodeRunNotFound, refusal.CodeLinkNotFound}, serve: a.revokeLink},
		{method: http.MethodGet, path: "/v1/approvals/{token}", name: "showLink", tag: "decisions", title: "Read the question of an approval link", link: true,
			about: "Changes nothing, so mail scanners and link previews are harmless. The link itself is the credential for answering this one call, without a token, until it expires, is revoked, or the deadline of the call passes. " +
				"Once the call is settled, the link shows the outcome: who answered what and when, or that the deadline passed. With `?answer=approve` or `?answer=deny` the page has that answer ready; it still needs a click. Other query parameters, such as those added by mail clients, are ignored.",
			answers: []answered{answers(200, either{wire.Approval{}, wire.Outcome{}}, "The call while it is suspended; afterwards, its outcome."), page(200)},
			codes:   []refusal.Code{problems.CodeNotFound, problems.CodeLinkExpired, problems.CodeLinkRevoked, refusal.CodeLinkNotFound, refusal.CodeRunNotFound, refusal.CodeCallNotFound}, serve: a.showLink},
		{method: http.MethodPost, path: "/v1/approvals/{token}", name: "answerLink", tag: "decisions", title: "Answer an approval link", link: true,
			about: "Approves, answers or denies. Repeating the answer has no further effect. The decision is recorded under the name `link:` followed by the recipient (`for`), with the link's id and creator. If the call needs an answer, send `result` too; the page has a form made from the response schema. With `require: token`, the decision is that of the token in the `Authorization` header or on the page. With `require: code`, send `action: code` first: a one-time code is mailed to the link's address (202 `code_sent`). Then answer with `code`. Only links with `edit` take `arguments`. Grants require a token and `decide`. An answer with `hold` can be taken back by the same link: send `action: withdraw` and its `decision_id`, which the outcome has. To answer once more, send the number of `withdrawn` decisions of the suspension.",
			body:  &body{of: wire.Verdict{}, form: wire.VerdictForm{}},
			answers: []answered{answers(202, wire.DecisionAnswer{}, "Accepted. It takes effect unless the run is cancelled first."),
				answers(200, wire.DecisionAnswer{}, "A repeat of the accepted decision (`same: true`)."), page(200), page(202)},
			codes: verdictCodes, serve: a.answerLink},
	}
}

func (a *api) otherRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/approvals", name: "listApprovals", tag: "decisions", title: "List the suspended calls of all runs", roles: canSeeInbox,
			about: "The inbox for approvers and bots, oldest suspension first or, with `order=deadline`, the least time left first. The calls of one run stay together. A page may be short or empty although more entries follow: continue while `next` is set. One page looks through at most 500 runs. Send a cursor with the same filters as the request that returned it.",
			params: []param{agentParam, {in: "query", name: "kind", about: "Return only calls of this kind; `question`: of every kind but `client`.", one: query.InboxKinds},
				inQuery("tool", "Return only calls of this tool."), inQuery("thread_id", "Return only calls of this thread."), inQuery("q", "Return only calls with this text in their title, tool, agent or thread, in upper or lower case. At most 200 bytes."), {in: "query", name: "mine", about: "Return only calls that the caller may approve and is asked about in this way; `any`: in one of them. See `asked_as`.", one: query.Mines},
				{in: "query", name: "order", about: "`since` (default): the longest waiting run first. `deadline`: the run with the earliest deadline first, then those without one. A run that was written while the list is read may come twice. On DynamoDB, 500 runs at a time are put in this order, the longest waiting first.", one: query.InboxOrders},
				{in: "query", name: "count", about: "`true` also counts the questions.", one: []string{"true", "false"}}, limitParam("50", 200), cursorParam}, answers: []answered{answers(200, wire.InboxPage{}, "One page.")},
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeBadCursor}, serve: a.listApprovals},
		{method: http.MethodGet, path: "/v1/events", name: "readTenantEvents", tag: "events", title: "Read or stream the events of all runs", roles: canSeeInbox,
			about: "Returns the events `call.suspended` and `decision.recorded`, and `run.status` of finished runs, for all runs of the tenant. They arrive roughly in time order, as pages (`Accept: application/json`) or as a stream. " +
				"Use it for inboxes, bots and consoles. A stream continues until the reader disconnects or the server ends it. After the first page, and whenever the numbers change, the stream sends a `counts` event " +
				"with the number of suspended calls by kind. Reopen a stream with `Last-Event-ID` to continue from there. A reader gets every event if the differences between the workers' clocks and the delay " +
				"of the store's index together stay below 10 seconds. If the server can't tell by then whether a commit succeeded, it checks again for up to 15 minutes, for at most 8 commits at a time. An event may be sent " +
				"twice: use `thread_id` and `seq` to recognize it. A token without `read` gets decisions without their arguments and result, " +
				"and calls without their arguments and questions. Read these from the inbox while the call is suspended.",
			params: []param{inQuery("after", "A cursor: return only later events."), fromParam, agentParam, typesParam, limitParam("100", 1000), waitSoLong, lastParam},
			answers: []answered{answers(200, wire.FeedPage{}, "One page. The events of one commit stay together, so a page may hold more than `limit`."),
				{status: 200, of: "", media: mediaStream, headers: []string{"X-Accel-Buffering"}, about: "A stream of events."},
				{status: 307, headers: []string{"Location"}, about: "Streams have a separate address, as on AWS. `Location` names it; browsers follow it automatically."}},
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeBadCursor, problems.CodeTooManyStreams}, serve: a.tenantEvents},
		{method: http.MethodGet, path: "/v1/decisions", name: "listDecisions", tag: "events", title: "List recorded decisions, newest first", roles: canSeeInbox,
			about: "Lists who decided what and when, for all runs of the tenant, and whether each decision took effect. A token without `read` gets decisions without their arguments, result and title.",
			params: []param{byParam, viaParam, agentParam, {in: "query", name: "action", about: "Return only decisions with this action.", one: []string{"resume", "cancel"}},
				{in: "query", name: "created_after", moment: true, about: "Return only decisions recorded at or after this time, in RFC 3339."},
				{in: "query", name: "created_before", moment: true, about: "Return only decisions recorded before this time, in RFC 3339."},
				limitParam("50", 200), cursorParam},
			answers: []answered{answers(200, wire.DecisionPage{}, "One page. It may be short or empty although `next` is set.")},
			codes:   []refusal.Code{refusal.CodeInvalid, refusal.CodeBadCursor}, serve: a.listDecisions},
		{method: http.MethodGet, path: "/v1/agents", name: "listAgents", tag: "agents", title: "List agents", roles: canRead,
			answers: []answered{answers(200, wire.Page[wire.Agent]{}, "All entries.")}, serve: a.listAgents},
		{method: http.MethodGet, path: "/v1/agents/{name}", name: "readAgent", tag: "agents", title: "Read an agent with its tools", roles: canRead,
			answers: []answered{answers(200, wire.Agent{}, "The version of the agent that new runs use.")},
			codes:   []refusal.Code{refusal.CodeAgentNotFound}, serve: a.readAgent},
		{method: http.MethodGet, path: "/healthz", name: "health", tag: "server", title: "Check the server's health",
			answers: []answered{answers(200, wire.Health{}, "The server and its store work."), answers(503, wire.Health{}, "The server runs, but its store doesn't work; `storage` names the problem.")}, serve: a.health},
		{method: http.MethodGet, path: "/openapi.json", name: "openapi", tag: "server", title: "Read the OpenAPI document",
			answers: []answered{answers(200, map[string]any{}, "OpenAPI 3.1.")}, serve: a.openapi},
	}
}
