package quota_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/quota"
)

func TestASessionIsEndedInAllProcesses(t *testing.T) {
	double, _ := newTickets(t)
	process := func() *quota.Sessions {
		return quota.NewSessions(dynamodb.NewFromConfig(double.Config(), dynamo.Retries()), "table")
	}
	for range 2 {
		if err := process().EndSession(t.Context(), "a", time.Unix(1_800_000_000, 0)); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]bool{"a": true, "b": false} {
		if ended, err := process().SessionEnded(t.Context(), id); err != nil || ended != want {
			t.Errorf("%s: %v, %v", id, ended, err)
		}
	}
	double.Fail(func(awsdouble.Call) awsdouble.Fault { return awsdouble.Throttle() })
	if err := process().EndSession(t.Context(), "b", time.Unix(1_800_000_000, 0)); !errors.Is(err, engine.ErrUnavailable) {
		t.Error(err)
	}
	if ended, err := process().SessionEnded(t.Context(), "a"); ended || !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("%v, %v", ended, err)
	}
}
