package compact_test

import (
	"bytes"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/text/compact"
)

func FuzzPack(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text), thread)
	}
	f.Fuzz(func(t *testing.T, text []byte, thread string) {
		if len(text) > 0 && text[0] < ' ' {
			t.Skip("no JSON")
		}
		packed := compact.Pack(text, thread)
		if back, err := compact.Unpack(packed, thread); err != nil || !bytes.Equal(back, text) {
			t.Errorf("%q came back as %q (%v)", text, back, err)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	for _, text := range texts() {
		f.Add(compact.Pack([]byte(text), thread))
	}
	f.Fuzz(func(_ *testing.T, stored []byte) { compact.Unpack(stored, thread) })
}
