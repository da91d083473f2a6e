package access_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

var (
	oldKey, newKey = bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	noon           = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	someLink       = access.Link{Tenant: "acme", Run: "run_a_0", Suspension: "sus_1_b", Expires: noon.Add(time.Hour)}
)

func TestALinkIsReadAsItWasSignedUntilItExpires(t *testing.T) {
	signed := access.LinkKeys{oldKey}.Sign(someLink)
	for name, keys := range map[string]access.LinkKeys{"the same key": {oldKey}, "a newer key beside it": {newKey, oldKey}} {
		got, err := keys.Open(signed, noon)
		if err != nil || got.Run != someLink.Run || got.Tenant != someLink.Tenant || got.Suspension != someLink.Suspension || !got.Expires.Equal(someLink.Expires) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if _, err := keys.Open(signed, someLink.Expires); !errors.Is(err, access.ErrExpiredLink) {
			t.Errorf("%s: at its end: %v", name, err)
		}
	}
	if _, err := (access.LinkKeys{newKey}).Open(signed, noon); !errors.Is(err, access.ErrBadLink) {
		t.Errorf("its key was taken away: %v", err)
	}
	if strings.Trim(signed, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		t.Errorf("%q does not fit a path", signed)
	}
}

func TestNobodyElseCanMakeALink(t *testing.T) {
	keys := access.LinkKeys{oldKey}
	signed := keys.Sign(someLink)
	other := someLink
	other.Suspension = "sus_2_c"
	text, mac, _ := strings.Cut(signed, ".")
	otherText, _, _ := strings.Cut(keys.Sign(other), ".")
	for _, forged := range []string{"", ".", text, text + ".", "." + mac, otherText + "." + mac, text + "." + mac[1:], signed + "A", "A" + signed,
		text + "." + mac + ".", signed + "=", strings.Repeat("A", 1_000_000)} {
		if _, err := keys.Open(forged, noon); !errors.Is(err, access.ErrBadLink) {
			t.Errorf("%.80q: %v", forged, err)
		}
	}
	for i := range signed {
		for _, c := range []byte("Az0-") {
			if changed := signed[:i] + string(c) + signed[i+1:]; changed != signed {
				if _, err := keys.Open(changed, noon); err == nil {
					t.Fatalf("changed at %d it is still taken", i)
				}
			}
		}
	}
}
