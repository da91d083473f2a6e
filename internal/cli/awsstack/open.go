//go:build !noaws

package awsstack

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrock"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/awscli"
	"github.com/dormouse-dev/dormouse/internal/cli/stackdoctor"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// Open finds credentials and a region, which it returns. An empty region is the configured one. The
// errors are of [awscli.Problem].
func Open(ctx context.Context, region string, now func() time.Time) (stackdoctor.Sources, string, error) {
	c, err := awscli.Config(ctx, region)
	if err != nil {
		return stackdoctor.Sources{}, "", err
	}
	dated := &clock{now: now}
	tables := dynamodb.NewFromConfig(c)
	functions := functions{lambda.NewFromConfig(c)}
	watch := watch{cloudwatch.NewFromConfig(c), now}
	return stackdoctor.Sources{
		Stacks: stacks{cloudformation.NewFromConfig(c, func(o *cloudformation.Options) { dated.inner, o.HTTPClient = o.HTTPClient, dated })},
		Clock:  dated, Quotas: functions, Mappings: functions, Versions: functions,
		Tables: settings{tables}, Queues: queues{sqs.NewFromConfig(c)}, Ages: watch, Alarms: watch,
		Topics: topics{sns.NewFromConfig(c)}, Models: models{config: c},
		Runs:   func(table string) stackdoctor.Runs { return opened(tables, table) },
		Agents: func(table string) stackdoctor.Agents { return opened(tables, table) },
		Health: func(url string) stackdoctor.Health { return client.New(url, client.WithRetries(0)) },
	}, c.Region, nil
}

func opened(api *dynamodb.Client, table string) contents {
	return contents{dynamo.New(api, dynamo.Options{Table: table, Clock: machine.Clock{}, Random: machine.Random{}})}
}

// models asks Bedrock in the region of each model.
type models struct{ config aws.Config }

func (m models) control(region string) *bedrock.Client {
	return bedrock.NewFromConfig(m.config, func(o *bedrock.Options) { o.Region = region })
}

func (m models) runtime(region string) *bedrockruntime.Client {
	return bedrockruntime.NewFromConfig(m.config, func(o *bedrockruntime.Options) { o.Region = region })
}
