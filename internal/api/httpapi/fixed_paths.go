package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// fixedPaths are the methods of the paths without placeholders. The mux would take another method
// of /v1/webhooks/disabled for one of /v1/webhooks/{id}.
type fixedPaths map[string][]string

func (f fixedPaths) add(rt route) {
	if strings.Contains(rt.path, "{") {
		return
	}
	f[rt.path] = append(f[rt.path], rt.method)
	if rt.method == http.MethodGet {
		f[rt.path] = append(f[rt.path], http.MethodHead)
	}
	slices.Sort(f[rt.path])
}

// lacks says whether the path is fixed and has no such method, and which it has.
func (f fixedPaths) lacks(r *http.Request) (allowed []string, lacks bool) {
	allowed, fixed := f[r.URL.Path]
	return allowed, fixed && !slices.Contains(allowed, r.Method)
}

// notAllowed answers as the mux does.
func notAllowed(methods []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		w.WriteHeader(http.StatusMethodNotAllowed)
	})
}
