package dynamo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Error codes of DynamoDB.
const (
	codeConflict   = "TransactionConflictException"
	codeInternal   = "InternalServerError"
	codeValidation = "ValidationException"

	reasonNone      = "None"
	reasonRefused   = "ConditionalCheckFailed"
	reasonConflict  = "TransactionConflict"
	reasonThrottled = "ThrottlingError"
	reasonCapacity  = "ProvisionedThroughputExceeded"
)

// hints tells the operator of the table what an error code most often means.
var hints = map[string]string{
	"ResourceNotFoundException":              "the table or one of its indexes does not exist; check the table's name and region",
	"AccessDeniedException":                  "access is denied; check the policy of the function or the user",
	"UnrecognizedClientException":            "the credentials are invalid; check the key and the region",
	"ExpiredTokenException":                  "the credentials have expired; get new ones",
	"InvalidSignatureException":              "the signature is invalid; check the credentials and the machine's clock",
	codeValidation:                           "the request was rejected as invalid; check the table's keys and indexes, and the version of an emulator",
	"ProvisionedThroughputExceededException": "the table is throttled and the request is retried later; if this persists, check its capacity and hot keys",
	"ThrottlingException":                    "the table is throttled and the request is retried later; if this persists, check its capacity and hot keys",
	"RequestLimitExceeded":                   "the account is throttled and the request is retried later; if this persists, request a higher limit",
}

// unavailable wraps an error of a request that the protocol has no name for. doing says what the
// request was for. A request that the server rejects as invalid is not an [engine.ErrUnavailable]:
// nothing was done, and a retry would change nothing.
func (s *Store) unavailable(doing string, err error) error {
	if errors.Is(err, engine.ErrUnavailable) {
		return err
	}
	var api smithy.APIError
	if errors.As(err, &api) && otherKeys(api) {
		return fmt.Errorf("%w: %s, table %s: its keys are not those of a Dormouse table; check the table's name: %w", engine.ErrGone, doing, s.o.Table, err)
	}
	// a retry would get the same answer
	if errors.As(err, &api) && api.ErrorCode() == codeValidation {
		return fmt.Errorf("dynamo: %s, table %s: %s: %w", doing, s.o.Table, hints[codeValidation], err)
	}
	if errors.As(err, &api) {
		if hint, ok := hints[api.ErrorCode()]; ok {
			return fmt.Errorf("%w: %s, table %s: %s: %w", reason(api.ErrorCode()), doing, s.o.Table, hint, err)
		}
	}
	return fmt.Errorf("%w: %s, table %s: %w", engine.ErrUnavailable, doing, s.o.Table, err)
}

// reason is the error of the protocol for an error code of DynamoDB.
func reason(code string) error {
	switch code {
	case "ResourceNotFoundException":
		return engine.ErrGone
	case "AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException", "InvalidSignatureException":
		return engine.ErrDenied
	}
	return engine.ErrUnavailable
}

// ofOtherKeys are the beginnings of DynamoDB's messages about a table whose keys or indexes differ
// from those in the request.
var ofOtherKeys = []string{"The provided key element does not match the schema", "Query condition missed key schema element", "The table does not have the specified index",
	"One or more parameter values were invalid: Missing the key"}

// otherKeys reports whether the table is not one of ours. DynamoDB uses the same code for every
// invalid request, so the message decides.
func otherKeys(e smithy.APIError) bool {
	return e.ErrorCode() == codeValidation && slices.ContainsFunc(ofOtherKeys, func(words string) bool { return strings.HasPrefix(e.ErrorMessage(), words) })
}

// unreadable is the error for stored data that this program cannot have written.
func unreadable(what string, err error) error {
	return fmt.Errorf("%w: dynamo: the stored %s: %w: %w", engine.ErrUnavailable, what, engine.ErrUnreadable, err)
}

// refusal reports whether err says that a condition failed. It returns the item that refused the
// write, if the server sent it.
func refusal(err error) (old item, refused bool) {
	var e *types.ConditionalCheckFailedException
	if !errors.As(err, &e) {
		return nil, false
	}
	return e.Item, true
}
