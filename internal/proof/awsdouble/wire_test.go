package awsdouble_test

import (
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

func TestAnAnswerCarriesTheChecksumOfItsBody(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{}`))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	awsdouble.New(awsdouble.Options{Seed: 1}).ServeHTTP(w, r)
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := strconv.Itoa(int(crc32.ChecksumIEEE(body))), w.Header().Get("X-Amz-Crc32"); got != want || w.Code != http.StatusOK {
		t.Errorf("status %d, checksum %s of %q, want %s", w.Code, got, body, want)
	}
}

func TestAnAttributeThatIsMissingIsUnequal(t *testing.T) {
	r := newRig(t)
	if _, err := r.update(t.Context(), key("a", "1"), "", "nowhere <> :v", "", item{":v": &num{Value: "1"}}); err != nil {
		t.Error(err)
	}
	_, err := r.update(t.Context(), key("a", "1"), "", "nowhere = :v", "", item{":v": &num{Value: "1"}})
	wantCode(t, err, "ConditionalCheckFailedException", "")
}

func TestAKeyHasOneCondition(t *testing.T) {
	r := newRig(t)
	_, err := r.db.Query(t.Context(), &dynamodb.QueryInput{TableName: aws.String(table), KeyConditionExpression: aws.String("pk = :a AND pk = :b"),
		ExpressionAttributeValues: item{":a": &str{Value: "a"}, ":b": &str{Value: "b"}}})
	wantCode(t, err, "ValidationException", "one condition per key")
}
