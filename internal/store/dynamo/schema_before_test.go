package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// A head that the version before has written is claimed, keeps everything, and has this version's
// schema once it is committed.
func TestAHeadOfTheSchemaBeforeIsGoneOnWith(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		client, table := s.client(), s.table(t)
		st := &story{t: t, store: s.store(t, client, table, nil), head: firstHead("thr_a")}
		st.begin()
		set := "SET #v = :v"
		_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: headKeyOf("acme", "thr_a"), UpdateExpression: &set,
			ExpressionAttributeNames:  map[string]string{"#v": "v"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":v": &types.AttributeValueMemberN{Value: fmt.Sprint(core.SchemaVersion - 1)}}})
		must(t, err)
		st.claim("w1", 2000)
		if st.head.Schema != core.SchemaVersion-1 || len(st.head.Inbox) != 1 {
			t.Errorf("claimed %+v", st.head)
		}
		req := st.commitRequest(1, "one")
		req.Next.Schema = core.SchemaVersion
		st.commit(req)
		st.want(1, 2, 1, "one")
		if h, err := st.store.Load(t.Context(), "acme", "thr_a"); err != nil || h.Schema != core.SchemaVersion {
			t.Errorf("head %+v, %v", h, err)
		}
	})
}
