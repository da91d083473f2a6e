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

// Codes of DynamoDB.
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

// hints say to whoever operates the table what an answer most often means.
var hints = map[string]string{
	"ResourceNotFoundException":              "the table or one of its indexes is not there; look at the table's name and region",
	"AccessDeniedException":                  "the credentials may not do this; look at the policy of the function or the user",
	"UnrecognizedClientException":            "the credentials are not valid here; look at the key and the region",
	"ExpiredTokenException":                  "the credentials have expired; get new ones",
	"InvalidSignatureException":              "the credentials or the machine's clock are wrong",
	codeValidation:                           "the request was not understood; look at the table's keys and indexes, and at the version of an emulator",
	"ProvisionedThroughputExceededException": "the table is throttled; it is retried later. If it lasts, look at its capacity and at hot keys",
	"ThrottlingException":                    "the table is throttled; it is retried later. If it lasts, look at its capacity and at hot keys",
	"RequestLimitExceeded":                   "the account is throttled; it is retried later. If it lasts, ask for a higher limit",
}

// unavailable is the error for whatever a request came to that has no name in the protocol. doing
// says what for. What the server cannot understand is no [engine.ErrUnavailable]: nothing was done,
// and nothing would be done the next time.
func (s *Store) unavailable(doing string, err error) error {
	if errors.Is(err, engine.ErrUnavailable) {
		return err
	}
	var api smithy.APIError
	if errors.As(err, &api) && otherKeys(api) {
		return fmt.Errorf("%w: %s, table %s: it has other keys than ours; look at the table's name: %w", engine.ErrGone, doing, s.o.Table, err)
	}
	// it would be the same the next time
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

// reason is what a code of DynamoDB means for the store's users.
func reason(code string) error {
	switch code {
	case "ResourceNotFoundException":
		return engine.ErrGone
	case "AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException", "InvalidSignatureException":
		return engine.ErrDenied
	}
	return engine.ErrUnavailable
}

// ofOtherKeys are how DynamoDB's words begin about a table that has other keys or indexes than the
// requests say.
var ofOtherKeys = []string{"The provided key element does not match the schema", "Query condition missed key schema element", "The table does not have the specified index",
	"One or more parameter values were invalid: Missing the key"}

// otherKeys says whether the table is not one of ours: DynamoDB says so with the code that it has
// for every request it cannot understand.
func otherKeys(e smithy.APIError) bool {
	return e.ErrorCode() == codeValidation && slices.ContainsFunc(ofOtherKeys, func(words string) bool { return strings.HasPrefix(e.ErrorMessage(), words) })
}

// unreadable is the error for something in the table that this program cannot have written.
func unreadable(what string, err error) error {
	return fmt.Errorf("%w: dynamo: the stored %s: %w: %w", engine.ErrUnavailable, what, engine.ErrUnreadable, err)
}

// refusal says whether err is the word that a condition did not hold, and brings the item that
// refused, if the server sent it.
func refusal(err error) (old item, refused bool) {
	var e *types.ConditionalCheckFailedException
	if !errors.As(err, &e) {
		return nil, false
	}
	return e.Item, true
}
