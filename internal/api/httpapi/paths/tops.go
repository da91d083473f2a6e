package paths

import (
	"net/http"
	"net/url"
	"strings"
)

// Tops are the first segments of the API's paths.
type Tops map[string]bool

// Add adds that of a path.
func (t Tops) Add(path string) {
	top, _, _ := strings.Cut(path[1:], "/")
	t[top] = true
}

// Served says whether a path, as it is escaped, begins like one of the API. Below a prefix such as
// /v1 a path of the API must not lose what looks like the prefix.
func (t Tops) Served(escaped string) bool {
	rest, rooted := strings.CutPrefix(escaped, "/")
	top, _, _ := strings.Cut(rest, "/")
	return rooted && t[top]
}

// Below serves next also below a prefix, the path of the public address, for proxies that pass the
// path on as it came. A proxy may as well take the prefix away, and callers on the machine use
// none.
func (t Tops) Below(prefix string, next http.Handler) http.Handler {
	if prefix == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, below := strings.CutPrefix(r.URL.EscapedPath(), prefix)
		if !below || !t.Served(rest) {
			next.ServeHTTP(w, r)
			return
		}
		inside, at := *r, *r.URL
		plain, err := url.PathUnescape(rest)
		if err != nil {
			next.ServeHTTP(w, r)
			return
		}
		at.Path, at.RawPath = plain, rest
		inside.URL = &at
		next.ServeHTTP(w, &inside)
	})
}
