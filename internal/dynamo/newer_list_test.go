package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// One head that a newer program has written, in words that this one does not know, hides no other from the lists and from the sweep: while a
// canary is taken back, people still have to find what waits for them.
func TestAHeadOfANewerSchemaHidesNoOther(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		client, table := s.client(), s.table(t)
		store := s.store(t, client, table, nil)
		for _, thread := range []string{"thr_a", "thr_b"} {
			st := &story{t: t, store: store, head: firstHead(thread)}
			st.begin()
			st.claim("w"+thread, 2000)
			waiting := st.commitRequest(1, "may I?")
			waiting.Next.Status, waiting.Next.Lease, waiting.Next.Oldest = core.RunWaiting, 0, "0000000001000#"+st.head.Run
			waiting.Next.Calls = map[string]core.Call{"c1": {Status: core.CallSuspended, Sus: "sus_1"}}
			st.commit(waiting)
		}
		set := "SET #v = :v, #st = :st"
		_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: headKeyOf("acme", "thr_a"), UpdateExpression: &set,
			ExpressionAttributeNames: map[string]string{"#v": "v", "#st": "st"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":v": &types.AttributeValueMemberN{Value: fmt.Sprint(core.SchemaVersion + 1)},
				":st": &types.AttributeValueMemberS{Value: "hibernating"}}})
		must(t, err)
		if heads, _, err := store.Approvals(t.Context(), "acme", "", 10); err != nil || len(heads) != 1 || heads[0].Thread != "thr_b" {
			t.Errorf("approvals: %d, %v", len(heads), err)
		}
		if runs, _, err := store.Runs(t.Context(), "acme", "", "", 10); err != nil || len(runs) < 1 {
			t.Errorf("runs: %d, %v", len(runs), err)
		}
		if taken, err := store.TakeOverdue(t.Context(), 1<<40, 1<<41, 10); err != nil || len(taken) != 2 {
			t.Errorf("taken: %v, %v", taken, err)
		}
		if _, err := store.Claim(t.Context(), engine.ClaimRequest{Tenant: "acme", Thread: "thr_a", Claim: "x", Now: 1 << 40, LeaseEnd: 1 << 41, Schema: core.SchemaVersion}); err == nil {
			t.Error("claimed")
		}
	})
}
