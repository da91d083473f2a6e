//go:build !noaws

package awscli

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
)

// Config finds credentials and a region. An empty region is the configured one. The errors are of
// [Problem].
func Config(ctx context.Context, region string) (aws.Config, error) {
	c, err := load(ctx, region)
	if err != nil {
		return c, err
	}
	if c.Region == "" {
		return c, &Problem{"no_region", "say in which AWS region the stack is, with --region or AWS_REGION", nil}
	}
	return c, nil
}

// Untaken is the [Problem] of credentials and signatures that AWS does not take; err for any other
// error.
func Untaken(err error) error {
	api, is := errors.AsType[smithy.APIError](err)
	if !is {
		return err
	}
	code := api.ErrorCode()
	if code == "InvalidClientTokenId" { // of the services with the older protocol
		code = "UnrecognizedClientException"
	}
	if p := untakenCredentials(code, api.ErrorMessage(), err); p != nil {
		return p
	}
	return err
}
