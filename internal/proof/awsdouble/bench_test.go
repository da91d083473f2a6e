package awsdouble_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// BenchmarkConditionalUpdate is one commit of a head of 1 KB, SDK included.
func BenchmarkConditionalUpdate(b *testing.B) {
	db := awsdouble.New(awsdouble.Options{Seed: 1}).DynamoDB()
	if _, err := db.CreateTable(b.Context(), runsTable()); err != nil {
		b.Fatal(err)
	}
	head := with(key("a", "#H"), item{"rev": &num{Value: "0"}, "text": &str{Value: strings.Repeat("x", 900)}})
	if _, err := db.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: head}); err != nil {
		b.Fatal(err)
	}
	for n := 0; b.Loop(); n++ {
		_, err := db.UpdateItem(b.Context(), &dynamodb.UpdateItemInput{TableName: aws.String(table), Key: key("a", "#H"),
			UpdateExpression: aws.String("SET #rev = #rev + :one"), ConditionExpression: aws.String("#rev = :was"), ExpressionAttributeNames: aliases("rev"),
			ExpressionAttributeValues: item{":one": &num{Value: "1"}, ":was": &num{Value: strconv.Itoa(n)}}})
		if err != nil {
			b.Fatal(err)
		}
	}
}
