// Package problems is the one table of what an error code means over HTTP. Each protocol that the
// server speaks words its errors from it.
package problems

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Codes of what goes wrong before a request is understood.
const (
	CodeInternal         refusal.Code = "internal"
	CodeNotFound         refusal.Code = "not_found"
	CodeMethodNotAllowed refusal.Code = "method_not_allowed"
	CodeUnauthorized     refusal.Code = "unauthorized"
	CodeForbidden        refusal.Code = "forbidden"
	CodeRoleRequired     refusal.Code = "role_required"
	CodeNotAdmitted      refusal.Code = "not_admitted"
	CodeRateLimited      refusal.Code = "rate_limited"
	CodeTooManyStreams   refusal.Code = "too_many_streams"
	CodeLinkExpired      refusal.Code = "link_expired"
	CodeLinkRevoked      refusal.Code = "link_revoked"
	CodeTicketUsed       refusal.Code = "ticket_used"
	CodeMalformed        refusal.Code = "malformed_body"
	CodeUnknownField     refusal.Code = "unknown_field"
	CodeTooLarge         refusal.Code = "too_large"
	CodeMediaType        refusal.Code = "unsupported_media_type"
)

// Problem is what a code means over HTTP.
type Problem struct {
	Code    refusal.Code
	Status  int
	Title   string
	Meaning string // for docs/reference/errors.md
}

// Table has every code; docs/reference/errors.md is generated from it.
var Table = []Problem{
	{CodeMalformed, 400, "Malformed body", "The body isn't one JSON object in UTF-8, is incomplete, arrives too slowly, repeats a member, nests more than 256 levels, or has a member of the wrong type."},
	{CodeUnknownField, 400, "Unknown field", "The operation doesn't know a body member or query parameter; `detail` names it."},
	{refusal.CodeInvalid, 400, "Invalid request", "A member is missing or its value isn't allowed."},
	{refusal.CodeBadCursor, 400, "Bad cursor", "The cursor belongs to another list or to other filters. Start again without a cursor."},
	{refusal.CodeBadAction, 400, "Bad action", "`action` must be `resume`, `cancel` or omitted."},
	{refusal.CodeBadGrant, 400, "Bad grant", "`grant` must be `run` or omitted. If the call must be approved individually, omit `grant`."},
	{refusal.CodeUnclearDecision, 400, "Unclear decision", "The decision doesn't approve, deny or supply a result."},
	{refusal.CodeWrongKind, 400, "Wrong kind", "The decision doesn't fit the call's `kind`. For example, it approves a call that needs a result, edits arguments that can't be edited, or answers a call that another run works for. If the run is interrupted, resume or cancel it instead."},
	{refusal.CodeContradiction, 400, "Contradictory decision", "The decision contradicts itself: it has both a result and an error, its `action` is `resume` but its result denies the call, or it denies the call but has edited arguments or a grant."},
	{refusal.CodeInvalidPermissions, 400, "Invalid permissions", "The run's permissions are malformed or larger than 1,024 bytes."},
	{refusal.CodeNotAStarter, 403, "Not a starter", "The agent's `starters` don't include this caller."},
	{refusal.CodeNotAnApprover, 403, "Not an approver", "The agent's `approvers` don't include this caller, who may still deny; or several people decide about the call and this caller isn't one of them."},
	{refusal.CodeSeparationOfDuties, 403, "Separation of duties", "The approver started or retried a run of the thread, sent a message or answered a question. Another person must approve. Or the policy has several stages and the caller has approved another one."},
	{refusal.CodeNotYourDecision, 403, "Not your decision", "Another caller has made the decision. Only that one may withdraw it."},
	{CodeUnauthorized, 401, "Unauthorized", "The bearer token is missing or unknown."},
	{refusal.CodeInvalidSignature, 401, "Invalid signature", "The webhook isn't signed with the hook's secret, or not in the last five minutes."},
	{CodeForbidden, 403, "Forbidden", "The request comes from another website, or its `Host` isn't accepted."},
	{CodeRoleRequired, 403, "Role required", "The token lacks a role; `detail` names the roles that suffice."},
	{CodeNotAdmitted, 403, "Not admitted", "AWS only: the authorizer named no tenant or role for the caller; `detail` says what to configure."},
	{refusal.CodeCodeRequired, 403, "Code required", "The link is answered with a one-time code. Send `action: code` to have one sent to the link's mail address, then answer with `code`."},
	{refusal.CodeCodeWrong, 403, "Wrong code", "The code isn't the newest one that was sent. A code may be tried 5 times."},
	{refusal.CodeCodeExpired, 403, "Code expired", "No code was sent, the newest one is older than 10 minutes, or it was tried 5 times. Have another one sent."},
	{refusal.CodeCodeLocked, 403, "Codes used up", "The link has sent 20 codes, or 20 were tried. It can't be answered any more; ask for a new link."},
	{CodeNotFound, 404, "Not found", "The path doesn't exist."},
	{refusal.CodeRunNotFound, 404, "Run not found", "The run doesn't exist or belongs to another tenant."},
	{refusal.CodeThreadNotFound, 404, "Thread not found", "The thread doesn't exist or belongs to another tenant."},
	{refusal.CodeCallNotFound, 404, "Call not found", "The run has no such call or suspension."},
	{refusal.CodeDecisionNotFound, 404, "Decision not found", "The suspension has no such decision."},
	{refusal.CodeLinkNotFound, 404, "Link not found", "The run has no such approval link, or the link expired more than 30 days ago."},
	{refusal.CodeHookNotFound, 404, "Hook not found", "No hook with this name is deployed."},
	{refusal.CodeWebhookNotFound, 404, "Webhook not found", "The webhook doesn't exist or belongs to another tenant."},
	{refusal.CodeDeliveryNotFound, 404, "Delivery not found", "The delivery doesn't exist, belongs to another tenant, or was forgotten."},
	{refusal.CodeAgentNotFound, 404, "Agent not found", "No agent with this name is deployed."},
	{CodeMethodNotAllowed, 405, "Method not allowed", "The path supports only the methods in the header `Allow`."},
	{refusal.CodeRunOpen, 409, "Run open", "The thread has an open run; `run_id` names it. Answer its waiting call, wait until the run is done, or set `on_pending` to `abandon` or `queue`."},
	{refusal.CodeRunDone, 409, "Run done", "The run is done, or a run above it has ended or no longer waits for it."},
	{refusal.CodeRunSuperseded, 409, "Run superseded", "Only the thread's newest run can be retried."},
	{refusal.CodeNotFailed, 409, "Not failed", "Only a run that ended in error or was stopped by a rule can be retried."},
	{refusal.CodeNotWaiting, 409, "Not waiting", "The run isn't interrupted, so it can't be resumed."},
	{refusal.CodeChildThread, 409, "Conversation of a child", "The conversation belongs to a run that another run has started; `run_id` names that one. Send messages to that run's conversation, or cancel it and start again."},
	{refusal.CodeBatchSpansRuns, 409, "Batch spans runs", "The decisions of an `all_or_none` batch answer calls of several runs. Send a batch for each run."},
	{refusal.CodeBatchRefused, 409, "Batch refused", "At least one decision of an `all_or_none` batch can't be stored; `answers` has each decision's result."},
	{refusal.CodeNotAlike, 409, "Questions differ", "The questions differ in agent version, tool or rule. Nothing was stored."},
	{refusal.CodeAnswerSingly, 409, "Answer by itself", "A question must be answered by itself; `detail` says why. Nothing was stored."},
	{refusal.CodeAlreadyDecided, 409, "Already decided", "A different decision was accepted first; `winner` shows it."},
	{refusal.CodeArgumentsChanged, 409, "Arguments changed", "An approver approved other arguments. Read the run for the new suspension, which asks about these."},
	{refusal.CodeVotesAreCounted, 409, "Votes are counted", "Several people decide about the call, so its decision can't be part of an `all_or_none` batch. Send it on its own."},
	{refusal.CodeChanged, 409, "Changed", "The call has changed: its fingerprint differs from the member `shown`. Read the call again."},
	{refusal.CodeLateDecision, 409, "Late decision", "The call's deadline passed before the answer arrived, so the call fails or is cancelled. The first late answer is recorded and reported to the model once, and has no other effect. Late answers by link aren't recorded."},
	{refusal.CodeHoldUnavailable, 409, "Hold unavailable", "The decision can't be held: several people decide, it is part of an `all_or_none` batch, it resumes an interrupted run, 8 decisions on the suspension were withdrawn, or the run is working. Nothing was stored. Send it without `hold`, or a little later."},
	{refusal.CodeDecisionApplied, 409, "Decision applied", "The decision has taken effect, or it wasn't held. It can't be withdrawn any more."},
	{refusal.CodeDecisionWithdrawn, 409, "Decision withdrawn", "The decision was withdrawn, and its `decision_id` can't be used again for this suspension. To decide once more, send another `decision_id`."},
	{refusal.CodeStaleSuspension, 409, "Stale suspension", "The suspension is no longer the call's newest. Answer the newest one."},
	{refusal.CodeSuspensionIDRequired, 409, "Suspension id required", "The call was suspended more than once. Send the suspension's id instead of the call's."},
	{refusal.CodeNotSuspended, 409, "Not suspended", "The call isn't suspended."},
	{refusal.CodeTooManyLinks, 409, "Too many links", "The run has 500 approval links. A link counts until 30 days after it expires."},
	{refusal.CodeWebhookChanged, 409, "Webhook changed", "Another change was made since the revision that the request names. Read the webhook and repeat the change."},
	{refusal.CodeTooManyWebhooks, 409, "Too many webhooks", "The tenant has 50 webhooks. Remove one first."},
	{refusal.CodeNotDead, 409, "Delivery not dead", "Only a dead delivery can be redriven or forgotten."},
	{refusal.CodeEndpointDisabled, 409, "Endpoint disabled", "The endpoint is disabled, so the notice would die again. Enable it first, with `dormouse webhooks enable`."},
	{CodeLinkExpired, 410, "Link expired", "The link or stream ticket has expired, or the link's creator or recipient has lost the right to use it."},
	{CodeLinkRevoked, 410, "Link revoked", "The approval link was revoked."},
	{CodeTicketUsed, 410, "Ticket used", "The stream ticket has opened a stream. Each opens one: request the events again at the original address."},
	{CodeTooLarge, 413, "Too large", "The body exceeds 1 MiB."},
	{CodeMediaType, 415, "Unsupported media type", "Send the body as `application/json`."},
	{refusal.CodeIdempotencyMismatch, 422, "Idempotency key reused", "The idempotency key was used before with a different body."},
	{refusal.CodeSchemaMismatch, 422, "Schema mismatch", "The result doesn't match the suspension's response schema. For a call of kind `client`, an event of the run records the refusal."},
	{refusal.CodeResultRequired, 422, "Result required", "To approve this call, send `result`, which becomes the call's result."},
	{refusal.CodeInvalidArguments, 422, "Invalid arguments", "The edited arguments aren't an object or don't match the tool's schema; `detail` names the mismatch."},
	{refusal.CodeHookMismatch, 422, "Hook mismatch", "The webhook's body lacks something that the hook file maps; `detail` names it."},
	{refusal.CodeInboxFull, 429, "Inbox full", "The run has too many unread messages, or too many messages are queued for the thread's next run."},
	{refusal.CodeTooManyRuns, 429, "Too many open runs", "The tenant has reached its limit of open runs. Decisions, cancels and messages to open runs still work."},
	{refusal.CodeBudgetExceeded, 429, "Budget exceeded", "The runs that the agent or the tenant started today (UTC) have used up the budget of a day, or their cost isn't known; `detail` says which. Open runs continue."},
	{CodeRateLimited, 429, "Rate limited", "The tenant starts runs, interrupts runs, creates links or decides too often."},
	{refusal.CodeTooManyCodes, 429, "Too many codes", "The link has sent 5 one-time codes in an hour."},
	{CodeTooManyStreams, 429, "Too many streams", "Too many event streams are open, or the tenant opens them too often."},
	{CodeInternal, 500, "Internal error", "A bug in the server; its log has the details. The request may have taken effect."},
	{refusal.CodeTestUnavailable, 501, "Test unavailable", "This server sends no test notices."},
	{refusal.CodeCodeNotSent, 503, "Code not sent", "The one-time code could not be mailed. Have another one sent."},
	{refusal.CodeAgentUnavailable, 503, "Agent unavailable", "The agent is deployed but can't start, because a secret isn't set or a file can't be read; `detail` names it. The agent's open runs wait. The operator must fix the cause."},
	{refusal.CodeHookUnavailable, 503, "Hook unavailable", "The hook can't verify deliveries, because its file has a mistake, or its secret isn't set or can't be read. The operator must fix it; the server's log names the cause."},
	{refusal.CodeStorageFailing, 503, "Storage failing", "The disk returns errors. The request may have been stored. The operator must check the disk."},
	{refusal.CodeStorageDamaged, 503, "Storage damaged", "The data for this request is damaged; other runs may be intact. The operator must examine the store (`dormouse doctor`)."},
	{refusal.CodeStorageGone, 503, "Storage gone", "The store was removed or replaced. The operator must restore it. If the store was moved during the request, the request may have been stored."},
	{refusal.CodeStorageDenied, 503, "Storage denied", "The store rejects the server's credentials. The operator must grant access."},
	{refusal.CodeUnreadable, 503, "Unreadable", "This version can't read the stored data. The operator must check which version wrote it."},
	{refusal.CodeUnavailable, 503, "Unavailable", "The store is busy. The request may have been stored. Repeat it unchanged."},
	{refusal.CodeTenantFull, 507, "Tenant storage full", "The tenant's storage quota is used up; `detail` has the limit. Ask the operator for a higher quota."},
	{refusal.CodeDiskFull, 507, "Disk full", "The server's disk is full; reads still work. Once there is space, repeat the request; no restart is needed."},
}

var byCode = func() map[refusal.Code]Problem {
	all := map[refusal.Code]Problem{}
	for _, p := range Table {
		all[p.Code] = p
	}
	return all
}()

// Of is what a code means. One that isn't in the table is a fault of the server.
func Of(code refusal.Code) Problem {
	if p, ok := byCode[code]; ok {
		return p
	}
	return byCode[CodeInternal]
}

// Refused is the error as the caller may see it; ok is false for a fault of the server.
func Refused(err error) (e *refusal.Error, ok bool) {
	if errors.As(err, &e) {
		return e, true
	}
	if errors.Is(err, engine.ErrUnavailable) {
		return refusal.Storage(err), true
	}
	// both versions are deployed for a while; the next request may meet the newer one
	if errors.Is(err, engine.ErrNewerSchema) {
		return &refusal.Error{Code: refusal.CodeUnavailable, RetryAfter: 5 * time.Second,
			Detail: "a newer version of the server wrote this data and this version can't read it; send the same request again"}, true
	}
	// that of the whole request, which a server without connections has
	if errors.Is(err, context.DeadlineExceeded) {
		return &refusal.Error{Code: refusal.CodeUnavailable, Detail: "the request took too long; send the same request again", RetryAfter: time.Second}, true
	}
	return &refusal.Error{Code: CodeInternal, Detail: "the server failed unexpectedly; its log has the cause"}, false
}

// MayBeStored says whether a request that ended in the error may have taken effect.
func MayBeStored(err error) bool {
	e, known := Refused(err)
	switch e.Code {
	case CodeInternal, refusal.CodeUnavailable, refusal.CodeStorageFailing, refusal.CodeStorageGone:
		return true
	}
	return !known
}

// Document is the body of an answer that refuses.
func Document(e *refusal.Error) wire.Problem {
	p := Of(e.Code)
	doc := wire.Problem{Type: "about:blank", Title: p.Title, Status: p.Status, Code: string(p.Code), Detail: e.Detail, RunID: e.RunID}
	if e.Same != nil {
		doc.DecisionExtra = &wire.DecisionExtra{Same: e.Same, Winner: e.Winner}
	}
	if len(e.Answers) > 0 {
		doc.BatchExtra = &wire.BatchExtra{Answers: metBy(e.Answers)}
	}
	return doc
}

// metBy is the outcome of each decision of a refused batch, with the status that it would get
// alone. A decision with the batch's code is itself valid.
func metBy(batch []refusal.BatchAnswer) []wire.DecisionAnswer {
	answers := make([]wire.DecisionAnswer, len(batch))
	for i, m := range batch {
		answer := wire.DecisionAnswer{Status: Of(refusal.CodeBatchRefused).Status, Code: string(refusal.CodeBatchRefused),
			Detail: "not stored, because another decision of the batch can't be stored or was stored earlier; send the remaining decisions as a new batch"}
		switch {
		case m.Err != nil:
			doc := Document(m.Err)
			answer = wire.DecisionAnswer{Status: doc.Status, Code: doc.Code, Detail: doc.Detail, Same: m.Err.Same, Winner: m.Err.Winner}
		case m.Same:
			same := true
			answer = wire.DecisionAnswer{Status: 200, Code: string(refusal.CodeAlreadyDecided), Same: &same, Applied: m.Applied}
		}
		answer.Target, answer.CallID, answer.DecisionID = m.Decision.Target, m.CallID, m.Decision.DecisionID
		answers[i] = answer
	}
	return answers
}
