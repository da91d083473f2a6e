//go:build noaws

package awsstack

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/cli/stackdoctor"
)

// Open returns an [awscli.Problem].
func Open(context.Context, string, func() time.Time) (stackdoctor.Sources, string, error) {
	return stackdoctor.Sources{}, "", awscli.LeftOut()
}

// Schema is empty.
func Schema() stackdoctor.Schema { return stackdoctor.Schema{} }
