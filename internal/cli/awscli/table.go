//go:build !noaws

package awscli

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// Table is the table of a stack.
type Table struct {
	*dynamo.Store
	name, region string
}

// OpenTable finds credentials and a region and asks nothing of the table. An empty region is the
// configured one. The errors are of [Problem].
func OpenTable(ctx context.Context, name, region string) (*Table, error) {
	c, err := load(ctx, region)
	if err != nil {
		return nil, err
	}
	if c.Region == "" {
		return nil, &Problem{"no_region", "say in which AWS region the table is, with --region or AWS_REGION", nil}
	}
	store := dynamo.New(dynamodb.NewFromConfig(c, dynamo.Retries()), dynamo.Options{Table: name, Clock: machine.Clock{}, Random: machine.Random{}})
	return &Table{store, name, c.Region}, nil
}

// Region is where the table is.
func (t *Table) Region() string { return t.region }
