package dynamo

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/bodyform"
)

// A segment is read in each of the forms in which programs have stored it.
func TestSegmentsOfEarlierProgramsAreRead(t *testing.T) {
	const thread = "thr_bvsts7lgkwuaqamqu7uc2s2h"
	want := core.Segment{Messages: []core.Message{{Role: core.RoleAssistant, RunID: "run_bvsts7lgkwuaqamqu7uc2s2h_0",
		Parts: core.TextParts(strings.Repeat("The lamp is refunded. ", 40)), At: 1795799770874}}}
	raw := core.Encode(want)
	form, packed := bodyform.PackSegment(raw, thread)
	if form != bodyform.Compact || len(packed) > len(raw)/4 {
		t.Errorf("%d bytes are stored as %q in %d", len(raw), form, len(packed))
	}
	_, deflated := bodyform.Pack(raw)
	for name, value := range map[string][]byte{bodyform.Plain: raw, bodyform.Deflated: deflated, bodyform.Compact: packed} {
		it := key{threadPK("acme", thread), segmentSK(5, 11)}.attributes()
		it[attrW] = number(11)
		it[name] = packedAttribute(name, value)
		stored := []item{it}
		if err := assemble(stored, nil); err != nil {
			t.Fatal(err)
		}
		got, err := readSegment(stored[0])
		if err != nil || got.Seq != 5 || got.W != 11 || string(core.Encode(core.Segment{Messages: got.Messages})) != string(raw) {
			t.Errorf("the form %q came back as %+v (%v)", name, got, err)
		}
	}
}
