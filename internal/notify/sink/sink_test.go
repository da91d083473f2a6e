package sink_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/notify/sink"
)

func TestAMessageIsTheNoticeWithoutItsLinks(t *testing.T) {
	n := client.Notice{ID: "run_a:7", Type: "suspended", Tenant: "acme \uffff", Links: &client.NoticeLinks{Show: "https://h/secret"}}
	text, err := sink.Message(n)
	if err != nil || strings.Contains(text, "secret") || strings.Contains(text, "\uffff") {
		t.Fatalf("%s, %v", text, err)
	}
	var got client.Notice
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.ID != n.ID || got.Tenant != n.Tenant {
		t.Errorf("%+v, %v", got, err)
	}
	if n.Links == nil {
		t.Error("the caller's notice was changed")
	}
}

func TestAFailureShowsTheCodeAndNoText(t *testing.T) {
	answer := func(err error) error {
		return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: 403}}, Err: err}
	}
	for _, tt := range []struct {
		err  error
		want delivery.Result
	}{
		{errors.New("dial tcp 10.0.0.7:443: refused"), delivery.Result{Outcome: notice.Refused, Error: "SNS did not answer"}},
		{answer(errors.New("arn:aws:iam::123456789012:role/notify")), delivery.Result{Outcome: notice.Refused, Status: 403, Error: "SNS did not answer"}},
		{answer(&smithy.GenericAPIError{Code: "AuthorizationError", Message: "arn:aws:iam::123456789012:role/notify"}),
			delivery.Result{Outcome: notice.Refused, Status: 403, Error: "SNS refused the notice: AuthorizationError"}},
	} {
		if got := sink.Failed("SNS", tt.err); got != tt.want {
			t.Errorf("got  %+v\nwant %+v", got, tt.want)
		}
	}
}
