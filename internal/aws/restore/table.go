package restore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// Restore restores the table of a stopped stack into another one and returns once that can be used:
// with its indexes, the expiry of items, point-in-time recovery, and protected from deletion, none
// of which but the indexes a restored table has by itself. at is the point in time; zero is the
// moment at which the stack had stopped, with which nothing is lost. For that moment Restore waits,
// some minutes, until the backup contains it.
func (d Drill) Restore(ctx context.Context, s Stopped, to string, at time.Time) error {
	if s.Quiet == 0 {
		return fmt.Errorf("the stack %s has not stopped yet; a step may still write to %s", s.Stack, s.Table)
	}
	if at.IsZero() {
		at = time.Unix(s.Quiet, 0)
		if err := d.backedUp(ctx, s.Table, at); err != nil {
			return err
		}
	}
	_, err := d.Tables.RestoreTableToPointInTime(ctx, &dynamodb.RestoreTableToPointInTimeInput{SourceTableName: &s.Table, TargetTableName: &to, RestoreDateTime: &at})
	_, there := errors.AsType[*types.TableAlreadyExistsException](err)
	_, underWay := errors.AsType[*types.TableInUseException](err)
	if err != nil && !there && !underWay {
		return fmt.Errorf("restoring %s: %w", s.Table, err)
	}
	if there {
		d.Say("the table %s is there already; it is not restored again", to)
	} else {
		d.Say("restoring %s as of %s into %s; this takes minutes to hours", s.Table, at.UTC().Format(time.RFC3339), to)
	}
	if err := d.active(ctx, to); err != nil {
		return err
	}
	return d.protect(ctx, to)
}

// backedUp waits until the backup of a table reaches that time.
func (d Drill) backedUp(ctx context.Context, table string, at time.Time) error {
	for {
		out, err := d.Tables.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &table})
		if err != nil {
			return fmt.Errorf("reading the backups of %s: %w", table, err)
		}
		var latest *time.Time
		if b := out.ContinuousBackupsDescription; b != nil && b.PointInTimeRecoveryDescription != nil {
			latest = b.PointInTimeRecoveryDescription.LatestRestorableDateTime
		}
		if latest == nil {
			return fmt.Errorf("the table %s has no point-in-time recovery", table)
		}
		if !latest.Before(at) {
			return nil
		}
		if err := d.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// active waits until a table and its indexes can be used.
func (d Drill) active(ctx context.Context, table string) error {
	for {
		out, err := d.Tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
		if err != nil {
			return fmt.Errorf("reading the table %s: %w", table, err)
		}
		ready := out.Table.TableStatus == types.TableStatusActive
		for _, i := range out.Table.GlobalSecondaryIndexes {
			ready = ready && i.IndexStatus == types.IndexStatusActive
		}
		if have, want := len(out.Table.GlobalSecondaryIndexes), len(dynamo.Schema(table).GlobalSecondaryIndexes); ready && have != want {
			return fmt.Errorf("the table %s has %d indexes, and must have %d", table, have, want)
		}
		if ready {
			return nil
		}
		if err := d.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// protect turns on what a restored table does not have.
func (d Drill) protect(ctx context.Context, table string) error {
	ttl, err := d.Tables.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil {
		return fmt.Errorf("reading the expiry of items of %s: %w", table, err)
	}
	if ttl.TimeToLiveDescription == nil || ttl.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabled && ttl.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		if _, err := d.Tables.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &table,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(dynamo.TTLAttribute), Enabled: aws.Bool(true)}}); err != nil {
			return fmt.Errorf("turning on the expiry of items of %s: %w", table, err)
		}
	}
	if _, err := d.Tables.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{TableName: &table,
		PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)}}); err != nil {
		return fmt.Errorf("turning on point-in-time recovery of %s: %w", table, err)
	}
	if _, err := d.Tables.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &table, DeletionProtectionEnabled: aws.Bool(true)}); err != nil {
		return fmt.Errorf("protecting %s from deletion: %w", table, err)
	}
	d.Say("the table %s can be used; deploy the stack with ExistingTable=%s", table, table)
	return nil
}
