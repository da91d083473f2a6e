package quota_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/quota"
)

func newTickets(t *testing.T) (*awsdouble.Double, func() *quota.Tickets) {
	double, random := awsdouble.New(awsdouble.Options{}), enginetest.NewRandom(t, 1)
	api := func() *dynamodb.Client { return dynamodb.NewFromConfig(double.Config(), dynamo.Retries()) }
	if _, err := api().CreateTable(t.Context(), dynamo.Schema("table")); err != nil {
		t.Fatal(err)
	}
	return double, func() *quota.Tickets { return quota.NewTickets(api(), "table", random) }
}

func TestATicketIsUsedOnceInAllProcesses(t *testing.T) {
	_, process := newTickets(t)
	until := time.Unix(1_800_000_000, 0)
	one, other := process(), process()
	for i, use := range []struct {
		by    *quota.Tickets
		id    string
		first bool
	}{{one, "a", true}, {other, "a", false}, {one, "a", false}, {other, "b", true}} {
		if first, err := use.by.Use(t.Context(), use.id, until); err != nil || first != use.first {
			t.Errorf("%d: %v, %v", i, first, err)
		}
	}
}

func TestAMarkWhoseAnswerIsLostIsRecognized(t *testing.T) {
	double, process := newTickets(t)
	double.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "PutItem" && c.Attempt == 1 {
			return awsdouble.LoseReply()
		}
		return awsdouble.Fault{}
	})
	if first, err := process().Use(t.Context(), "a", time.Unix(1_800_000_000, 0)); err != nil || !first {
		t.Errorf("%v, %v", first, err)
	}
	if first, err := process().Use(t.Context(), "a", time.Unix(1_800_000_000, 0)); err != nil || first {
		t.Errorf("the next: %v, %v", first, err)
	}
}

func TestAThrottledMarkIsNoMark(t *testing.T) {
	double, process := newTickets(t)
	double.Fail(func(awsdouble.Call) awsdouble.Fault { return awsdouble.Throttle() })
	if first, err := process().Use(t.Context(), "a", time.Unix(1_800_000_000, 0)); first || !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("%v, %v", first, err)
	}
}
