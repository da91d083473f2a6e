package httptool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// FuzzArgumentsInAURL: whatever an argument is, the request goes to the place the file names, or
// nowhere.
func FuzzArgumentsInAURL(f *testing.F) {
	for _, seed := range []string{"a", "..", "a/b", "%2e", "@evil.com", "#", "?x=1", "\\", "a b", "//evil.com/", ":443", "ü", "\x00"} {
		f.Add(seed, seed)
	}
	r := New(Options{}).Tool(agent.Tool{HTTP: &agent.HTTP{URL: "https://api.example.com/a/{x}/b", Query: map[string]string{"q": "{y}"}}}).(*request)
	f.Fuzz(func(t *testing.T, x, y string) {
		u, err := r.composeURL(map[string]json.RawMessage{"x": core.Encode(x), "y": core.Encode(y)}, nil)
		if err != nil {
			return
		}
		if u.Scheme != "https" || u.Host != "api.example.com" || u.User != nil || u.Fragment != "" || len(u.Query()) != 1 {
			t.Fatalf("%q and %q make %s", x, y, u)
		}
		path := strings.Split(u.EscapedPath(), "/")
		if len(path) != 4 || path[1] != "a" || path[3] != "b" || strings.ContainsAny(u.Path[3:len(u.Path)-2], `/\`) {
			t.Fatalf("%q makes the path %s", x, u.EscapedPath())
		}
	})
}

// FuzzURLOfAFile: a URL that is taken names one host, and what is made of it is asked of that host
// alone.
func FuzzURLOfAFile(f *testing.F) {
	for _, seed := range []string{"https://a/{x}", "http://[::1]:9000/{x}?q={x}", "https://a//{x}/..", "https://a\\@b/", "https://a:80:90/", "https://a%2f/{x}", "https://a/%/{x}", "//a/{x}"} {
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, text, x string) {
		tool := agent.HTTP{URL: text}
		target, err := tool.Target()
		if err != nil {
			return
		}
		r := New(Options{}).Tool(agent.Tool{HTTP: &tool}).(*request)
		u, err := r.composeURL(map[string]json.RawMessage{"x": core.Encode(x)}, nil)
		if err != nil {
			return
		}
		if u.Scheme != target.Scheme || u.Host != target.Host || u.Hostname() == "" || u.User != nil || strings.ContainsAny(u.Host, `/\@?#%{} `) {
			t.Fatalf("%q with %q makes %s", text, x, u)
		}
	})
}
