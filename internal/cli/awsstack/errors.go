//go:build !noaws

package awsstack

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/cli/stackdoctor"
)

// explained translates an error of the SDK, of a call that needs the permission action.
func explained(err error, action string) error {
	if err == nil {
		return nil
	}
	api, is := errors.AsType[smithy.APIError](err)
	if !is {
		if silent, is := errors.AsType[net.Error](err); is {
			return fmt.Errorf("AWS does not answer (%w)", silent)
		}
		return err
	}
	switch code := api.ErrorCode(); code {
	case "AccessDenied", "AccessDeniedException", "AuthorizationError", "AuthorizationErrorException", "UnauthorizedOperation", "NotAuthorized":
		return &stackdoctor.Denied{Action: action}
	case "ResourceNotFoundException", "NotFound", "NotFoundException", "AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist":
		return stackdoctor.ErrMissing
	}
	if worded, is := errors.AsType[*awscli.Problem](awscli.Untaken(err)); is {
		return worded
	}
	return fmt.Errorf("AWS says: %s: %s", api.ErrorCode(), strings.TrimSpace(api.ErrorMessage()))
}
