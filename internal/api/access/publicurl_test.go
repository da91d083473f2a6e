package access_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

func TestAPublicURLIsASchemeAHostAndAPath(t *testing.T) {
	for text, want := range map[string]struct{ to, prefix, origin string }{
		"":                                      {"/v1/x", "", ""},
		"https://desk.example.com":              {"https://desk.example.com/v1/x", "", "https://desk.example.com"},
		"https://desk.example.com/":             {"https://desk.example.com/v1/x", "", "https://desk.example.com"},
		"http://Desk.example.com:80":            {"http://Desk.example.com:80/v1/x", "", "http://desk.example.com"},
		"http://10.0.0.7:8420":                  {"http://10.0.0.7:8420/v1/x", "", "http://10.0.0.7:8420"},
		"http://[fd00::1]:8420/a":               {"http://[fd00::1]:8420/a/v1/x", "/a", "http://[fd00::1]:8420"},
		"HTTPS://desk.example.com/dormouse":     {"https://desk.example.com/dormouse/v1/x", "/dormouse", "https://desk.example.com"},
		"https://desk.example.com/a/b/":         {"https://desk.example.com/a/b/v1/x", "/a/b", "https://desk.example.com"},
		"https://bücher.example":                {"https://bücher.example/v1/x", "", "https://bücher.example"},
		"https://desk.example.com/the desk":     {"https://desk.example.com/the%20desk/v1/x", "/the%20desk", "https://desk.example.com"},
		"https://desk.example.com/a%2Fb/":       {"https://desk.example.com/a%2Fb/v1/x", "/a%2Fb", "https://desk.example.com"},
		"https://desk.example.com:443/dormouse": {"https://desk.example.com:443/dormouse/v1/x", "/dormouse", "https://desk.example.com"},
	} {
		p, err := access.ParsePublicURL(text)
		if err != nil || p.To("/v1/x") != want.to || p.Prefix() != want.prefix || p.Origin() != want.origin {
			t.Errorf("%q: %s, prefix %q, origin %q, %v", text, p.To("/v1/x"), p.Prefix(), p.Origin(), err)
		}
	}
}

func TestWhatIsNoPublicURLIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"desk.example.com":                    "is not a URL",
		"/dormouse":                           "is not a URL",
		"ftp://desk.example.com":              "is not a URL",
		"https://":                            "is not a URL",
		"https://:8420":                       "is not a URL",
		"https://desk example.com":            "is not a URL",
		"https://desk.example.com:port":       "is not a URL",
		`https://desk"example.com`:            "is not a URL",
		"https://desk.example.com?":           "query",
		"https://desk.example.com/?a=b":       "query",
		"https://desk.example.com/#a":         "fragment",
		"https://desk.example.com/a/../b":     "dotted",
		"https://desk.example.com//a":         "empty",
		"https://kim:secret@desk.example.com": "password",
		"https://desk.example.com/d;m":        "semicolon",
	} {
		_, err := access.ParsePublicURL(text)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}
