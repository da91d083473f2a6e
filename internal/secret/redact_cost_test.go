package secret_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/secret"
)

// A text that is all beginnings of escapes is the slowest to look through: whoever sends it must
// not get much work done for it.
func TestNothingIsMadeForPlacesWhereNoSecretBegins(t *testing.T) {
	many := secret.Values{}
	for i := range 20 {
		many[fmt.Sprintf("KEY_%d", i)] = fmt.Sprintf("%c%d-Ab3dEf7hIj9kLmN0pQrStUvWxYz0123456789", 'a'+i, i)
	}
	const length = 4096
	for _, piece := range []string{`\`, "%", "&", "+", "~"} {
		text := strings.Repeat(piece, length)
		if made := testing.AllocsPerRun(2, func() { many.Redact(text) }); made > length {
			t.Errorf("%d of %q: %v allocations", length, piece, made)
		}
	}
}

func TestAnEmptyValueIsNoSecret(t *testing.T) {
	if got := (secret.Values{"EMPTY": ""}).Redact("nothing"); got != "nothing" {
		t.Errorf("%q", got)
	}
}
