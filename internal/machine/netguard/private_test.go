package netguard

import (
	"strings"
	"testing"
)

func TestWhatTheOperatorAllowsMustBeReadable(t *testing.T) {
	for _, text := range []string{"", " ", "a b", "http://a", "a:0", "a:x", "a:70000", "10.0.0.0/33", "127.1", "0x7f000001", "2130706433", "*.internal", "a/b", "[::1", "fe80::1%eth0"} {
		if p, err := ReadPrivate([]string{text}); err == nil || !strings.Contains(err.Error(), "is not a host; use") {
			t.Errorf("%q: %+v, %v", text, p, err)
		}
	}
}
