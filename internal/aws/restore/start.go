package restore

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// Start starts what Stop has stopped, with the table of that name. It starts nothing unless every
// function that is called has that table: with one table here and another there, two workers could
// have the same run.
func (d Drill) Start(ctx context.Context, s Stopped, table string) error {
	for _, f := range s.Functions {
		has, err := d.tableOf(ctx, f.Name)
		if err != nil {
			return err
		}
		if has != table {
			return fmt.Errorf("%s has the table %s, not %s; deploy the stack with ExistingTable=%s and another Version first", f.Name, has, table, table)
		}
	}
	for _, f := range s.Functions {
		if err := d.release(ctx, f); err != nil {
			return fmt.Errorf("starting %s: %w", f.Name, err)
		}
	}
	for _, id := range s.Mappings {
		if err := d.setMapping(ctx, id, true); err != nil {
			return err
		}
	}
	d.Say("started %d functions and %d event source mappings, with the table %s", len(s.Functions), len(s.Mappings), table)
	return nil
}

// tableOf is the table of the code that callers reach: that of the alias, if there is one.
func (d Drill) tableOf(ctx context.Context, function string) (string, error) {
	qualifier := alias
	c, err := d.Lambda.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &function, Qualifier: &qualifier})
	if missing(err) {
		c, err = d.Lambda.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &function})
	}
	if err != nil {
		return "", fmt.Errorf("reading the configuration of %s: %w", function, err)
	}
	if c.Environment == nil {
		return "", nil
	}
	return c.Environment.Variables[variableTable], nil
}

func (d Drill) release(ctx context.Context, f Function) error {
	if f.Reserved == nil {
		_, err := d.Lambda.DeleteFunctionConcurrency(ctx, &lambda.DeleteFunctionConcurrencyInput{FunctionName: &f.Name})
		return err
	}
	_, err := d.Lambda.PutFunctionConcurrency(ctx, &lambda.PutFunctionConcurrencyInput{FunctionName: &f.Name, ReservedConcurrentExecutions: f.Reserved})
	return err
}
