package restore

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// Variables of the functions of a stack.
const (
	variableStack = "DORMOUSE_STACK"
	variableTable = "DORMOUSE_TABLE"
	// variableTested is set only in PreTrafficFunction, which tests the versions of the step
	// function that the variable names.
	variableTested = "DORMOUSE_STEP_VERSION"
)

// Stop stops every function of a stack but PreTrafficFunction, and returns once none of their
// invocations can be running. Callers get errors from then on. before is what an earlier Stop saved
// that did not end; nil for none.
//
// The event source mappings are disabled first, so that no message counts a throttled call as an
// attempt. A reserved concurrency of 0 then stops the functions for all other callers: the HTTP
// API, function URLs and the schedule.
//
// PreTrafficFunction has to answer CodeDeploy, or the deployment with the restored table would be
// rolled back. It has no callers, and never writes to a caller's run.
func (d Drill) Stop(ctx context.Context, stack string, before *Stopped) (s Stopped, err error) {
	if before != nil {
		s = *before
	} else if s, err = d.survey(ctx, stack); err != nil {
		return s, err
	}
	if err := d.Save(s); err != nil {
		return s, err
	}
	for _, id := range s.Mappings {
		if err := d.setMapping(ctx, id, false); err != nil {
			return s, err
		}
	}
	longest := int32(0)
	for _, f := range s.Functions {
		if _, err := d.Lambda.PutFunctionConcurrency(ctx, &lambda.PutFunctionConcurrencyInput{FunctionName: &f.Name, ReservedConcurrentExecutions: aws.Int32(0)}); err != nil {
			return s, fmt.Errorf("stopping %s: %w", f.Name, err)
		}
		longest = max(longest, f.Seconds)
	}
	d.Say("stopped %d functions and %d event source mappings; waiting until every invocation has ended", len(s.Functions), len(s.Mappings))
	if err := d.Wait(ctx, time.Duration(longest)*time.Second+time.Minute); err != nil {
		return s, err
	}
	s.Quiet = d.Now().Unix()
	return s, d.Save(s)
}

// survey finds the functions of a stack and what calls them.
func (d Drill) survey(ctx context.Context, stack string) (s Stopped, err error) {
	s.Stack = stack
	pages := lambda.NewListFunctionsPaginator(d.Lambda, &lambda.ListFunctionsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return s, fmt.Errorf("listing functions: %w", err)
		}
		for _, f := range page.Functions {
			if f.Environment == nil || f.Environment.Variables[variableStack] != stack {
				continue
			}
			if _, tests := f.Environment.Variables[variableTested]; tests {
				continue
			}
			table := f.Environment.Variables[variableTable]
			if s.Table != "" && s.Table != table {
				return s, fmt.Errorf("%s has the table %s and others of the stack have %s; deploy the stack first", *f.FunctionName, table, s.Table)
			}
			s.Table = table
			if err := d.add(ctx, &s, f); err != nil {
				return s, err
			}
		}
	}
	if len(s.Functions) == 0 {
		return s, fmt.Errorf("no function of this account and region has %s=%s; check --stack and AWS_REGION", variableStack, stack)
	}
	return s, nil
}

func (d Drill) add(ctx context.Context, s *Stopped, f types.FunctionConfiguration) error {
	reserved, err := d.Lambda.GetFunctionConcurrency(ctx, &lambda.GetFunctionConcurrencyInput{FunctionName: f.FunctionName})
	if err != nil {
		return fmt.Errorf("reading the concurrency of %s: %w", *f.FunctionName, err)
	}
	if n := reserved.ReservedConcurrentExecutions; n != nil && *n == 0 {
		return fmt.Errorf("%s is stopped already; pass the --state file of the stop, or remove its reserved concurrency of 0", *f.FunctionName)
	}
	s.Functions = append(s.Functions, Function{Name: *f.FunctionName, Seconds: aws.ToInt32(f.Timeout), Reserved: reserved.ReservedConcurrentExecutions})
	for _, name := range []string{*f.FunctionName, *f.FunctionName + ":" + alias} {
		pages := lambda.NewListEventSourceMappingsPaginator(d.Lambda, &lambda.ListEventSourceMappingsInput{FunctionName: &name})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if missing(err) {
				break // the function has no alias
			}
			if err != nil {
				return fmt.Errorf("listing the event source mappings of %s: %w", name, err)
			}
			for _, m := range page.EventSourceMappings {
				s.addMapping(m)
			}
		}
	}
	return nil
}

func (s *Stopped) addMapping(m types.EventSourceMappingConfiguration) {
	for _, known := range s.Mappings {
		if known == *m.UUID {
			return
		}
	}
	if state := aws.ToString(m.State); state != disabled && state != disabling {
		s.Mappings = append(s.Mappings, *m.UUID)
	}
}
