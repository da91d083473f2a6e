package httpapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// Codes of what goes wrong before a request is understood.
const (
	codeInternal         frontend.Code = "internal"
	codeNotFound         frontend.Code = "not_found"
	codeMethodNotAllowed frontend.Code = "method_not_allowed"
	codeUnauthorized     frontend.Code = "unauthorized"
	codeForbidden        frontend.Code = "forbidden"
	codeRoleRequired     frontend.Code = "role_required"
	codeNotAdmitted      frontend.Code = "not_admitted"
	codeRateLimited      frontend.Code = "rate_limited"
	codeTooManyStreams   frontend.Code = "too_many_streams"
	codeLinkExpired      frontend.Code = "link_expired"
	codeLinkRevoked      frontend.Code = "link_revoked"
	codeMalformed        frontend.Code = "malformed_body"
	codeUnknownField     frontend.Code = "unknown_field"
	codeTooLarge         frontend.Code = "too_large"
	codeMediaType        frontend.Code = "unsupported_media_type"
)

// problem is what a code means over HTTP.
type problem struct {
	code    frontend.Code
	status  int
	title   string
	meaning string // for docs/reference/errors.md
}

// problems is the one table from codes to statuses; docs/reference/errors.md is generated from it.
var problems = []problem{
	{codeMalformed, 400, "Malformed body", "The body is not one JSON object in UTF-8, repeats a member, or a member has the wrong type."},
	{codeUnknownField, 400, "Unknown field", "The body has a member, or the query a parameter, that this call does not take. The detail names it."},
	{frontend.CodeInvalid, 400, "Invalid request", "A member is missing or has a value that is not allowed."},
	{frontend.CodeBadCursor, 400, "Bad cursor", "The cursor belongs to another list, or to the same list with other filters."},
	{frontend.CodeBadAction, 400, "Bad action", "The action of a decision is `resume` or `cancel`, or left out."},
	{frontend.CodeBadGrant, 400, "Bad grant", "The grant of a decision is `run`, or left out; some calls can only be approved one by one. Nothing was stored."},
	{frontend.CodeUnclearDecision, 400, "Unclear decision", "The decision is neither a yes, nor a no, nor a result. Nothing was stored."},
	{frontend.CodeWrongKind, 400, "Wrong kind", "The call waits for an answer of another kind, such as a result where an approval was sent, or a yes or no where a result was: an approval takes no result. Or it has no use for edited arguments or a grant. An interrupted run is resumed or cancelled, not decided against. Nothing was stored."},
	{frontend.CodeContradiction, 400, "Contradictory decision", "The decision has a result and an error, says `resume` beside a result that is a word for no, or says no and carries what only a yes can: edited arguments or a grant. Nothing was stored."},
	{frontend.CodeInvalidPermissions, 400, "Invalid permissions", "The permissions of the run cannot be read, or are too large. Nothing was stored."},
	{frontend.CodeNotAStarter, 403, "Not a starter", "The agent lists the callers who may start its runs and send them messages, and this one is not among them. Nothing was stored."},
	{frontend.CodeNotAnApprover, 403, "Not an approver", "The agent lists the callers who may approve its calls, and this one is not among them. Every caller who may decide may deny. Nothing was stored."},
	{frontend.CodeSeparationOfDuties, 403, "Separation of duties", "The rule that asks wants an approver who did not ask for the work: not one who started or retried a run of the thread, sent it a message or answered what it asked. Nothing was stored."},
	{codeUnauthorized, 401, "Unauthorized", "No bearer token, or not one of ours."},
	{codeForbidden, 403, "Forbidden", "The request comes from another site, or names a host that is not served."},
	{codeRoleRequired, 403, "Role required", "The token has none of the roles that this call needs; the detail names them."},
	{codeNotAdmitted, 403, "Not admitted", "The authorizer in front of the API let the caller in, but does not say for which tenant or with which role; the detail says what to set. On AWS alone."},
	{codeNotFound, 404, "Not found", "There is nothing at this path."},
	{frontend.CodeRunNotFound, 404, "Run not found", "There is no such run, or it is not yours."},
	{frontend.CodeThreadNotFound, 404, "Thread not found", "There is no such thread, or it is not yours."},
	{frontend.CodeCallNotFound, 404, "Call not found", "The run has no such call or suspension."},
	{frontend.CodeLinkNotFound, 404, "Link not found", "The run has no such approval link, or its record is not kept any more."},
	{frontend.CodeAgentNotFound, 404, "Agent not found", "No agent of this name is deployed."},
	{codeMethodNotAllowed, 405, "Method not allowed", "The path is there, for other methods; `Allow` lists them."},
	{frontend.CodeRunOpen, 409, "Run open", "The thread has a run that is not done, or that waits for a decision; `run_id` names it. `on_pending` says what a message does to it. Nothing was stored."},
	{frontend.CodeRunDone, 409, "Run done", "The run is over. Nothing was stored."},
	{frontend.CodeRunSuperseded, 409, "Run superseded", "The thread has a newer run; only the newest can be retried. Nothing was stored."},
	{frontend.CodeNotFailed, 409, "Not failed", "Only a run that ended in error or was stopped by a rule can be retried. Nothing was stored."},
	{frontend.CodeNotWaiting, 409, "Not waiting", "The run is not interrupted, so that there is nothing to resume. Nothing was stored."},
	{frontend.CodeBatchRefused, 409, "Batch refused", "Of the decisions that were to be stored all or none, at least one can't be. `answers` says what each of them met. Nothing was stored."},
	{frontend.CodeAlreadyDecided, 409, "Already decided", "Another decision on this suspension was first; `winner` shows it. (The same decision again is answered with 200.)"},
	{frontend.CodeChanged, 409, "Changed", "The `shown` of the decision is not the fingerprint of the question that waits. Read the question again. Nothing was stored."},
	{frontend.CodeLateDecision, 409, "Late decision", "The deadline passed and its outcome was used. The first such answer is recorded, and the model is told of it once; nothing else follows. An answer by a link is not recorded: links are dead at the deadline."},
	{frontend.CodeStaleSuspension, 409, "Stale suspension", "The call was suspended again; answer its newest suspension. Nothing was stored."},
	{frontend.CodeSuspensionIDRequired, 409, "Suspension id required", "The call was suspended more than once; name the suspension instead of the call. Nothing was stored."},
	{frontend.CodeNotSuspended, 409, "Not suspended", "The call does not wait for an answer. Nothing was stored."},
	{frontend.CodeTooManyLinks, 409, "Too many links", "The run has as many approval links as it may. Records of links are kept for 30 days after they expire. Nothing was stored."},
	{codeLinkExpired, 410, "Link expired", "The link, or the ticket of a stream, has expired, or the caller who made it, or for whom it was made, has lost the right to it. Nothing was stored."},
	{codeLinkRevoked, 410, "Link revoked", "The approval link was revoked. Nothing was stored."},
	{codeTooLarge, 413, "Too large", "The body is larger than 1 MiB."},
	{codeMediaType, 415, "Unsupported media type", "The body must be sent as `application/json`."},
	{frontend.CodeIdempotencyMismatch, 422, "Idempotency key reused", "The idempotency key was used before, with another body. Nothing was stored."},
	{frontend.CodeSchemaMismatch, 422, "Schema mismatch", "The result does not fit the response schema of the suspension. No answer was stored. For a call that the client runs, the journal records the refusal."},
	{frontend.CodeResultRequired, 422, "Result required", "The call does not run after this approval: the decision's result becomes the call's result, so a yes needs one. Nothing was stored."},
	{frontend.CodeInvalidArguments, 422, "Invalid arguments", "The edited arguments are no object, or do not fit the tool; the detail says where. Nothing was stored."},
	{frontend.CodeInboxFull, 429, "Inbox full", "Too many messages wait for the run, or for its end; `Retry-After` says when to try again. Nothing was stored."},
	{frontend.CodeTooManyRuns, 429, "Too many open runs", "The tenant has as many runs that are not done as it may have; `Retry-After` says when to try again. Decisions, cancels and messages to open runs are still taken. Nothing was stored."},
	{codeRateLimited, 429, "Rate limited", "The tenant starts runs, interrupts them or makes links faster than it may; `Retry-After` says when to try again. Nothing was stored."},
	{codeTooManyStreams, 429, "Too many streams", "Too many streams of events are open; `Retry-After` says when to try again."},
	{codeInternal, 500, "Internal error", "A fault of ours. The details are in the server's log."},
	{frontend.CodeAgentUnavailable, 503, "Agent unavailable", "The agent is there and cannot be started now, because a secret is not set or a file cannot be read; the detail says what is missing. Its open runs wait. Nothing was stored: send the request again once it is back, or after `Retry-After`."},
	{frontend.CodeStorageFailing, 503, "Storage failing", "The disk of the server answers with errors. The request may or may not have been stored. There is no `Retry-After`: an operator has to look at the disk."},
	{frontend.CodeStorageDamaged, 503, "Storage damaged", "What is stored is damaged where the request reads or writes; other runs may be whole. There is no `Retry-After`: an operator has to repair it (`dormouse doctor`). Nothing was stored."},
	{frontend.CodeStorageGone, 503, "Storage gone", "The server's store is not there any more, or another one is in its place. There is no `Retry-After`: an operator has to bring it back. A request at the moment when it was moved may have been stored in it."},
	{frontend.CodeStorageDenied, 503, "Storage denied", "The store refuses the server's credentials or rights. There is no `Retry-After`: an operator has to grant them. Nothing was stored."},
	{frontend.CodeUnreadable, 503, "Unreadable", "What is stored of this cannot be read by this version of the server. There is no `Retry-After`: an operator has to look at it. Nothing was stored."},
	{frontend.CodeUnavailable, 503, "Unavailable", "The store is busy. The request may or may not have been stored: send the same one again after `Retry-After`."},
	{frontend.CodeTenantFull, 507, "Tenant storage full", "The tenant has stored as many bytes as it may; the detail says how many. Decisions, cancels, interrupts and resumes are still taken, and everything can be read. Ask the operator of the server for more. Nothing was stored."},
	{frontend.CodeDiskFull, 507, "Disk full", "The disk of the server's data directory is full. Reads and the inbox are served; nothing can be stored until there is room again. The server needs no restart. Nothing was stored: send the same request again after `Retry-After`."},
}

var problemOf = func() map[frontend.Code]problem {
	byCode := map[frontend.Code]problem{}
	for _, p := range problems {
		byCode[p.code] = p
	}
	return byCode
}()

// panicked is a handler's panic as an error.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// refused is the error as the caller may see it; ok is false for a fault of ours.
func refused(err error) (e *frontend.Error, ok bool) {
	if errors.As(err, &e) {
		return e, true
	}
	if errors.Is(err, engine.ErrUnavailable) {
		return frontend.StoreError(err), true
	}
	// both versions are deployed for a while; the next request may meet the newer one
	if errors.Is(err, engine.ErrNewerSchema) {
		return &frontend.Error{Code: frontend.CodeUnavailable, RetryAfter: 5 * time.Second,
			Detail: "a newer version of the server has written this, and this one cannot read it; send the same request again"}, true
	}
	// that of the whole request, which a server without connections has
	if errors.Is(err, context.DeadlineExceeded) {
		return &frontend.Error{Code: frontend.CodeUnavailable, Detail: "it took too long; send the same request again", RetryAfter: time.Second}, true
	}
	return &frontend.Error{Code: codeInternal, Detail: "something went wrong on our side"}, false
}

// answer writes err as a problem document. Nobody reads the answer to a request that was given up.
func (a *api) answer(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := refused(err)
	if e.Code == codeUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if r.Context().Err() == nil {
		switch {
		case !ok:
			a.logFault(r, err)
		case problemOf[e.Code].status == http.StatusServiceUnavailable:
			a.logUnserved(r, e, err)
		}
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	doc := document(e)
	body, err := core.EncodeAny(doc)
	if err != nil {
		a.logFault(r, err)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(doc.Status)
	_, _ = w.Write(body)
}

func (a *api) logFault(r *http.Request, err error) {
	args := []any{"call", r.Pattern, "error", err}
	if errors.As(err, new(panicked)) {
		args = append(args, "stack", string(debug.Stack()))
	}
	a.log.ErrorContext(r.Context(), "request failed", args...)
}

func document(e *frontend.Error) wire.Problem {
	p, ok := problemOf[e.Code]
	if !ok {
		p = problemOf[codeInternal]
	}
	doc := wire.Problem{Type: "about:blank", Title: p.title, Status: p.status, Code: string(p.code), Detail: e.Detail, RunID: e.RunID}
	if e.Same != nil {
		doc.DecisionExtra = &wire.DecisionExtra{Same: e.Same, Winner: e.Winner}
	}
	if len(e.Answers) > 0 {
		doc.BatchExtra = &wire.BatchExtra{Answers: metBy(e.Answers)}
	}
	return doc
}

// metBy is what each decision of a refused batch met, with the status that it would have had alone.
// Nothing is wrong with one whose code is that of the batch.
func metBy(batch []frontend.BatchAnswer) []wire.DecisionAnswer {
	answers := make([]wire.DecisionAnswer, len(batch))
	for i, m := range batch {
		answer := wire.DecisionAnswer{Status: problemOf[frontend.CodeBatchRefused].status, Code: string(frontend.CodeBatchRefused),
			Detail: "it was not stored, because another decision of the batch could not be stored, or was stored earlier; send the remaining decisions as a new batch"}
		switch {
		case m.Err != nil:
			doc := document(m.Err)
			answer = wire.DecisionAnswer{Status: doc.Status, Code: doc.Code, Detail: doc.Detail, Same: m.Err.Same, Winner: m.Err.Winner}
		case m.Same:
			same := true
			answer = wire.DecisionAnswer{Status: 200, Code: string(frontend.CodeAlreadyDecided), Same: &same, Applied: m.Applied}
		}
		answer.Target, answer.CallID, answer.DecisionID = m.Decision.Target, m.CallID, m.Decision.DecisionID
		answers[i] = answer
	}
	return answers
}
