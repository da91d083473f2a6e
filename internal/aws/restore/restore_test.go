package restore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/aws/restore"
)

// account is a double of the two services: the functions of two stacks, and tables.
type account struct {
	now      time.Time
	did      []string // in order
	tables   map[string]string
	reserved map[string]int32
	enabled  map[string]bool
	restored *dynamodb.RestoreTableToPointInTimeInput
	looks    int
	fails    string // the first call that begins so fails, once
}

func newAccount() *account {
	return &account{now: time.Unix(1_800_000_000, 0), tables: map[string]string{"desk-Step": "old", "desk-Api": "old", "other-Step": "theirs"},
		reserved: map[string]int32{"desk-Api": 7}, enabled: map[string]bool{"m1": true, "m2": false}}
}

func (a *account) do(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if a.fails != "" && strings.HasPrefix(what, a.fails) {
		a.fails = ""
		return errors.New("the service does not answer")
	}
	a.did = append(a.did, what)
	return nil
}

func (a *account) ListFunctions(context.Context, *lambda.ListFunctionsInput, ...func(*lambda.Options)) (*lambda.ListFunctionsOutput, error) {
	var out lambda.ListFunctionsOutput
	for _, name := range []string{"desk-PreTraffic", "desk-Step", "desk-Api", "other-Step"} {
		stack, function, _ := strings.Cut(name, "-")
		variables := map[string]string{"DORMOUSE_STACK": stack, "DORMOUSE_TABLE": a.tables[name]}
		if function == "PreTraffic" { // it answers CodeDeploy, so it goes on
			variables["DORMOUSE_STEP_VERSION"] = "desk-Step:7"
		}
		out.Functions = append(out.Functions, types.FunctionConfiguration{FunctionName: &name, Timeout: aws.Int32(300),
			Environment: &types.EnvironmentResponse{Variables: variables}})
	}
	return &out, nil
}

func (a *account) GetFunctionConfiguration(_ context.Context, in *lambda.GetFunctionConfigurationInput, _ ...func(*lambda.Options)) (*lambda.GetFunctionConfigurationOutput, error) {
	if *in.FunctionName == "desk-Api" && in.Qualifier != nil {
		return nil, &types.ResourceNotFoundException{}
	}
	return &lambda.GetFunctionConfigurationOutput{Environment: &types.EnvironmentResponse{Variables: map[string]string{"DORMOUSE_TABLE": a.tables[*in.FunctionName]}}}, nil
}

func (a *account) GetFunctionConcurrency(_ context.Context, in *lambda.GetFunctionConcurrencyInput, _ ...func(*lambda.Options)) (*lambda.GetFunctionConcurrencyOutput, error) {
	if n, there := a.reserved[*in.FunctionName]; there {
		return &lambda.GetFunctionConcurrencyOutput{ReservedConcurrentExecutions: &n}, nil
	}
	return &lambda.GetFunctionConcurrencyOutput{}, nil
}

func (a *account) PutFunctionConcurrency(_ context.Context, in *lambda.PutFunctionConcurrencyInput, _ ...func(*lambda.Options)) (*lambda.PutFunctionConcurrencyOutput, error) {
	if err := a.do("%s has %d", *in.FunctionName, *in.ReservedConcurrentExecutions); err != nil {
		return nil, err
	}
	a.reserved[*in.FunctionName] = *in.ReservedConcurrentExecutions
	return &lambda.PutFunctionConcurrencyOutput{}, nil
}

func (a *account) DeleteFunctionConcurrency(_ context.Context, in *lambda.DeleteFunctionConcurrencyInput, _ ...func(*lambda.Options)) (*lambda.DeleteFunctionConcurrencyOutput, error) {
	delete(a.reserved, *in.FunctionName)
	return &lambda.DeleteFunctionConcurrencyOutput{}, a.do("%s has no reservation", *in.FunctionName)
}

func (a *account) ListEventSourceMappings(_ context.Context, in *lambda.ListEventSourceMappingsInput, _ ...func(*lambda.Options)) (*lambda.ListEventSourceMappingsOutput, error) {
	switch *in.FunctionName {
	case "desk-Step:live":
		var out lambda.ListEventSourceMappingsOutput
		for _, id := range []string{"m1", "m2"} {
			out.EventSourceMappings = append(out.EventSourceMappings, types.EventSourceMappingConfiguration{UUID: &id, State: a.state(id)})
		}
		return &out, nil
	case "desk-Api:live":
		return nil, &types.ResourceNotFoundException{}
	}
	return &lambda.ListEventSourceMappingsOutput{}, nil
}

func (a *account) state(id string) *string {
	if a.enabled[id] {
		return aws.String("Enabled")
	}
	return aws.String("Disabled")
}

func (a *account) GetEventSourceMapping(_ context.Context, in *lambda.GetEventSourceMappingInput, _ ...func(*lambda.Options)) (*lambda.GetEventSourceMappingOutput, error) {
	return &lambda.GetEventSourceMappingOutput{UUID: in.UUID, State: a.state(*in.UUID)}, nil
}

func (a *account) UpdateEventSourceMapping(_ context.Context, in *lambda.UpdateEventSourceMappingInput, _ ...func(*lambda.Options)) (*lambda.UpdateEventSourceMappingOutput, error) {
	a.enabled[*in.UUID] = *in.Enabled
	return &lambda.UpdateEventSourceMappingOutput{}, a.do("%s is enabled: %v", *in.UUID, *in.Enabled)
}

func (a *account) DescribeTable(_ context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	a.looks++
	state, index := ddb.TableStatusActive, ddb.IndexStatusActive
	if a.looks == 1 {
		state = ddb.TableStatusCreating
	} else if a.looks == 2 {
		index = ddb.IndexStatusCreating
	}
	one := ddb.GlobalSecondaryIndexDescription{IndexStatus: index}
	return &dynamodb.DescribeTableOutput{Table: &ddb.TableDescription{TableStatus: state, GlobalSecondaryIndexes: []ddb.GlobalSecondaryIndexDescription{one, one, one}}}, nil
}

func (a *account) DescribeContinuousBackups(context.Context, *dynamodb.DescribeContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeContinuousBackupsOutput, error) {
	latest := a.now.Add(-5 * time.Minute)
	return &dynamodb.DescribeContinuousBackupsOutput{ContinuousBackupsDescription: &ddb.ContinuousBackupsDescription{
		PointInTimeRecoveryDescription: &ddb.PointInTimeRecoveryDescription{LatestRestorableDateTime: &latest}}}, nil
}

func (a *account) RestoreTableToPointInTime(_ context.Context, in *dynamodb.RestoreTableToPointInTimeInput, _ ...func(*dynamodb.Options)) (*dynamodb.RestoreTableToPointInTimeOutput, error) {
	if a.restored != nil {
		return nil, &ddb.TableAlreadyExistsException{}
	}
	a.restored = in
	return &dynamodb.RestoreTableToPointInTimeOutput{}, a.do("%s is restored into %s", *in.SourceTableName, *in.TargetTableName)
}

func (a *account) DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	return &dynamodb.DescribeTimeToLiveOutput{}, nil
}

func (a *account) UpdateTimeToLive(_ context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	return nil, a.do("%s expires by %s", *in.TableName, *in.TimeToLiveSpecification.AttributeName)
}

func (a *account) UpdateContinuousBackups(_ context.Context, in *dynamodb.UpdateContinuousBackupsInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateContinuousBackupsOutput, error) {
	return nil, a.do("%s is backed up: %v", *in.TableName, *in.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled)
}

func (a *account) UpdateTable(_ context.Context, in *dynamodb.UpdateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error) {
	return nil, a.do("%s is protected: %v", *in.TableName, *in.DeletionProtectionEnabled)
}

// drill is one on the account; what it saved is in kept.
func drill(a *account) (restore.Drill, *restore.Stopped) {
	kept := &restore.Stopped{}
	return restore.Drill{Lambda: a, Tables: a, Now: func() time.Time { return a.now },
		Wait: func(_ context.Context, d time.Duration) error {
			a.now = a.now.Add(d)
			if d > time.Minute {
				return a.do("waited %s", d)
			}
			return nil
		},
		Save: func(s restore.Stopped) error { *kept = s; return nil }, Say: func(string, ...any) {}}, kept
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestADrillMovesAStackAndNoOther(t *testing.T) {
	a := newAccount()
	d, kept := drill(a)
	stopped, err := d.Stop(t.Context(), "desk", nil)
	must(t, err)
	if diff := cmp.Diff(*kept, stopped); diff != "" {
		t.Errorf("what was saved differs: %s", diff)
	}
	must(t, d.Restore(t.Context(), stopped, "new", time.Time{}))
	if err := d.Start(t.Context(), stopped, "new"); err == nil || !strings.Contains(err.Error(), "desk-Step has the table old, not new") {
		t.Errorf("it starts functions that have the old table: %v", err)
	}
	a.tables["desk-Step"], a.tables["desk-Api"] = "new", "new"
	must(t, d.Start(t.Context(), stopped, "new"))
	want := []string{"m1 is enabled: false", "desk-Step has 0", "desk-Api has 0", "waited 6m0s", "old is restored into new", "new expires by ttl", "new is backed up: true",
		"new is protected: true", "desk-Step has no reservation", "desk-Api has 7", "m1 is enabled: true"}
	if diff := cmp.Diff(want, a.did); diff != "" {
		t.Errorf("- is wanted, + is done\n%s", diff)
	}
	if at := a.restored.RestoreDateTime.Unix(); at != stopped.Quiet {
		t.Errorf("it restores what was there at %d, and was quiet at %d", at, stopped.Quiet)
	}
}

func TestADrillThatFailsIsRepeated(t *testing.T) {
	for _, fails := range []string{"m1 is enabled: false", "desk-Step has 0", "desk-Api has 0", "waited", "old is restored", "new expires", "new is backed", "new is protected",
		"desk-Step has no", "desk-Api has 7", "m1 is enabled: true"} {
		a := newAccount()
		a.fails = fails
		d, kept := drill(a)
		var before *restore.Stopped
		for range 2 {
			stopped, err := d.Stop(t.Context(), "desk", before)
			if before = kept; err != nil {
				continue
			}
			if err := d.Restore(t.Context(), stopped, "new", time.Time{}); err != nil {
				a.restored = nil
				continue
			}
			a.tables["desk-Step"], a.tables["desk-Api"] = "new", "new"
			_ = d.Start(t.Context(), stopped, "new")
		}
		if a.fails != "" || !a.enabled["m1"] || a.enabled["m2"] || len(a.reserved) != 1 || a.reserved["desk-Api"] != 7 || a.restored == nil {
			t.Errorf("after %q failed: mappings %v, reservations %v, did %v", fails, a.enabled, a.reserved, a.did)
		}
	}
}

func TestNothingIsRestoredBeforeAllIsQuiet(t *testing.T) {
	a := newAccount()
	a.fails = "waited"
	d, kept := drill(a)
	if _, err := d.Stop(t.Context(), "desk", nil); err == nil {
		t.Fatal("the wait did not fail")
	}
	if err := d.Restore(t.Context(), *kept, "new", time.Time{}); err == nil || a.restored != nil {
		t.Errorf("restored while a step may still write: %v", err)
	}
}

func TestAStackThatIsNotThereOrStoppedIsRefused(t *testing.T) {
	a := newAccount()
	d, _ := drill(a)
	if _, err := d.Stop(t.Context(), "des", nil); err == nil || !strings.Contains(err.Error(), "DORMOUSE_STACK=des") {
		t.Errorf("got %v", err)
	}
	a.reserved["desk-Step"] = 0
	if _, err := d.Stop(t.Context(), "desk", nil); err == nil || !strings.Contains(err.Error(), "stopped already") || len(a.did) > 0 {
		t.Errorf("got %v after %v", err, a.did)
	}
	a.reserved, a.tables["desk-Api"] = map[string]int32{}, "another"
	if _, err := d.Stop(t.Context(), "desk", nil); err == nil || !strings.Contains(err.Error(), "another") || slices.Contains(a.did, "desk-Api has 0") {
		t.Errorf("got %v", err)
	}
}
