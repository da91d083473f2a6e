// Package awssecret finds secrets for the functions that send them: the one that performs steps and
// the one that delivers notices. The others link no client of the Parameter Store.
package awssecret

import (
	"os"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/machine/awsrequest"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/secret/ssmsecret"
)

// Source finds secrets in the environment, and then in the Parameter Store if a path is set.
func Source(s stack.Settings) secret.Source {
	environment := secret.Environment(os.Getenv)
	if s.SecretsPath == "" {
		return environment
	}
	config := s.Config()
	config.BaseEndpoint = stack.Endpoint(s.Endpoints.SSM, config.BaseEndpoint)
	return environment.Or(ssmsecret.New(awsrequest.New("ssm", config), ssmsecret.Options{Path: s.SecretsPath, Clock: machine.Clock{}}))
}
