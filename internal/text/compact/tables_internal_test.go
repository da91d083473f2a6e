package compact

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

// Every sequence of bits means something, so no bits are wasted, and the decoder needs no check.
func TestTheCodesAreComplete(t *testing.T) {
	for name, tt := range map[string]struct {
		lengths string
		symbols int
		most    uint
	}{"text": {textLengths, symbols, 12}, "places": {placeLengths, places, 8}} {
		sum := 0
		for _, n := range newCode(tt.lengths, tt.most).lengths {
			if uint(n) > tt.most {
				t.Errorf("%s: a symbol has %d bits", name, n)
			}
			sum += 1 << (tt.most - uint(n))
		}
		if len(tt.lengths) != tt.symbols || sum != 1<<tt.most {
			t.Errorf("%s: %d symbols use %d of %d codes", name, len(tt.lengths), sum, 1<<tt.most)
		}
	}
}

// What is stored can be read with this dictionary and these codes only. Another one is another
// code.
func TestTheTablesNeverChange(t *testing.T) {
	const want = "ad154f9982ab8b9714fc6526bb02ccef"
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(string(theTables().dict)+textLengths+placeLengths)))[:32]; got != want {
		t.Errorf("the tables are %s", got)
	}
	if n := len(theTables().dict); n > 1<<dictBits-1 {
		t.Errorf("the dictionary has %d bytes, and %d bits don't address them", n, dictBits)
	}
}
