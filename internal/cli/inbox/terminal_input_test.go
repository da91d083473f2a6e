package inbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeys(t *testing.T) {
	for sent, want := range map[string][]key{
		"jé":                    {{char: 'j'}, {char: 'é'}},
		"\x1b[A\x1b[B\r\x7f":    {{name: "up"}, {name: "down"}, {name: "enter"}, {name: "back"}},
		"\x1b":                  {{name: "escape"}},
		"\x1b[1;5Cy":            {{char: 'y'}},
		"\x03":                  {{name: "interrupt"}},
		"\x1b[200~y\x1b[201~n":  {{char: 'y', pasted: true}, {char: 'n'}},
		"\x00\x01\xff":          nil,
		"\x1b[999":              nil,
		"\x1b[200~\x1b[2\x1b[J": nil,
	} {
		var board keyboard
		if diff := cmp.Diff(want, board.read([]byte(sent)), cmp.AllowUnexported(key{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", sent, diff)
		}
	}
	var board keyboard
	if got := append(board.read([]byte("\xc3")), board.read([]byte("\xa9"))...); len(got) != 1 || got[0].char != 'é' {
		t.Errorf("a character in two pieces: %v", got)
	}
}
