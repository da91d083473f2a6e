//go:build !noaws

package awsstack

import (
	"cmp"
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/dormouse-dev/dormouse/internal/cli/stackdoctor"
)

type functions struct{ api *lambda.Client }

// Account implements [stackdoctor.Quotas].
func (f functions) Account(ctx context.Context) (a stackdoctor.Account, err error) {
	out, err := f.api.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return a, explained(err, "lambda:GetAccountSettings")
	}
	if l := out.AccountLimit; l != nil {
		a.Concurrency, a.Unreserved = int(l.ConcurrentExecutions), int(aws.ToInt32(l.UnreservedConcurrentExecutions))
	}
	return a, nil
}

// Reserved implements [stackdoctor.Quotas].
func (f functions) Reserved(ctx context.Context, function string) (int, bool, error) {
	out, err := f.api.GetFunctionConcurrency(ctx, &lambda.GetFunctionConcurrencyInput{FunctionName: &function})
	if err != nil {
		return 0, false, explained(err, "lambda:GetFunctionConcurrency")
	}
	return int(aws.ToInt32(out.ReservedConcurrentExecutions)), out.ReservedConcurrentExecutions != nil, nil
}

// Mapping implements [stackdoctor.Mappings].
func (f functions) Mapping(ctx context.Context, id string) (m stackdoctor.Mapping, err error) {
	out, err := f.api.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: &id})
	if err != nil {
		return m, explained(err, "lambda:GetEventSourceMapping")
	}
	m = stackdoctor.Mapping{State: aws.ToString(out.State), Result: aws.ToString(out.LastProcessingResult)}
	if out.ScalingConfig != nil {
		m.AtMost = int(aws.ToInt32(out.ScalingConfig.MaximumConcurrency))
	}
	return m, nil
}

// Function implements [stackdoctor.Versions].
func (f functions) Function(ctx context.Context, name, qualifier string) (stackdoctor.Function, error) {
	in := &lambda.GetFunctionConfigurationInput{FunctionName: &name}
	if qualifier != "" {
		in.Qualifier = &qualifier
	}
	out, err := f.api.GetFunctionConfiguration(ctx, in)
	if err != nil {
		return stackdoctor.Function{}, explained(err, "lambda:GetFunctionConfiguration")
	}
	if out.Environment != nil && out.Environment.Error != nil {
		return stackdoctor.Function{}, &stackdoctor.Denied{Action: "kms:Decrypt"}
	}
	found := stackdoctor.Function{Code: aws.ToString(out.CodeSha256), State: string(out.State), Update: string(out.LastUpdateStatus),
		Reason: strings.TrimSpace(cmp.Or(aws.ToString(out.StateReason), aws.ToString(out.LastUpdateStatusReason)))}
	if out.Environment != nil {
		found.Environment = out.Environment.Variables
	}
	return found, nil
}

// Alias implements [stackdoctor.Versions].
func (f functions) Alias(ctx context.Context, name, alias string) (stackdoctor.Alias, error) {
	out, err := f.api.GetAlias(ctx, &lambda.GetAliasInput{FunctionName: &name, Name: &alias})
	if err != nil {
		return stackdoctor.Alias{}, explained(err, "lambda:GetAlias")
	}
	found := stackdoctor.Alias{Version: aws.ToString(out.FunctionVersion)}
	if out.RoutingConfig != nil {
		found.Others = out.RoutingConfig.AdditionalVersionWeights
	}
	return found, nil
}
