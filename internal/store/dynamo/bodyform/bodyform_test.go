package bodyform_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/store/dynamo/bodyform"
)

// A body that compresses is stored so; one that does not, or is small, as it is.
func TestABodyIsPackedWhereItPays(t *testing.T) {
	for _, tt := range []struct{ body, form string }{{strings.Repeat("hello ", 2000), bodyform.Deflated}, {strings.Repeat("a", bodyform.Small), bodyform.Plain}} {
		form, packed := bodyform.Pack([]byte(tt.body))
		if form != tt.form || len(packed) > len(tt.body) || form == bodyform.Deflated && len(packed) > len(tt.body)/10 {
			t.Errorf("%d bytes are stored as %q in %d", len(tt.body), form, len(packed))
		}
		if back, err := bodyform.Unpack(form, packed, ""); err != nil || string(back) != tt.body {
			t.Errorf("%d bytes came back as %d (%v)", len(tt.body), len(back), err)
		}
	}
}
