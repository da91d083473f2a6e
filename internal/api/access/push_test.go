package access_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

func TestAPushAddressIsReadAsItWasWritten(t *testing.T) {
	p := access.Push{Tenant: "acme", Run: "run_a_0", Token: "secret"}
	text := p.Text()
	if got, ok := access.ReadPush(text); !ok || got != p {
		t.Errorf("%+v, %v", got, ok)
	}
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		t.Errorf("%q does not fit a path", text)
	}
	raw := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, bad := range []string{"", ".", text + "=", text[1:], raw("acme\x00run_a_0"), raw("acme\x00run_a_0\x00"), raw("acme\x00run_a_0\x00s\x00t"),
		raw("\x00run_a_0\x00s"), raw("Acme/../\x00run_a_0\x00s"), strings.Repeat("A", 1_000_000)} {
		if got, ok := access.ReadPush(bad); ok {
			t.Errorf("%.80q: %+v", bad, got)
		}
	}
}

func TestOnlyAServerWithHTTPSTakesPushes(t *testing.T) {
	for public, want := range map[string]string{"": "", "http://desk.example.com": "", "https://desk.example.com/dormouse": "https://desk.example.com/dormouse" + access.PushPath} {
		u, err := access.ParsePublicURL(public)
		if err != nil {
			t.Fatal(err)
		}
		address := u.Pushes()
		if (address == nil) != (want == "") {
			t.Errorf("%q: nil is %v", public, address == nil)
		}
		if address != nil {
			text, ok := strings.CutPrefix(address("acme", "run_a_0", "secret"), want)
			if at, read := access.ReadPush(text); !ok || !read || at != (access.Push{Tenant: "acme", Run: "run_a_0", Token: "secret"}) {
				t.Errorf("%q: %s", public, address("acme", "run_a_0", "secret"))
			}
		}
	}
}
