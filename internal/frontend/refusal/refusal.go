// Package refusal is the answer to a request that cannot be done: a stable code for programs, and a
// sentence that says why and what to do.
package refusal

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core/answer"
)

// Code says what is wrong, for programs. Codes are a contract: none is renamed.
type Code string

const (
	CodeInvalid              Code = "invalid_request"
	CodeBadCursor            Code = "bad_cursor"
	CodeBadAction            Code = answer.CodeBadAction
	CodeUnclearDecision      Code = answer.CodeUnclearDecision
	CodeWrongKind            Code = answer.CodeWrongKind
	CodeContradiction        Code = answer.CodeContradiction
	CodeBadGrant             Code = answer.CodeBadGrant
	CodeInvalidArguments     Code = answer.CodeInvalidArguments
	CodeResultRequired       Code = answer.CodeResultRequired
	CodeInvalidPermissions   Code = "invalid_permissions"
	CodeNotAStarter          Code = "not_a_starter"
	CodeNotAnApprover        Code = "not_an_approver"
	CodeSeparationOfDuties   Code = "separation_of_duties"
	CodeRunNotFound          Code = "run_not_found"
	CodeThreadNotFound       Code = "thread_not_found"
	CodeCallNotFound         Code = "call_not_found"
	CodeAgentNotFound        Code = "agent_not_found"
	CodeAgentUnavailable     Code = "agent_unavailable"
	CodeRunOpen              Code = "run_open"
	CodeRunDone              Code = "run_done"
	CodeRunSuperseded        Code = "run_superseded"
	CodeNotFailed            Code = "not_failed"
	CodeNotWaiting           Code = "not_waiting"
	CodeAlreadyDecided       Code = "already_decided"
	CodeArgumentsChanged     Code = "arguments_changed"
	CodeVotesAreCounted      Code = "votes_are_counted"
	CodeChanged              Code = "changed"
	CodeBatchRefused         Code = "batch_refused"
	CodeBatchSpansRuns       Code = "batch_spans_runs"
	CodeNotAlike             Code = "not_alike"
	CodeAnswerSingly         Code = "answer_singly"
	CodeChildThread          Code = "child_thread"
	CodeLateDecision         Code = "late_decision"
	CodeHoldUnavailable      Code = "hold_unavailable"
	CodeDecisionApplied      Code = "decision_applied"
	CodeDecisionWithdrawn    Code = "decision_withdrawn"
	CodeDecisionNotFound     Code = "decision_not_found"
	CodeNotYourDecision      Code = "not_your_decision"
	CodeStaleSuspension      Code = "stale_suspension"
	CodeSuspensionIDRequired Code = "suspension_id_required"
	CodeNotSuspended         Code = "not_suspended"
	CodeIdempotencyMismatch  Code = "idempotency_mismatch"
	CodeSchemaMismatch       Code = "schema_mismatch"
	CodeLinkNotFound         Code = "link_not_found"
	CodeHookNotFound         Code = "hook_not_found"
	CodeHookUnavailable      Code = "hook_unavailable"
	CodeHookMismatch         Code = "hook_mismatch"
	CodeInvalidSignature     Code = "invalid_signature"
	CodeTooManyLinks         Code = "too_many_links"
	CodeCodeRequired         Code = "code_required"
	CodeCodeWrong            Code = "code_wrong"
	CodeCodeExpired          Code = "code_expired"
	CodeTooManyCodes         Code = "too_many_codes"
	CodeCodeNotSent          Code = "code_not_sent"
	CodeCodeLocked           Code = "code_locked"
	CodeWebhookNotFound      Code = "webhook_not_found"
	CodeWebhookChanged       Code = "webhook_changed"
	CodeTooManyWebhooks      Code = "too_many_webhooks"
	CodeDeliveryNotFound     Code = "delivery_not_found"
	CodeNotDead              Code = "delivery_not_dead"
	CodeEndpointDisabled     Code = "endpoint_disabled"
	CodeTestUnavailable      Code = "webhook_test_unavailable"
	CodeInboxFull            Code = "inbox_full"
	CodeTooManyRuns          Code = "tenant_too_many_open_runs"
	CodeBudgetExceeded       Code = "budget_exceeded"
	CodeTenantFull           Code = "tenant_storage_full"
	CodeDiskFull             Code = "disk_full"
	CodeStorageFailing       Code = "storage_failing"
	CodeStorageDamaged       Code = "storage_damaged"
	CodeStorageGone          Code = "storage_gone"
	CodeStorageDenied        Code = "storage_denied"
	CodeUnreadable           Code = "unreadable"
	CodeUnavailable          Code = "unavailable"
)

// What a decision that was stored, or withdrawn, is answered with; they are no errors.
const (
	CodeAccepted  Code = "accepted"
	CodeWithdrawn Code = "withdrawn"
)

// Codes are all codes of errors, in a fixed order.
func Codes() []Code {
	return []Code{CodeInvalid, CodeBadCursor, CodeBadAction, CodeBadGrant, CodeUnclearDecision, CodeWrongKind, CodeContradiction,
		CodeInvalidPermissions, CodeNotAStarter, CodeNotAnApprover, CodeSeparationOfDuties, CodeRunNotFound, CodeThreadNotFound, CodeCallNotFound, CodeAgentNotFound, CodeAgentUnavailable, CodeRunOpen, CodeRunDone,
		CodeRunSuperseded, CodeNotFailed, CodeNotWaiting, CodeAlreadyDecided, CodeArgumentsChanged, CodeVotesAreCounted, CodeChanged, CodeBatchRefused, CodeBatchSpansRuns, CodeNotAlike, CodeAnswerSingly, CodeChildThread, CodeLateDecision, CodeStaleSuspension,
		CodeHoldUnavailable, CodeDecisionApplied, CodeDecisionWithdrawn, CodeDecisionNotFound, CodeNotYourDecision,
		CodeSuspensionIDRequired, CodeNotSuspended, CodeIdempotencyMismatch, CodeSchemaMismatch, CodeResultRequired, CodeInvalidArguments,
		CodeLinkNotFound, CodeHookNotFound, CodeHookUnavailable, CodeHookMismatch, CodeInvalidSignature, CodeTooManyLinks, CodeCodeRequired, CodeCodeWrong, CodeCodeExpired, CodeTooManyCodes, CodeCodeNotSent, CodeCodeLocked, CodeWebhookNotFound, CodeWebhookChanged,
		CodeTooManyWebhooks, CodeDeliveryNotFound, CodeNotDead, CodeEndpointDisabled, CodeTestUnavailable, CodeInboxFull,
		CodeTooManyRuns, CodeBudgetExceeded, CodeTenantFull, CodeDiskFull, CodeStorageFailing, CodeStorageDamaged, CodeStorageGone, CodeStorageDenied,
		CodeUnreadable, CodeUnavailable}
}

// Error is a refusal that the caller sees. Nothing was stored, except possibly with
// [CodeUnavailable] and [CodeStorageFailing]; the caller may then send the same request again. Any
// other error of package frontend is a bug.
type Error struct {
	Code   Code
	Detail string // a sentence, safe to show

	RunID string // with CodeRunOpen: the run that is in the way
	// with CodeUnavailable, CodeDiskFull, CodeAgentUnavailable, CodeHookUnavailable,
	// CodeInboxFull, CodeTooManyRuns, CodeBudgetExceeded and CodeTenantFull
	RetryAfter time.Duration

	// Of refused decisions: Same is false where another decision was first, and Winner is that
	// one.
	Same   *bool
	Winner *wire.Winner

	Answers []BatchAnswer // with CodeBatchRefused: what each decision met

	cause error
}

func (e *Error) Error() string { return fmt.Sprintf("frontend: %s: %s", e.Code, e.Detail) }

// Unwrap returns the cause, such as what the store said; nil if there is none.
func (e *Error) Unwrap() error { return e.cause }

// New is a refusal with a code and a sentence that callers may read.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Because is [New] with a cause, which the log shows and callers don't see.
func Because(cause error, code Code, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.cause = cause
	return e
}

// Is says whether err is a refusal with one of the codes.
func Is(err error, codes ...Code) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(codes, e.Code)
}

// BatchAnswer is what one decision of a refused batch met. Err is nil for a decision that nothing
// is wrong with.
type BatchAnswer struct {
	Decision wire.Decision
	CallID   string
	Same     bool // it was made before
	Applied  *bool
	Err      *Error
}
