//go:build !noaws

package awsstack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/cli/stackdoctor"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// Schema is the table that this program reads and writes.
func Schema() stackdoctor.Schema {
	table := dynamo.Schema("")
	want := stackdoctor.Schema{TTL: dynamo.TTLAttribute, Keys: keys(table.KeySchema), Indexes: map[string]string{}}
	for _, i := range table.GlobalSecondaryIndexes {
		want.Indexes[aws.ToString(i.IndexName)] = keys(i.KeySchema)
	}
	return want
}

func keys(of []types.KeySchemaElement) string {
	var names []string
	for _, k := range of {
		names = append(names, aws.ToString(k.AttributeName))
	}
	return strings.Join(names, ",")
}

// settings are those of tables.
type settings struct{ api *dynamodb.Client }

// Table implements [stackdoctor.Tables].
func (s settings) Table(ctx context.Context, name string) (stackdoctor.Table, error) {
	out, err := s.api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return stackdoctor.Table{}, explained(err, "dynamodb:DescribeTable")
	}
	t := out.Table
	found := stackdoctor.Table{Status: string(t.TableStatus), Protected: aws.ToBool(t.DeletionProtectionEnabled), Keys: keys(t.KeySchema), Indexes: map[string]stackdoctor.Index{},
		OnDemand: t.BillingModeSummary != nil && t.BillingModeSummary.BillingMode == types.BillingModePayPerRequest, Ceiling: ceiling(t.OnDemandThroughput)}
	for _, i := range t.GlobalSecondaryIndexes {
		found.Indexes[aws.ToString(i.IndexName)] = stackdoctor.Index{Keys: keys(i.KeySchema), Status: string(i.IndexStatus)}
	}
	return found, nil
}

// ceiling says the configured maximum of a table; -1 is none.
func ceiling(of *types.OnDemandThroughput) string {
	var parts []string
	if of != nil && aws.ToInt64(of.MaxReadRequestUnits) > 0 {
		parts = append(parts, fmt.Sprintf("%d read units per second", *of.MaxReadRequestUnits))
	}
	if of != nil && aws.ToInt64(of.MaxWriteRequestUnits) > 0 {
		parts = append(parts, fmt.Sprintf("%d write units per second", *of.MaxWriteRequestUnits))
	}
	return strings.Join(parts, " and ")
}

// Expiry implements [stackdoctor.Tables].
func (s settings) Expiry(ctx context.Context, name string) (string, error) {
	out, err := s.api.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		return "", explained(err, "dynamodb:DescribeTimeToLive")
	}
	d := out.TimeToLiveDescription
	if d == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return "", nil
	}
	return aws.ToString(d.AttributeName), nil
}

// Backups implements [stackdoctor.Tables].
func (s settings) Backups(ctx context.Context, name string) (bool, error) {
	out, err := s.api.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &name})
	if err != nil {
		return false, explained(err, "dynamodb:DescribeContinuousBackups")
	}
	d := out.ContinuousBackupsDescription
	return d != nil && d.PointInTimeRecoveryDescription != nil && d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled, nil
}

// contents are what a table has stored.
type contents struct{ *dynamo.Store }

// runsLooked and tenantsLooked limit how many runs are read.
const (
	runsLooked    = 5 // of each tenant, the newest
	tenantsLooked = 10
)

const readItems = "dynamodb:Query, GetItem and BatchGetItem"

// Newer implements [stackdoctor.Runs].
func (c contents) Newer(ctx context.Context) (read, newer int, err error) {
	tenants, err := c.Tenants(ctx)
	if err != nil && !errors.Is(err, engine.ErrUnreadable) {
		return 0, 0, explained(err, readItems)
	}
	for _, tenant := range tenants[:min(len(tenants), tenantsLooked)] {
		runs, _, err := c.Runs(ctx, tenant, "", "", runsLooked)
		if err != nil {
			return read, newer, explained(err, readItems)
		}
		for _, r := range runs {
			read++
			switch _, err := c.Load(ctx, tenant, r.Thread); {
			case errors.Is(err, engine.ErrNewerSchema):
				newer++
			case err != nil && !errors.Is(err, engine.ErrNotFound):
				return read, newer, explained(err, readItems)
			}
		}
	}
	return read, newer, nil
}

// Deployed implements [stackdoctor.Agents].
func (c contents) Deployed(ctx context.Context) (read []agent.Definition, unread int, err error) {
	tenants, err := c.Tenants(ctx)
	switch {
	case errors.Is(err, engine.ErrUnreadable): // a tenant; the agents of the others are checked
		unread++
	case err != nil:
		return nil, 0, explained(err, readItems)
	}
	for _, tenant := range tenants {
		deployed, err := c.Store.Deployed(ctx, tenant)
		if err != nil {
			return nil, 0, explained(err, readItems)
		}
		for _, stored := range deployed {
			d, err := agent.Decode(stored.Body)
			if err != nil { // a newer program wrote it, or it's damaged
				unread++
				continue
			}
			read = append(read, d)
		}
	}
	return read, unread, nil
}
