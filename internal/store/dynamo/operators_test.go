package dynamo_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// What an operator has done to the table has a name of its own, in reads and writes alike, and is
// not tried again and again.
func TestATableThatIsGoneAnotherOneOrRefusedSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(t *testing.T, d *awsdouble.Double, table string)
		want error
		says string
	}{
		"deleted": {func(t *testing.T, d *awsdouble.Double, table string) { deleteTable(t, d, table) }, engine.ErrGone, "the table or one of its indexes does not exist"},
		"another table has its name": {func(t *testing.T, d *awsdouble.Double, table string) {
			deleteTable(t, d, table)
			_, err := d.DynamoDB().CreateTable(t.Context(), &dynamodb.CreateTableInput{TableName: &table, BillingMode: types.BillingModePayPerRequest,
				AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
				KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}}})
			if err != nil {
				t.Fatal(err)
			}
		}, engine.ErrGone, "its keys are not those of a Dormouse table"},
		"the right is revoked": {func(_ *testing.T, d *awsdouble.Double, _ string) {
			d.Fail(func(awsdouble.Call) awsdouble.Fault { return awsdouble.Deny() })
		}, engine.ErrDenied, "check the policy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDouble(t)
			s := onDouble(d)
			table := s.table(t)
			store := s.store(t, quickClient(d), table, restless{enginetest.AtMilli(1000)})
			h := core.Head{Identity: core.Identity{Tenant: "acme", Thread: "thr_a", Run: "run_a_0", Agent: "a", Version: "v", Schema: core.SchemaVersion},
				Position: core.Position{Sigs: 1}, Origin: core.Origin{Born: 1000},
				Inbox: map[string]core.Signal{core.KeyStart: {Kind: core.SignalStart, At: 1000}}}
			if _, err := store.Start(t.Context(), engine.StartRequest{Head: h, Due: 6000}); err != nil {
				t.Fatal(err)
			}
			c.harm(t, d, table)
			for operation, do := range operations(store, h) {
				err := do(t)
				if !errors.Is(err, c.want) || !errors.Is(err, engine.ErrUnavailable) || !engine.Lasting(err) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v", operation, err)
				}
			}
		})
	}
}

func deleteTable(t *testing.T, d *awsdouble.Double, table string) {
	t.Helper()
	if _, err := d.DynamoDB().DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
		t.Fatal(err)
	}
}

// operations are one of each sort.
func operations(s *dynamo.Store, h core.Head) map[string]func(*testing.T) error {
	return map[string]func(*testing.T) error{
		"load": func(t *testing.T) error { _, err := s.Load(t.Context(), h.Tenant, h.Thread); return err },
		"claim": func(t *testing.T) error {
			_, err := s.Claim(t.Context(), engine.ClaimRequest{Tenant: h.Tenant, Thread: h.Thread, Claim: "c", Now: 2000, LeaseEnd: 3000, Due: 3000, Schema: core.SchemaVersion})
			return err
		},
		"signal": func(t *testing.T) error {
			_, err := s.Signal(t.Context(), engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: "m:1", Signal: core.Signal{Kind: core.SignalMessage, At: 2000}})
			return err
		},
		"segments": func(t *testing.T) error { _, err := s.Segments(t.Context(), h.Tenant, h.Thread, 1, 2); return err },
		"runs":     func(t *testing.T) error { _, _, err := s.Runs(t.Context(), h.Tenant, "", "", 10); return err },
		"start": func(t *testing.T) error {
			other := h
			other.Thread, other.Run = "thr_b", "run_b_0"
			_, err := s.Start(t.Context(), engine.StartRequest{Head: other, Due: 6000, Key: &engine.Key{Tenant: h.Tenant, Key: "k", Run: other.Run, Digest: "d"}})
			return err
		},
	}
}
