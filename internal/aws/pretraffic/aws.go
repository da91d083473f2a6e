package pretraffic

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/machine/awsrequest"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/tool/lambdatool"
)

// Open returns the hook of a stack that tests a version of its step function, by the version's ARN.
// Log lines go to out. It makes no network request.
func Open(s stack.Settings, version string, out io.Writer) *Hook {
	p := stack.Open(s, out)
	patient := s.Config()
	patient.HTTPClient = nil // a step takes as long as it may; the invocation's time limits it
	patient.BaseEndpoint = stack.Endpoint(s.Endpoints.Lambda, patient.BaseEndpoint)
	quick := s.Config()
	quick.BaseEndpoint = patient.BaseEndpoint
	return New(Options{Store: p.Store, Discard: discard{p.Units, s.Table}.thread, Step: invoked{lambdatool.Service(awsrequest.New("lambda", patient)), version},
		Stopped:     reserved{awsrequest.New("lambda", quick), version}.none,
		Deployments: deployments{awsrequest.New("codedeploy", s.Config())}, Clock: p.Clock, Random: p.Random, Logger: p.Logger})
}

// invoked is a version of a function, named by its ARN.
type invoked struct {
	client  lambdatool.Client
	version string
}

// Invoke implements [Step].
func (i invoked) Invoke(ctx context.Context, event []byte) (answer []byte, failed bool, err error) {
	got, err := i.client.Invoke(ctx, lambdatool.Invocation{Function: i.version, Event: event})
	return got.Payload, got.Failed, err
}

// reserved is the reserved concurrency of the function of which a version is named.
type reserved struct {
	client  *awsrequest.Client
	version string
}

// none says whether the function can't be invoked at all: all of its versions share the
// reservation.
func (r reserved) none(ctx context.Context) (bool, error) {
	function := r.version[:max(0, strings.LastIndex(r.version, ":"))]
	got, err := r.client.Get(ctx, awsrequest.Request{Path: "/2019-09-30/functions/" + httpbinding.EscapePath(function, true) + "/concurrency"})
	if err != nil {
		return false, fmt.Errorf("reading the reserved concurrency of %s: %w", function, err)
	}
	var said struct{ ReservedConcurrentExecutions *int32 }
	if err := json.Unmarshal(got.Body, &said); err != nil {
		return false, fmt.Errorf("reading the reserved concurrency of %s: %w", function, err)
	}
	return said.ReservedConcurrentExecutions != nil && *said.ReservedConcurrentExecutions == 0, nil
}

type deployments struct{ client *awsrequest.Client }

// Report implements [Deployments].
func (d deployments) Report(ctx context.Context, e Event, passed bool) error {
	status := "Failed"
	if passed {
		status = "Succeeded"
	}
	_, err := d.client.Post(ctx, awsrequest.Request{Path: "/", Body: core.Encode(map[string]string{"deploymentId": e.DeploymentID,
		"lifecycleEventHookExecutionId": e.HookID, "status": status}),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {"CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus"}}})
	if err != nil {
		return fmt.Errorf("reporting to CodeDeploy that the version has %s: %w", strings.ToLower(status), err)
	}
	return nil
}

// discard deletes what runs have stored.
type discard struct {
	api   dynamo.API
	table string
}

// mostInTransaction is DynamoDB's limit.
const mostInTransaction = 100

// thread deletes everything that belongs to a thread of the tests' tenant: one partition, as
// neither links nor idempotency keys were made.
func (d discard) thread(ctx context.Context, thread string) error {
	in := &dynamodb.QueryInput{TableName: &d.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"), ProjectionExpression: aws.String("pk, sk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: "T#" + tenant + "#" + thread}}, Limit: aws.Int32(mostInTransaction)}
	for {
		found, err := d.api.Query(ctx, in)
		if err != nil || len(found.Items) == 0 {
			return err
		}
		var deletes []types.TransactWriteItem
		for _, key := range found.Items {
			deletes = append(deletes, types.TransactWriteItem{Delete: &types.Delete{TableName: &d.table, Key: key}})
		}
		if _, err := d.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: deletes}); err != nil {
			return err
		}
		if in.ExclusiveStartKey = found.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return nil
		}
	}
}
