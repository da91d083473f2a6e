package dynamo

import (
	"strings"
	"testing"
)

// A body that compresses is stored so; one that does not, or is small, as it is.
func TestABodyIsPackedWhereItPays(t *testing.T) {
	for _, tt := range []struct{ body, form string }{{strings.Repeat("hello ", 2000), attrDeflated}, {strings.Repeat("a", smallBody), attrBody}} {
		if form, packed := pack([]byte(tt.body)); form != tt.form || len(packed) > len(tt.body) || form == attrDeflated && len(packed) > len(tt.body)/10 {
			t.Errorf("%d bytes are stored as %q in %d", len(tt.body), form, len(packed))
		}
	}
}
