// Package restore moves a stack to a table that is restored from its point-in-time backup. Between
// [Drill.Stop] and [Drill.Start] no function of the stack serves callers, so no process writes what
// callers have to the old table after the point in time, and none claims what another has claimed.
//
//	Stop ── Restore ── deploy with ExistingTable ── Start
//
// Each of them may be repeated after an error: what is done already is left as it is.
package restore

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// Lambda is the part of the SDK's client that stops and starts functions.
type Lambda interface {
	ListFunctions(context.Context, *lambda.ListFunctionsInput, ...func(*lambda.Options)) (*lambda.ListFunctionsOutput, error)
	GetFunctionConfiguration(context.Context, *lambda.GetFunctionConfigurationInput, ...func(*lambda.Options)) (*lambda.GetFunctionConfigurationOutput, error)
	GetFunctionConcurrency(context.Context, *lambda.GetFunctionConcurrencyInput, ...func(*lambda.Options)) (*lambda.GetFunctionConcurrencyOutput, error)
	PutFunctionConcurrency(context.Context, *lambda.PutFunctionConcurrencyInput, ...func(*lambda.Options)) (*lambda.PutFunctionConcurrencyOutput, error)
	DeleteFunctionConcurrency(context.Context, *lambda.DeleteFunctionConcurrencyInput, ...func(*lambda.Options)) (*lambda.DeleteFunctionConcurrencyOutput, error)
	ListEventSourceMappings(context.Context, *lambda.ListEventSourceMappingsInput, ...func(*lambda.Options)) (*lambda.ListEventSourceMappingsOutput, error)
	GetEventSourceMapping(context.Context, *lambda.GetEventSourceMappingInput, ...func(*lambda.Options)) (*lambda.GetEventSourceMappingOutput, error)
	UpdateEventSourceMapping(context.Context, *lambda.UpdateEventSourceMappingInput, ...func(*lambda.Options)) (*lambda.UpdateEventSourceMappingOutput, error)
}

// Tables is the part of the SDK's client that restores a table.
type Tables interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeContinuousBackups(context.Context, *dynamodb.DescribeContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeContinuousBackupsOutput, error)
	RestoreTableToPointInTime(context.Context, *dynamodb.RestoreTableToPointInTimeInput, ...func(*dynamodb.Options)) (*dynamodb.RestoreTableToPointInTimeOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
	UpdateContinuousBackups(context.Context, *dynamodb.UpdateContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateContinuousBackupsOutput, error)
	UpdateTable(context.Context, *dynamodb.UpdateTableInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error)
}

// Drill is the work on one stack. All members are required.
type Drill struct {
	Lambda Lambda
	Tables Tables
	Now    func() time.Time
	Wait   func(context.Context, time.Duration) error
	// Save keeps what was stopped, before anything is.
	Save func(Stopped) error
	Say  func(format string, args ...any)
}

// Stopped is what Start needs to know of a stack that Stop has stopped.
type Stopped struct {
	Stack     string     `json:"stack"`
	Table     string     `json:"table"`
	Functions []Function `json:"functions"`
	Mappings  []string   `json:"mappings"` // the ids of those that were enabled
	// Quiet is when the last step had ended, in seconds since the Unix epoch; 0: not yet.
	Quiet int64 `json:"quiet,omitempty"`
}

// Function is one of the stack.
type Function struct {
	Name     string `json:"name"`
	Seconds  int32  `json:"seconds"`            // that an invocation may take
	Reserved *int32 `json:"reserved,omitempty"` // its concurrency; nil: not reserved
}
