//go:build !noaws

package awscli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
)

// credentialsLimit is how long it may take to find credentials: a machine that has none asks a
// metadata service that is not there.
const credentialsLimit = 10 * time.Second

// load finds the credentials and the region, in the order the SDK looks for them: the environment,
// the profile, the machine. An empty region is for the environment or the profile to say.
func load(ctx context.Context, region string) (aws.Config, error) {
	// what the SDK has to say is not what a command says
	with := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
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
	if c.Region != "" && !regionName.MatchString(c.Region) {
		return c, &Problem{"no_region", fmt.Sprintf("%q is no AWS region; one looks like eu-central-1", c.Region), nil}
	}
	if what := halfAKey(); what != "" && os.Getenv("AWS_PROFILE") == "" {
		return c, &Problem{"no_credentials", what, nil}
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

// regionName is what the name of a region may be: also "local", as emulators have it.
var regionName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// halfAKey says which half of a key the environment lacks; "" if it lacks none. The SDK would
// silently ignore the other half and use credentials from another source.
func halfAKey() string {
	const id, secret = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
	hasID, hasSecret := cmp.Or(os.Getenv(id), os.Getenv("AWS_ACCESS_KEY")) != "", cmp.Or(os.Getenv(secret), os.Getenv("AWS_SECRET_KEY")) != ""
	there, lacks := id, secret
	switch {
	case hasID == hasSecret:
		return ""
	case hasSecret:
		there, lacks = secret, id
	}
	return fmt.Sprintf("%s is set and %s is not; set both, or neither for a profile to count", there, lacks)
}
