//go:build !noaws

package awsstack

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	watched "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/internal/cli/stackdoctor"
)

type queues struct{ api *sqs.Client }

// Messages implements [stackdoctor.Queues].
func (q queues) Messages(ctx context.Context, url string) (n int, err error) {
	counts := []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed}
	out, err := q.api.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: counts})
	if err != nil {
		return 0, explained(err, "sqs:GetQueueAttributes")
	}
	for _, name := range counts {
		some, err := strconv.Atoi(out.Attributes[string(name)])
		if err != nil {
			return 0, err
		}
		n += some
	}
	return n, nil
}

// watch is CloudWatch.
type watch struct {
	api *cloudwatch.Client
	now func() time.Time
}

// SQS sends metrics every minute, and CloudWatch has them a few minutes later.
const (
	metricPeriod = 60 // seconds
	metricsSince = 15 * time.Minute
)

// Oldest implements [stackdoctor.Ages].
func (w watch) Oldest(ctx context.Context, queue string) (time.Duration, bool, error) {
	now := w.now()
	out, err := w.api.GetMetricStatistics(ctx, &cloudwatch.GetMetricStatisticsInput{Namespace: aws.String("AWS/SQS"), MetricName: aws.String("ApproximateAgeOfOldestMessage"),
		Dimensions: []watched.Dimension{{Name: aws.String("QueueName"), Value: &queue}}, Statistics: []watched.Statistic{watched.StatisticMaximum},
		Period: aws.Int32(metricPeriod), StartTime: aws.Time(now.Add(-metricsSince)), EndTime: &now})
	if err != nil {
		return 0, false, explained(err, "cloudwatch:GetMetricStatistics")
	}
	oldest, known := 0.0, false
	for _, point := range out.Datapoints {
		oldest, known = max(oldest, aws.ToFloat64(point.Maximum)), true
	}
	return time.Duration(oldest) * time.Second, known, nil
}

// alarmsAtOnce is how many alarms can be described with one request.
const alarmsAtOnce = 100

// Alarms implements [stackdoctor.Alarms].
func (w watch) Alarms(ctx context.Context, names []string) (found []stackdoctor.Alarm, err error) {
	for len(names) > 0 {
		n := min(len(names), alarmsAtOnce)
		out, err := w.api.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{AlarmNames: names[:n], MaxRecords: aws.Int32(alarmsAtOnce)})
		if err != nil {
			return nil, explained(err, "cloudwatch:DescribeAlarms")
		}
		for _, a := range out.MetricAlarms {
			found = append(found, stackdoctor.Alarm{Name: aws.ToString(a.AlarmName), State: string(a.StateValue), Since: aws.ToTime(cmp.Or(a.StateTransitionedTimestamp, a.StateUpdatedTimestamp)),
				Enabled: aws.ToBool(a.ActionsEnabled), Actions: a.AlarmActions})
		}
		names = names[n:]
	}
	return found, nil
}

type topics struct{ api *sns.Client }

// Topic implements [stackdoctor.Topics].
func (t topics) Topic(ctx context.Context, arn string) (stackdoctor.Topic, error) {
	out, err := t.api.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &arn})
	if err != nil {
		return stackdoctor.Topic{}, explained(err, "sns:GetTopicAttributes")
	}
	confirmed, err := strconv.Atoi(out.Attributes["SubscriptionsConfirmed"])
	if err != nil {
		return stackdoctor.Topic{}, err
	}
	pending, err := strconv.Atoi(out.Attributes["SubscriptionsPending"])
	return stackdoctor.Topic{Confirmed: confirmed, Pending: pending}, err
}
