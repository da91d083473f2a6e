package httpapi

import (
	"net/http"
	"net/url"
	"strings"
)

// ownOrigin is the site of the public address. Where no token is needed there is none: a page of
// another program on that host would be let in with it.
func (a *api) ownOrigin() string {
	if a.keys == nil && a.gate == nil {
		return ""
	}
	return a.public.Origin()
}

// belowPrefix serves the API also below the path of the public address, for proxies that pass the
// path on as it came. A proxy may as well take the prefix away, and callers on the machine use
// none.
func (a *api) belowPrefix(next http.Handler) http.Handler {
	prefix := a.public.Prefix()
	if prefix == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, below := strings.CutPrefix(r.URL.EscapedPath(), prefix)
		if !below || !a.tops.Served(rest) {
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
