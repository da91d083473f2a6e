package awsmail

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"
	"github.com/aws/smithy-go"
)

// Only what is known not to be sent is repeated within an attempt.
func TestThrottledMailIsRepeatedAndNothingElse(t *testing.T) {
	r := throttled()
	for err, want := range map[error]bool{
		&types.TooManyRequestsException{}: true, &smithy.GenericAPIError{Code: "ThrottlingException"}: true,
		&types.InternalServiceErrorException{}: false, &types.MessageRejected{}: false, errors.New("timeout"): false,
	} {
		if got := r.IsErrorRetryable(err); got != want {
			t.Errorf("%v is repeated: %t", err, got)
		}
	}
	if n := r.MaxAttempts(); n != 4 {
		t.Errorf("%d attempts", n)
	}
}
