// Package paths tells apart what the API's mux would take for one another.
package paths

import (
	"net/http"
	"slices"
	"strings"
)

// Fixed are the methods of the paths without placeholders. The mux would take another method of
// /v1/webhooks/disabled for one of /v1/webhooks/{id}.
type Fixed map[string][]string

// Add adds a method of a path, if the path is fixed.
func (f Fixed) Add(method, path string) {
	if strings.Contains(path, "{") {
		return
	}
	f[path] = append(f[path], method)
	if method == http.MethodGet {
		f[path] = append(f[path], http.MethodHead)
	}
	slices.Sort(f[path])
}

// Lacks says whether the path is fixed and has no such method, and which it has.
func (f Fixed) Lacks(r *http.Request) (allowed []string, lacks bool) {
	allowed, fixed := f[r.URL.Path]
	return allowed, fixed && !slices.Contains(allowed, r.Method)
}

// NotAllowed answers as the mux does.
func NotAllowed(methods []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		w.WriteHeader(http.StatusMethodNotAllowed)
	})
}
