package awsdouble_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func TestTablesAreListedDescribedAndGo(t *testing.T) {
	r := newRig(t)
	r.put(key("a", "1"))
	out, err := r.db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Table; got.TableStatus != dynamotypes.TableStatusActive || *got.ItemCount != 1 || *got.TableSizeBytes != 6 || len(got.GlobalSecondaryIndexes) != 2 {
		t.Errorf("described as %+v", got)
	}
	backups, err := r.db.UpdateContinuousBackups(t.Context(), &dynamodb.UpdateContinuousBackupsInput{TableName: aws.String(table),
		PointInTimeRecoverySpecification: &dynamotypes.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)}})
	if err != nil || backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus != dynamotypes.PointInTimeRecoveryStatusEnabled {
		t.Errorf("backups answered %+v, %v", backups, err)
	}
	list := func() []string {
		out, err := r.db.ListTables(t.Context(), &dynamodb.ListTablesInput{})
		if err != nil {
			t.Fatal(err)
		}
		return out.TableNames
	}
	if diff := cmp.Diff([]string{table}, list()); diff != "" {
		t.Error("tables (-want +got):", diff)
	}
	if _, err := r.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(table)}); err != nil {
		t.Fatal(err)
	}
	_, err = r.db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	wantCode(t, err, "ResourceNotFoundException", table)
	if got := list(); len(got) != 0 {
		t.Errorf("after it was deleted the list is %v", got)
	}
}

func TestAPagedIndexShowsEachEntryOnce(t *testing.T) {
	r := newRig(t)
	// one place in the index for all
	for _, pk := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		r.put(with(key(pk, "#H"), item{"dsh": &str{Value: "D#0"}, "due": &num{Value: "5"}}))
	}
	for _, forward := range []bool{true, false} {
		seen := map[string]int{}
		pages := dynamodb.NewQueryPaginator(r.db, &dynamodb.QueryInput{TableName: aws.String(table), IndexName: aws.String("due"), Limit: aws.Int32(2),
			KeyConditionExpression: aws.String("dsh = :d"), ExpressionAttributeValues: item{":d": &str{Value: "D#0"}}, ScanIndexForward: &forward})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range page.Items {
				seen[it["pk"].(*str).Value]++
			}
		}
		if diff := cmp.Diff(map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1}, seen); diff != "" {
			t.Errorf("entries seen, forward %v (-want +got):\n%s", forward, diff)
		}
	}
}

func TestQueuesAreListedPurgedAndGo(t *testing.T) {
	q := newDesk(t)
	q.send("x")
	out, err := q.sqs.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: aws.String("wake-")})
	if err != nil || len(out.QueueUrls) != 1 || out.QueueUrls[0] != *q.dead {
		t.Errorf("listed %v, %v", out, err)
	}
	if _, err := q.sqs.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: q.url}); err != nil {
		t.Fatal(err)
	}
	if got := q.counts(q.url); got != "0 visible, 0 in flight, 0 delayed" {
		t.Error("after a purge:", got)
	}
	if _, err := q.sqs.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: q.url}); err != nil {
		t.Fatal(err)
	}
	_, err = q.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: q.url, MessageBody: aws.String("x")})
	wantCode(t, err, "AWS.SimpleQueueService.NonExistentQueue", "")
}

func TestVisibilityIsChangedInABatch(t *testing.T) {
	q := newDesk(t)
	q.send("x")
	m := q.receive(q.url)[0]
	out, err := q.sqs.ChangeMessageVisibilityBatch(t.Context(), &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: q.url, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
		{Id: aws.String("a"), ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 7200}, {Id: aws.String("b"), ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 43201}}})
	if err != nil || len(out.Successful) != 1 || len(out.Failed) != 1 || *out.Failed[0].Id != "b" {
		t.Fatalf("answered %+v, %v", out, err)
	}
	q.now = q.now.Add(time.Hour)
	if got := q.receive(q.url); len(got) != 0 {
		t.Errorf("handed out %v an hour before its time", got)
	}
	q.now = q.now.Add(time.Hour)
	if got := q.receive(q.url); len(got) != 1 {
		t.Errorf("handed out %v when its time had come", got)
	}
}

func TestAMessageIsForgottenWhenItIsTooOld(t *testing.T) {
	q := newDesk(t)
	q.send("x")
	q.now = q.now.Add(4*24*time.Hour + time.Second)
	if got := q.receive(q.url); len(got) != 0 {
		t.Errorf("handed out %v after the four days that a queue keeps", got)
	}
}
