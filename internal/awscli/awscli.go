// Package awscli is what the command line needs of AWS: credentials as the environment, the profiles and the machine have them, the table of a
// stack, and signatures on requests to an API that lets callers in by IAM. It is not for functions, which read their environment alone and
// link none of this.
package awscli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
)

// Problem is why AWS cannot be used, and what to do about it. Kind is stable, for programs.
type Problem struct {
	Kind  string // no_credentials, no_region, no_table, access_denied, unreachable or aws
	What  string
	cause error
}

func (p *Problem) Error() string { return p.What }

// Unwrap returns what the SDK said.
func (p *Problem) Unwrap() error { return p.cause }

// credentialsLimit is how long it may take to find credentials: a machine that has none asks a metadata service that is not there.
const credentialsLimit = 10 * time.Second

// load finds the credentials and the region, in the order the SDK looks for them: the environment, the profile, the machine. An empty region
// is for the environment or the profile to say.
func load(ctx context.Context, region string) (aws.Config, error) {
	with := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})} // what the SDK has to say is not what a command says
	if region != "" {
		with = append(with, config.WithRegion(region))
	}
	c, err := config.LoadDefaultConfig(ctx, with...)
	if missing, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		return c, &Problem{"no_credentials", fmt.Sprintf("there is no AWS profile %q; set AWS_PROFILE to one that there is", missing.Profile), err}
	}
	if err != nil {
		return c, &Problem{"aws", "the AWS configuration cannot be read: " + err.Error(), err}
	}
	limited, stop := context.WithTimeout(ctx, credentialsLimit)
	defer stop()
	if _, err := c.Credentials.Retrieve(limited); err != nil {
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		return c, &Problem{"no_credentials", "there are no AWS credentials; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, " +
			"or log in with aws sso login", err}
	}
	return c, nil
}

// explain is a failed request in words. operation is what was meant to be done.
func explain(err error, table, region, operation string) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err
	}
	switch code := api.ErrorCode(); code {
	case "ResourceNotFoundException":
		return &Problem{"no_table", fmt.Sprintf("there is no table %q in %s; take the name that the stack shows as its output TableName, "+
			"and say its region with --region", table, cmp.Or(region, "this region")), err}
	case "AccessDeniedException":
		return &Problem{"access_denied", fmt.Sprintf("the credentials may not %s in table %s; they need dynamodb:GetItem, PutItem, UpdateItem, "+
			"DeleteItem, Query and BatchGetItem on the table and its indexes (AWS says: %s)", operation, table, api.ErrorMessage()), err}
	case "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "ExpiredToken", "IncompleteSignature",
		"MissingAuthenticationTokenException":
		return &Problem{"no_credentials", fmt.Sprintf("AWS does not take these credentials (%s); get new ones, and look at %s",
			code, whichCredentials()), err}
	}
	return err
}

// whichCredentials is where the ones that were used came from, as far as the environment tells.
func whichCredentials() string {
	switch {
	case os.Getenv("AWS_ACCESS_KEY_ID") != "":
		return "AWS_ACCESS_KEY_ID in the environment"
	case os.Getenv("AWS_PROFILE") != "":
		return "the profile " + os.Getenv("AWS_PROFILE")
	}
	return "the default profile"
}
