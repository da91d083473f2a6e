package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// route is one call of the API, with everything that the server, the OpenAPI document and
// docs/reference/api.md know of it.
type route struct {
	method, path string
	name         string // the operation's, in the document
	tag          string
	title        string // a few words
	about        string // a paragraph; empty if the title says it all

	roles []access.Role // the caller has one of them; none: everybody, without a token
	// opened by a signed link: refusals too are a page for a person who asks for one, and what
	// mail programs add to the query is let be
	link   bool
	stream bool // opened by a ticket, where streams are served
	paced  bool // counts against the rate of what a tenant starts

	params  []param // of query and header; those of the path follow from it
	body    *body   // nil: it takes none
	answers []answered
	codes   []frontend.Code // of problems, beside those every call may answer with

	serve handler
}

// param is a parameter of the query or a header.
type param struct {
	in, name, about string
	number          bool // a whole number, not negative; else text
	most            int  // of a number: more is taken for this
	longest         int  // of text: in bytes
	moment          bool // of text: a time in RFC 3339
	several         bool // of a header: it may be there more than once
	one             []string
}

// body is what a call takes.
type body struct {
	of       any
	optional bool
	form     any // the same as the form of a page; nil if there is none
}

// answered is one way in which a call succeeds.
type answered struct {
	status  int
	of      any // nil: no content
	about   string
	media   string   // application/json if empty
	headers []string // those that say something
}

// either stands for one of some types.
type either []any

func takes(of any) *body { return &body{of: of} }

func mayTake(of any) *body { return &body{of: of, optional: true} }

func inQuery(name, about string) param { return param{in: "query", name: name, about: about} }

// started says where the run is that the answer shows.
func started(status int, about string) answered {
	return answered{status: status, of: wire.Run{}, about: about, headers: []string{"Location"}}
}

func answers(status int, of any, about string) answered {
	return answered{status: status, of: of, about: about}
}

var (
	keyHeader = param{in: "header", name: "Idempotency-Key", longest: 255,
		about: "The caller's key, at most 255 bytes: the same key with the same body has the effect of one request, and is answered with 200."}
	waitSoLong = param{in: "query", name: "wait", number: true, most: 20,
		about: "Seconds to hold the answer while there is nothing to tell."}
	cursorParam = inQuery("cursor", "`next` of the page before.")
	agentParam  = inQuery("agent", "Only those of this agent.")
	followParam = param{in: "query", name: "follow", about: "Of a stream: `true` goes on while the run waits, until it is done.", one: []string{"true", "false"}}
	fromParam   = param{in: "query", name: "from", about: "`tail`: without a cursor, only what is committed from now on.", one: []string{"tail"}}
	dataParam   = param{in: "query", name: "data", about: "`true` shows images and documents with their bytes.", one: []string{"true", "false"}}
	lastParam   = param{in: "header", name: "Last-Event-ID", about: "As `after`, which it overrules; browsers send it when they open a stream again."}

	statusParam   = param{in: "query", name: "status", about: "Only runs of this status.", one: query.RunStatuses}
	metadataParam = inQuery("metadata."+anyKey, "Only runs whose metadata has this key with this value: a string, or a number, `true`, `false` or `null` as JSON writes it. "+
		"Everything after the first dot is the key, further dots included; nested members are not matched. At most 16 keys, each once.")
	runFilters = []param{statusParam, agentParam,
		{in: "query", name: "reason", about: "Only runs that are done for this reason.", one: query.RunReasons},
		{in: "query", name: "response_state", about: "Only runs that are done with this response state.", one: query.ResponseStates},
		metadataParam,
		{in: "query", name: "created_after", moment: true, about: "Only runs that were created at this time or later, in RFC 3339."},
		{in: "query", name: "created_before", moment: true, about: "Only runs that were created before this time, in RFC 3339."}}
)

// aboutRuns is how a list of runs is filtered and paged.
const aboutRuns = "Lists the runs that fit all filters. One request looks at 500 runs at most, so a page may be short, or empty, with more runs behind it: " +
	"while `next` is set, go on with it. Send a cursor with the same filters as the request that returned it."

var (
	typesParam = inQuery("types", "Comma-separated event types to include: `"+strings.Join(feedTypes, "`, `")+"`.")
	byParam    = inQuery("by", "Only decisions of this principal, such as `token:anna`.")
	viaParam   = inQuery("via", "Only decisions that arrived through this entry point, such as `api` or `link`.")
)

// forRuns is a parameter of the ticket route that only the stream of a run or a thread takes.
func forRuns(p param) param {
	p.about += " Only for the streams of `readEvents` and `readThreadEvents`."
	return p
}

// forTenant is a parameter of the ticket route that only the stream of a tenant's feed takes.
func forTenant(p param) param {
	p.about += " Only for the stream of `readTenantEvents`."
	return p
}

func limitParam(usual string, most int) param {
	return param{in: "query", name: "limit", number: true, most: most, about: "At most so many entries; " + usual + " if it is not said."}
}

var (
	starting = []access.Role{access.Start}
	reading  = []access.Role{access.Read}
	deciding = []access.Role{access.Decide}
	seeing   = []access.Role{access.Read, access.Decide, access.Links}
	// no other role has it: a link hands on the right to decide
	linking = []access.Role{access.Links}
	// what stops a run: it can only take away
	mastering = []access.Role{access.Start, access.Decide}
)

// startCodes are what may be wrong with anything that starts a run or a turn.
var startCodes = []frontend.Code{frontend.CodeInvalid, frontend.CodeAgentNotFound, frontend.CodeAgentUnavailable, frontend.CodeThreadNotFound, frontend.CodeRunOpen,
	frontend.CodeIdempotencyMismatch, frontend.CodeInboxFull, frontend.CodeNotAStarter, frontend.CodeTooManyRuns,
	frontend.CodeTenantFull, codeRateLimited}

var decisionCodes = []frontend.Code{frontend.CodeInvalid, frontend.CodeBadAction, frontend.CodeBadGrant, frontend.CodeUnclearDecision,
	frontend.CodeWrongKind, frontend.CodeContradiction, frontend.CodeRunNotFound, frontend.CodeCallNotFound, frontend.CodeRunDone,
	frontend.CodeAlreadyDecided, frontend.CodeChanged, frontend.CodeBatchRefused, frontend.CodeLateDecision, frontend.CodeStaleSuspension, frontend.CodeSuspensionIDRequired,
	frontend.CodeNotSuspended, frontend.CodeSchemaMismatch, frontend.CodeResultRequired, frontend.CodeInvalidArguments,
	frontend.CodeNotAnApprover, frontend.CodeSeparationOfDuties}

func without(codes []frontend.Code, out ...frontend.Code) (rest []frontend.Code) {
	for _, c := range codes {
		if !slices.Contains(out, c) {
			rest = append(rest, c)
		}
	}
	return rest
}

// resumeCodes: a resume is a decision whose target and content are known.
var resumeCodes = []frontend.Code{frontend.CodeInvalid, frontend.CodeRunNotFound, frontend.CodeRunDone, frontend.CodeNotWaiting,
	frontend.CodeAlreadyDecided, frontend.CodeNotSuspended, frontend.CodeStaleSuspension}

// verdictCodes: what a link answers is known, and is an approval.
var verdictCodes = []frontend.Code{codeNotFound, codeLinkExpired, codeLinkRevoked, frontend.CodeLinkNotFound, frontend.CodeInvalid,
	frontend.CodeBadAction, frontend.CodeWrongKind, frontend.CodeContradiction, frontend.CodeUnclearDecision, frontend.CodeSchemaMismatch, frontend.CodeResultRequired,
	frontend.CodeNotAnApprover, frontend.CodeSeparationOfDuties, frontend.CodeRunNotFound, frontend.CodeCallNotFound, frontend.CodeRunDone,
	frontend.CodeAlreadyDecided, frontend.CodeChanged, frontend.CodeLateDecision, frontend.CodeStaleSuspension, frontend.CodeNotSuspended}

// table is every call there is. What is not in it is not served, and not in the documents.
func (a *api) table() []route {
	table := append(a.runRoutes(), a.steeringRoutes()...)
	table = append(table, a.threadRoutes()...)
	table = append(table, a.linkRoutes()...)
	return append(table, a.otherRoutes()...)
}

func (a *api) runRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/runs", name: "startRun", tag: "runs", title: "Start a run", roles: starting, paced: true,
			about: "Stores the input and answers at once. With a key it may be sent again: one run is started.",
			body:  takes(wire.StartRequest{}), params: []param{keyHeader},
			answers: []answered{started(202, "It is stored, and will run."), started(200, "The key was used before, with this body: the run it started.")},
			codes:   append([]frontend.Code{frontend.CodeInvalidPermissions}, startCodes...), serve: a.startRun},
		{method: http.MethodGet, path: "/v1/runs", name: "listRuns", tag: "runs", title: "List runs, newest first", roles: reading,
			about:   aboutRuns,
			params:  slices.Concat(runFilters, []param{limitParam("20", 100), cursorParam}),
			answers: []answered{answers(200, wire.Page[wire.Run]{}, "One page. It may be short, even empty, while `next` says that there is more.")},
			codes:   []frontend.Code{frontend.CodeInvalid, frontend.CodeBadCursor}, serve: a.listRuns},
		{method: http.MethodGet, path: "/v1/runs/{id}", name: "readRun", tag: "runs", title: "Read a run", roles: reading,
			params: []param{{in: "header", name: "Prefer", several: true,
				about: "`wait=N` holds the answer until the run waits for somebody or is done, at most N seconds (N up to 20)."}},
			answers: []answered{{status: 200, of: wire.Run{}, about: "The run as it is now.", headers: []string{"Preference-Applied"}}},
			codes:   []frontend.Code{frontend.CodeRunNotFound}, serve: a.readRun},
		{method: http.MethodGet, path: "/v1/runs/{id}/events", name: "readEvents", tag: "runs", title: "Read or follow a run's events", roles: reading,
			about: "A page of JSON where the `Accept` header asks for `application/json`; else a stream of server-sent events: what is there, then what comes, " +
				"each event once and in order. The `id` of an event is its cursor. Between them come live events, which say what the model is saying and are not stored. The stream ends behind the events with which the run is done or waits: `turn.ended`, and what was committed with it, `run.status` among it. " +
				"Opened again with `Last-Event-ID` it goes on behind that event; at the end of a run that waits it holds, and at the end of one that is done it is 204, " +
				"so that a browser's EventSource stops.",
			params: []param{inQuery("after", "A cursor: only events behind it."), fromParam,
				limitParam("100", 1000), waitSoLong,
				followParam, lastParam},
			answers: []answered{answers(200, wire.EventPage{}, "One page."),
				{status: 200, of: "", media: mediaStream, headers: []string{"X-Accel-Buffering"}, about: "A stream: lines of `id`, `event` (the type) and `data` (one event as JSON), comments to keep it open."},
				answers(204, nil, "Of a stream: the run is done, and all of it was read."),
				{status: 307, headers: []string{"Location"}, about: "The stream is served at another address, as on AWS: `Location` names it. Browsers follow it by themselves."}},
			codes: []frontend.Code{frontend.CodeInvalid, frontend.CodeBadCursor, frontend.CodeRunNotFound, codeTooManyStreams}, serve: a.events},
		{method: http.MethodGet, path: "/v1/runs/{id}/calls", name: "listCalls", tag: "runs", title: "List the tool calls of a run", roles: reading,
			about:  "In the order the model asked for them, with the run's own waits among them.",
			params: []param{limitParam("50", 200), cursorParam}, answers: []answered{answers(200, wire.Page[wire.Call]{}, "One page.")},
			codes: []frontend.Code{frontend.CodeInvalid, frontend.CodeBadCursor, frontend.CodeRunNotFound}, serve: a.listCalls},
		{method: http.MethodGet, path: "/v1/runs/{id}/calls/{call}", name: "readCall", tag: "runs", title: "Read a tool call", roles: reading,
			answers: []answered{answers(200, wire.Call{}, "The call as it is now.")},
			codes:   []frontend.Code{frontend.CodeRunNotFound, frontend.CodeCallNotFound}, serve: a.readCall},
		{method: http.MethodGet, path: "/v1/streams/{ticket}", name: "readStream", tag: "runs", title: "Follow events by a ticket", stream: true,
			about: "Where `readEvents`, `readThreadEvents` and `readTenantEvents` redirect a stream that is served at another address. The ticket is the right to open this one stream, for " +
				"one minute. A reader that loses the stream asks for the events again at the first address, and gets another ticket.",
			params: []param{inQuery("after", "A cursor: only events behind it."), forRuns(followParam), lastParam, forTenant(agentParam), forTenant(typesParam)},
			answers: []answered{{status: 200, of: "", media: mediaStream, headers: []string{"X-Accel-Buffering"}, about: "The stream."},
				answers(204, nil, "Of a run's stream: the run is done, and all of it was read.")},
			codes: []frontend.Code{codeNotFound, codeLinkExpired, frontend.CodeInvalid, frontend.CodeBadCursor, frontend.CodeRunNotFound, codeTooManyStreams}, serve: a.readStream},
	}
}

func (a *api) steeringRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/runs/{id}/decisions", name: "decide", tag: "decisions", title: "Answer calls that wait", roles: deciding,
			about: "One decision, or several that are answered one by one. With `all_or_none` up to 16 are stored in one write, or none of them, and the run takes them up in one turn. " +
				"The same decision may be sent again; of two different ones the first counts. Without `decision_id`, the rest of the decision is its name.",
			body: takes(either{wire.Decision{}, wire.Decisions{}}),
			answers: []answered{answers(202, either{wire.DecisionAnswer{}, wire.DecisionAnswers{}}, "Accepted. It takes effect unless the run is cancelled first."),
				answers(200, either{wire.DecisionAnswer{}, wire.DecisionAnswers{}}, "It was made before (`same: true`), or the answers to several.")},
			codes: decisionCodes, serve: a.decide},
		{method: http.MethodGet, path: "/v1/suspensions/{id}", name: "readSuspension", tag: "decisions", title: "Read what waits, by its suspension alone", roles: seeing,
			about:   "For clients that know the id of a suspension and not its run.",
			answers: []answered{answers(200, either{wire.Approval{}, wire.Outcome{}}, "The call, while it waits, or what became of it.")},
			codes:   []frontend.Code{frontend.CodeCallNotFound}, serve: a.readSuspension},
		{method: http.MethodPost, path: "/v1/suspensions/{id}", name: "answerSuspension", tag: "decisions", title: "Answer what waits, by its suspension alone", roles: deciding,
			about: "A decision without a `target`. Otherwise it is the same as a decision on the run.",
			body:  takes(wire.Answer{}),
			answers: []answered{answers(202, wire.DecisionAnswer{}, "Accepted. It takes effect unless the run is cancelled first."),
				answers(200, wire.DecisionAnswer{}, "It was made before (`same: true`).")},
			codes: without(decisionCodes, frontend.CodeBatchRefused, frontend.CodeSuspensionIDRequired, frontend.CodeRunNotFound), serve: a.answerSuspension},
		{method: http.MethodPost, path: "/v1/runs/{id}/cancel", name: "cancelRun", tag: "runs", title: "End a run", roles: mastering, body: mayTake(struct{}{}),
			about:   "The run ends at its next commit, or at once if it sleeps. What waits is not run any more.",
			answers: []answered{answers(202, wire.Run{}, "Stored.")},
			codes:   []frontend.Code{frontend.CodeRunNotFound, frontend.CodeRunDone}, serve: a.cancelRun},
		{method: http.MethodPost, path: "/v1/runs/{id}/interrupt", name: "interruptRun", tag: "runs", title: "Pause a run after its next commit", roles: mastering,
			body: mayTake(struct{}{}), params: []param{keyHeader}, answers: []answered{answers(202, wire.Run{}, "Stored.")}, paced: true,
			codes: []frontend.Code{frontend.CodeInvalid, frontend.CodeRunNotFound, frontend.CodeRunDone, codeRateLimited}, serve: a.interruptRun},
		{method: http.MethodPost, path: "/v1/runs/{id}/resume", name: "resumeRun", tag: "decisions", title: "Let an interrupted run go on", roles: deciding,
			body:    mayTake(wire.ResumeRequest{}),
			answers: []answered{answers(202, wire.DecisionAnswer{}, "Stored."), answers(200, wire.DecisionAnswer{}, "It was made before (`same: true`).")},
			codes:   resumeCodes, serve: a.resumeRun},
		{method: http.MethodPost, path: "/v1/runs/{id}/retry", name: "retryRun", tag: "runs", title: "Go on with a run that failed", roles: starting, paced: true,
			about: "A new run in the same thread, from the last commit, with fresh budgets.",
			body:  mayTake(struct{}{}), params: []param{keyHeader},
			answers: []answered{started(202, "It is stored, and will run."), started(200, "It was asked for before: the run it started.")},
			codes: []frontend.Code{frontend.CodeInvalid, frontend.CodeRunNotFound, frontend.CodeAgentNotFound, frontend.CodeAgentUnavailable, frontend.CodeRunOpen, frontend.CodeRunSuperseded, frontend.CodeNotFailed,
				frontend.CodeIdempotencyMismatch, frontend.CodeNotAStarter, frontend.CodeTooManyRuns, frontend.CodeTenantFull, codeRateLimited}, serve: a.retryRun},
	}
}

func (a *api) threadRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/threads", name: "findThread", tag: "threads", title: "Find a conversation by your own key", roles: reading,
			params:  []param{{in: "query", name: "key", longest: 255, about: "The `thread_key` that the conversation was started with."}},
			answers: []answered{answers(200, wire.Thread{}, "The thread.")},
			codes:   []frontend.Code{frontend.CodeInvalid, frontend.CodeThreadNotFound}, serve: a.findThread},
		{method: http.MethodGet, path: "/v1/threads/{id}", name: "readThread", tag: "threads", title: "Read a conversation's newest state", roles: reading,
			answers: []answered{answers(200, wire.Thread{}, "The thread.")},
			codes:   []frontend.Code{frontend.CodeThreadNotFound}, serve: a.readThread},
		{method: http.MethodGet, path: "/v1/threads/{id}/messages", name: "readMessages", tag: "threads", title: "Read a conversation, oldest first", roles: reading,
			params: []param{limitParam("200", 1000), cursorParam, dataParam}, answers: []answered{answers(200, wire.Page[wire.Message]{}, "One page.")},
			codes: []frontend.Code{frontend.CodeInvalid, frontend.CodeBadCursor, frontend.CodeThreadNotFound}, serve: a.readMessages},
		{method: http.MethodPost, path: "/v1/threads/{id}/messages", name: "sendMessage", tag: "threads", title: "Send a message", roles: starting, paced: true,
			about: "A new turn: a new run, or more for the run that is open, as `on_pending` says.",
			body:  takes(wire.MessageRequest{}), params: []param{keyHeader},
			answers: []answered{started(202, "Stored; the run that has it."), started(200, "The key was used before, with this body.")},
			codes:   append([]frontend.Code{frontend.CodeSchemaMismatch}, startCodes...), serve: a.sendMessage},
		{method: http.MethodGet, path: "/v1/threads/{id}/events", name: "readThreadEvents", tag: "threads", title: "Read or follow the events of a conversation", roles: reading,
			about: "The events of all its runs, one after the other, as pages (`Accept: application/json`) or as a stream. A thread whose run is done waits for the next one; with `follow=true` a stream goes on meanwhile.",
			params: []param{inQuery("after", "A cursor: only events behind it."), fromParam,
				limitParam("100", 1000), waitSoLong, followParam, lastParam},
			answers: []answered{answers(200, wire.EventPage{}, "One page. `waiting` says that the newest run waits or is done; `done` is false."),
				{status: 200, of: "", media: mediaStream, headers: []string{"X-Accel-Buffering"}, about: "A stream of events."},
				{status: 307, headers: []string{"Location"}, about: "The stream is served at another address, as on AWS: `Location` names it. Browsers follow it by themselves."}},
			codes: []frontend.Code{frontend.CodeInvalid, frontend.CodeBadCursor, frontend.CodeThreadNotFound, codeTooManyStreams}, serve: a.threadEvents},
		{method: http.MethodGet, path: "/v1/threads/{id}/runs", name: "listThreadRuns", tag: "threads", title: "List the runs of a conversation, newest first", roles: reading,
			about:  aboutRuns,
			params: slices.Concat(runFilters, []param{limitParam("20", 100), cursorParam}), answers: []answered{answers(200, wire.Page[wire.Run]{}, "One page.")},
			codes: []frontend.Code{frontend.CodeInvalid, frontend.CodeBadCursor, frontend.CodeThreadNotFound}, serve: a.listThreadRuns},
	}
}

func (a *api) linkRoutes() []route {
	page := func(status int) answered {
		return answered{status: status, of: "", media: linkpage.Media, about: "A page for a person, where the `Accept` header asks for one; so are problems."}
	}
	return []route{
		{method: http.MethodPost, path: "/v1/runs/{id}/links", name: "makeLink", tag: "decisions", title: "Make an approval link", roles: linking, paced: true,
			about: "A link for one recipient, by which that person can answer one approval without a token. It hands on the right to decide, so it takes the role `link`, and is recorded: " +
				"who made it, for whom, when, and until when. `link` is shown here and never again; each call makes another link. A link by which the recipient could only deny is refused.",
			body:    takes(wire.LinkRequest{}),
			answers: []answered{answers(201, wire.Link{}, "The link.")},
			codes: []frontend.Code{codeNotFound, frontend.CodeInvalid, frontend.CodeWrongKind, frontend.CodeRunNotFound, frontend.CodeCallNotFound, frontend.CodeRunDone, frontend.CodeStaleSuspension,
				frontend.CodeSuspensionIDRequired, frontend.CodeNotSuspended, frontend.CodeTooManyLinks,
				frontend.CodeNotAnApprover, frontend.CodeSeparationOfDuties, codeRateLimited}, serve: a.makeLink},
		{method: http.MethodGet, path: "/v1/runs/{id}/links", name: "listLinks", tag: "decisions", title: "List the approval links of a run", roles: linking,
			about:   "Those that were made, oldest first, on one page: for whom, by whom, until when, and whether they were revoked. Not the links themselves.",
			answers: []answered{answers(200, wire.Page[wire.Link]{}, "All of them.")},
			codes:   []frontend.Code{frontend.CodeRunNotFound}, serve: a.listLinks},
		{method: http.MethodDelete, path: "/v1/runs/{id}/links/{link}", name: "revokeLink", tag: "decisions", title: "Revoke an approval link", roles: linking,
			about:   "From now on it answers nothing and shows nothing. A decision that was made by it stays. Revoking it again changes nothing.",
			answers: []answered{answers(200, wire.Link{}, "It is revoked.")},
			codes:   []frontend.Code{frontend.CodeRunNotFound, frontend.CodeLinkNotFound}, serve: a.revokeLink},
		{method: http.MethodGet, path: "/v1/approvals/{token}", name: "showLink", tag: "decisions", title: "Show what a signed link asks", link: true,
			about: "Changes nothing: mail scanners and previews look at links before people do. The link itself is the right to answer this one call, until it expires, is revoked, or the deadline of the call passes; no token is needed. " +
				"Once the call no longer waits, the link shows what became of it: who answered what and when, or that time ran out. Query parameters that mail clients add are ignored.",
			answers: []answered{answers(200, either{wire.Approval{}, wire.Outcome{}}, "The call, which waits, or what became of it."), page(200)},
			codes:   []frontend.Code{codeNotFound, codeLinkExpired, codeLinkRevoked, frontend.CodeLinkNotFound, frontend.CodeRunNotFound, frontend.CodeCallNotFound}, serve: a.showLink},
		{method: http.MethodPost, path: "/v1/approvals/{token}", name: "answerLink", tag: "decisions", title: "Answer by a signed link", link: true,
			about: "A yes or a no, once: sent again it is the same decision. It is recorded under the recipient's name, `link:` and what `for` said, with the link's id and its maker. A call that does not run takes its result here too. Edited arguments and grants take a token and `decide`.",
			body:  &body{of: wire.Verdict{}, form: wire.VerdictForm{}},
			answers: []answered{answers(202, wire.DecisionAnswer{}, "Stored. It will be applied, unless a cancel is first."),
				answers(200, wire.DecisionAnswer{}, "It was made before (`same: true`)."), page(200), page(202)},
			codes: verdictCodes, serve: a.answerLink},
	}
}

func (a *api) otherRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/approvals", name: "listApprovals", tag: "decisions", title: "List what waits for an answer, over all runs", roles: seeing,
			about: "The inbox of people and bots, longest waiting first. A page may be short, or empty, with more behind it: while `next` is set, go on with it. Send a cursor with the same filters as the request that returned it.",
			params: []param{agentParam, {in: "query", name: "kind", about: "Only calls of this kind.", one: query.CallKinds},
				inQuery("thread_id", "Only calls of this conversation."), limitParam("50", 200), cursorParam}, answers: []answered{answers(200, wire.Page[wire.Approval]{}, "One page.")},
			codes: []frontend.Code{frontend.CodeInvalid, frontend.CodeBadCursor}, serve: a.listApprovals},
		{method: http.MethodGet, path: "/v1/events", name: "readTenantEvents", tag: "events", title: "Read or follow suspensions, decisions and run ends of all runs", roles: seeing,
			about: "The events `call.suspended` and `decision.recorded`, and `run.status` where a run is done, of all runs of the tenant, roughly in time order; as pages (`Accept: application/json`) or as a stream. " +
				"For inboxes, bots and consoles. A stream continues until its reader leaves or the server ends it. After the first page, and whenever the numbers change, the stream sends a `counts` event " +
				"with the number of waiting calls by kind. Opened again with `Last-Event-ID`, it continues from there. A reader gets every event if the differences between the workers' clocks and the delay " +
				"of the store's index together stay below 10 seconds. A commit that is still undecided then is checked again for up to 15 minutes, and at most 8 such commits at a time. An event may be sent " +
				"twice: use `thread_id` and `seq` to recognise it. A token without `read` gets decisions without their arguments and result, " +
				"and calls without their arguments and questions: read those from the inbox while the call waits.",
			params: []param{inQuery("after", "A cursor: only events behind it."), fromParam, agentParam, typesParam, limitParam("100", 1000), waitSoLong, lastParam},
			answers: []answered{answers(200, wire.FeedPage{}, "One page. The events of one commit stay together, so a page may hold more than `limit`."),
				{status: 200, of: "", media: mediaStream, headers: []string{"X-Accel-Buffering"}, about: "A stream of events."},
				{status: 307, headers: []string{"Location"}, about: "The stream is served at another address, as on AWS: `Location` names it. Browsers follow it by themselves."}},
			codes: []frontend.Code{frontend.CodeInvalid, frontend.CodeBadCursor, codeTooManyStreams}, serve: a.tenantEvents},
		{method: http.MethodGet, path: "/v1/decisions", name: "listDecisions", tag: "events", title: "List the decisions that were recorded, over all runs, newest first", roles: seeing,
			about: "Who decided what, when, and whether it was applied. A token without `read` gets decisions without their arguments and result.",
			params: []param{byParam, viaParam, agentParam, {in: "query", name: "action", about: "Only decisions with this action.", one: []string{"resume", "cancel"}},
				{in: "query", name: "created_after", moment: true, about: "Only decisions that were recorded at this time or later, in RFC 3339."},
				{in: "query", name: "created_before", moment: true, about: "Only decisions that were recorded before this time, in RFC 3339."},
				limitParam("50", 200), cursorParam},
			answers: []answered{answers(200, wire.DecisionPage{}, "One page. It may be short, even empty, while `next` says that there is more.")},
			codes:   []frontend.Code{frontend.CodeInvalid, frontend.CodeBadCursor}, serve: a.listDecisions},
		{method: http.MethodGet, path: "/v1/agents", name: "listAgents", tag: "agents", title: "List what can be run", roles: reading,
			answers: []answered{answers(200, wire.Page[wire.Agent]{}, "All of them.")}, serve: a.listAgents},
		{method: http.MethodGet, path: "/v1/agents/{name}", name: "readAgent", tag: "agents", title: "Read an agent, its tools and their schemas", roles: reading,
			answers: []answered{answers(200, wire.Agent{}, "The version that new runs start with.")},
			codes:   []frontend.Code{frontend.CodeAgentNotFound}, serve: a.readAgent},
		{method: http.MethodGet, path: "/healthz", name: "health", tag: "server", title: "Ask whether the server is there",
			answers: []answered{answers(200, wire.Health{}, "It is."), answers(503, wire.Health{}, "It is, and its store is not: `storage` says how.")}, serve: a.health},
		{method: http.MethodGet, path: "/openapi.json", name: "openapi", tag: "server", title: "Read this API as an OpenAPI document",
			answers: []answered{answers(200, map[string]any{}, "OpenAPI 3.1.")}, serve: a.openapi},
	}
}
