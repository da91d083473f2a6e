//go:build !noaws

package awscli

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Explain says what an error of the table means to a person, as a [Problem] if it is a known one;
// operation is what was to be done, as "write agents".
func (t *Table) Explain(err error, operation string) error {
	if err == nil {
		return nil
	}
	if silent := Silent(err, "DynamoDB", t.region); silent != nil {
		return silent
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		return t.refused(api, err, operation)
	}
	// a name for the machinery around, which says nothing to a person
	if errors.Is(err, engine.ErrUnavailable) {
		return &Problem{"aws", strings.ReplaceAll(err.Error(), engine.ErrUnavailable.Error()+": ", ""), err}
	}
	return err
}

// Silent is the [Problem] of a service that can't be reached in a region; nil for other errors.
func Silent(err error, service, region string) *Problem {
	silent, is := errors.AsType[net.Error](err)
	if !is {
		return nil
	}
	return &Problem{"unreachable", fmt.Sprintf("%s does not answer in %s; look at the network, at --region and at AWS_ENDPOINT_URL (%v)",
		service, region, silent), err}
}

// refused is what AWS said no with, in words.
func (t *Table) refused(api smithy.APIError, err error, operation string) *Problem {
	const takeOutput = "take the name that the stack shows as its output TableName, and say its region with --region"
	says := cmp.Or(api.ErrorMessage(), "no more than that")
	switch code := api.ErrorCode(); code {
	case "ResourceNotFoundException":
		return &Problem{"no_table", fmt.Sprintf("there is no table %q in %s; %s", t.name, t.region, takeOutput), err}
	case "ValidationException": // the keys and indexes are others than a stack's
		return &Problem{"no_table", fmt.Sprintf("%q in %s is not the table of a stack; %s (AWS says: %s)", t.name, t.region, takeOutput, says), err}
	case "AccessDeniedException":
		return &Problem{"access_denied", fmt.Sprintf("the credentials may not %s in table %s; they need dynamodb:GetItem, PutItem, UpdateItem, "+
			"DeleteItem, Query and BatchGetItem on the table and its indexes (AWS says: %s)", operation, t.name, says), err}
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded":
		return &Problem{"throttled", fmt.Sprintf("the table %s in %s is throttled; run the same command again in a moment (AWS says: %s)",
			t.name, t.region, says), err}
	default:
		if wrong := untakenCredentials(code, says, err); wrong != nil {
			return wrong
		}
		return &Problem{"aws", fmt.Sprintf("AWS did not %s in table %s of %s; run the same command again later (AWS says: %s: %s)",
			operation, t.name, t.region, code, says), err}
	}
}

// untakenCredentials are the words for credentials and signatures that AWS does not take; nil for
// every other code.
func untakenCredentials(code, says string, err error) *Problem {
	const clock = "the clock of this machine is wrong; set it, since AWS takes signatures for a few minutes (AWS says: %s)"
	if strings.Contains(says, "Signature expired") || strings.Contains(says, "Signature not yet current") {
		code = "RequestExpired"
	}
	switch code {
	case "RequestTimeTooSkewed", "RequestExpired":
		return &Problem{"wrong_clock", fmt.Sprintf(clock, says), err}
	case "InvalidSignatureException", "SignatureDoesNotMatch":
		return &Problem{"no_credentials", fmt.Sprintf("AWS does not take the signature (%s): the secret may not belong to the key id; "+
			"look at %s, and at the region", code, WhichCredentials()), err}
	case "UnrecognizedClientException", "ExpiredTokenException", "ExpiredToken", "IncompleteSignature", "MissingAuthenticationTokenException":
		return &Problem{"no_credentials", fmt.Sprintf("AWS does not take these credentials (%s); get new ones, and look at %s",
			code, WhichCredentials()), err}
	}
	return nil
}
