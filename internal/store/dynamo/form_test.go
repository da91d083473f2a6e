package dynamo

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// A head without a family is stored as text, which programs read that know no families. One with a
// family is packed: those programs leave it alone.
func TestOnlyHeadsWithAFamilyArePacked(t *testing.T) {
	s := &Store{o: Options{Shards: 1}}
	h := core.Head{Identity: core.Identity{Tenant: "acme", Thread: "thr_a", Run: "run_a_0"}, Status: core.RunWaiting, Counters: core.Counters{Step: 3},
		Calls: map[string]core.Call{"c1": {Status: core.CallSuspended, Wait: core.Wait{Sus: "sus_1_x_a", Kind: core.KindApproval}}}}
	for schema, packed := range map[int]bool{core.SchemaAlone: false, core.SchemaFamily: true} {
		h.Schema = schema
		it := s.headItem(h)
		call := mapAt(mapAt(it, attrCalls), "c1")
		for name, v := range map[string]types.AttributeValue{"the rest": it[attrRest], "the rest of a call": call[attrJSON]} {
			if _, is := v.(*types.AttributeValueMemberB); is != packed {
				t.Errorf("schema %d: %s is packed: %v", schema, name, is)
			}
		}
		// conditions read these of any head
		if textAt(call, attrSus) != "sus_1_x_" || textAt(call, attrStatus) != "suspended" {
			t.Errorf("schema %d: the call is %v", schema, call)
		}
		if back, err := readHead(it); err != nil || back.Step != 3 || back.Calls["c1"] != h.Calls["c1"] {
			t.Errorf("schema %d: %+v came back as %+v (%v)", schema, h, back, err)
		}
	}
}
