package display

import (
	"testing"
)

func TestByteSizes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1": 1, "500000": 500_000, "1KiB": 1024, "100MiB": 100 << 20, "1GiB": 1 << 30} {
		var b, again ByteSize
		if err := b.Set(text); err != nil || int64(b) != want {
			t.Errorf("%s: %d, %v, want %d", text, b, err, want)
		}
		if err := again.Set(b.String()); err != nil || again != b {
			t.Errorf("%s is shown as %s, which is %d, %v", text, b.String(), again, err)
		}
	}
	for _, text := range []string{"", "-1", "1.5GiB", "GiB", "1GB", "1 GiB", "9999999999GiB", "0x10", "1e9"} {
		if err := new(ByteSize).Set(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
