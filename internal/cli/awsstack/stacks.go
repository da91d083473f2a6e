//go:build !noaws

package awsstack

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/cli/stackdoctor"
)

type stacks struct{ api *cloudformation.Client }

// Stack implements [stackdoctor.Stacks].
func (s stacks) Stack(ctx context.Context, name string) (stackdoctor.Stack, error) {
	out, err := s.api.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if api, is := errors.AsType[smithy.APIError](err); is && api.ErrorCode() == "ValidationError" && strings.Contains(api.ErrorMessage(), "does not exist") {
		return stackdoctor.Stack{}, stackdoctor.ErrMissing
	}
	if err != nil {
		return stackdoctor.Stack{}, s.explained(err, "cloudformation:DescribeStacks")
	}
	if len(out.Stacks) == 0 {
		return stackdoctor.Stack{}, stackdoctor.ErrMissing
	}
	found := stackdoctor.Stack{Name: name, Status: string(out.Stacks[0].StackStatus), Reason: aws.ToString(out.Stacks[0].StackStatusReason),
		Parameters: map[string]string{}, Outputs: map[string]string{}}
	for _, p := range out.Stacks[0].Parameters {
		found.Parameters[aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
	}
	for _, o := range out.Stacks[0].Outputs {
		found.Outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	// DescribeStackResources would end at 100 resources.
	pages := cloudformation.NewListStackResourcesPaginator(s.api, &cloudformation.ListStackResourcesInput{StackName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return found, s.explained(err, "cloudformation:ListStackResources")
		}
		for _, r := range page.StackResourceSummaries {
			found.Resources = append(found.Resources, stackdoctor.Resource{ID: aws.ToString(r.LogicalResourceId), Type: aws.ToString(r.ResourceType),
				Name: aws.ToString(r.PhysicalResourceId), Status: string(r.ResourceStatus), Reason: aws.ToString(r.ResourceStatusReason)})
		}
	}
	return found, nil
}

// explained is [explained] for calls without which nothing can be checked: if CloudFormation can't
// be reached, the caller looks at the network and the region first.
func (s stacks) explained(err error, action string) error {
	if silent := awscli.Silent(err, "CloudFormation", s.api.Options().Region); silent != nil {
		return silent
	}
	return explained(err, action)
}
