//go:build noaws

package awsstack

import (
	"errors"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
)

func TestWithoutAWSNoStackIsOpened(t *testing.T) {
	_, _, err := Open(t.Context(), "eu-central-1", time.Now)
	if p, ok := errors.AsType[*awscli.Problem](err); !ok || p.Kind != "no_aws" {
		t.Errorf("got %v", err)
	}
}
