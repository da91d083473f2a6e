package dynamo_test

import (
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// readLag is how many writes behind a read of the double is that does not ask for consistency.
const readLag = 3

// newDouble is a double that must have known everything it was asked. Reads that do not ask for
// consistency are stale.
func newDouble(t *testing.T) *awsdouble.Double {
	t.Helper()
	d := awsdouble.New(awsdouble.Options{})
	d.ReadLag(readLag)
	t.Cleanup(func() {
		if unknown := d.Unknown(); len(unknown) > 0 {
			t.Errorf("the double was asked for what it does not know: %q", unknown)
		}
	})
	return d
}

func onDouble(d *awsdouble.Double) server {
	listen := func(t *testing.T) string {
		listener := httptest.NewServer(d)
		t.Cleanup(listener.Close)
		return listener.URL
	}
	return server{name: "double", counts: true, url: listen, client: func() *dynamodb.Client { return dynamodb.NewFromConfig(d.Config(), dynamo.Retries()) }}
}
