package awscli

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/dynamo"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

// Table is the table of a stack.
type Table struct {
	*dynamo.Store
	name, region string
}

// OpenTable finds credentials and a region and asks nothing of the table. An empty region is the configured one. The errors are of [Problem].
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

// Explain says what an error of the table means to a person, as a [Problem] if it is a known one; operation is what was to be done, as
// "write agents".
func (t *Table) Explain(err error, operation string) error {
	if err == nil {
		return nil
	}
	var silent net.Error
	if errors.As(err, &silent) {
		return &Problem{"unreachable", fmt.Sprintf("DynamoDB does not answer in %s; look at the network, at --region and at AWS_ENDPOINT_URL (%v)",
			t.region, err), err}
	}
	return explain(err, t.name, t.region, operation)
}
