package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/stack"
)

// match finds the route: a full match before one with a greedy {name+}, a method of its own before
// ANY, $default last.
func match(routes []stack.Route, method, path string) (found stack.Route, parameters map[string]string, ok bool) {
	best := 0
	for _, r := range routes {
		values, rank := fits(r, method, path)
		if rank > best {
			best, found, parameters = rank, r, values
		}
	}
	return found, parameters, best > 0
}

// fits says how well a route fits; 0 is not at all.
func fits(r stack.Route, method, path string) (map[string]string, int) {
	if r.Key() == "$default" {
		return nil, 1
	}
	if r.Method != method && r.Method != "ANY" {
		return nil, 0
	}
	rank := 1000
	if r.Method == "ANY" {
		rank--
	}
	want, have := strings.Split(strings.Trim(r.Path, "/"), "/"), strings.Split(strings.Trim(path, "/"), "/")
	values := map[string]string{}
	for i, part := range want {
		name, variable := strings.CutPrefix(part, "{")
		name = strings.TrimSuffix(name, "}")
		greedy := strings.HasSuffix(name, "+")
		switch {
		case i >= len(have):
			return nil, 0
		case greedy:
			values[strings.TrimSuffix(name, "+")] = strings.Join(have[i:], "/")
			return values, rank - 500 + 2*i
		case variable:
			values[name] = have[i]
			rank -= 2
		case part != have[i]:
			return nil, 0
		}
	}
	if len(want) != len(have) {
		return nil, 0
	}
	return values, rank
}

// preflight answers a browser's question before it asks what it wants to. API Gateway does that by
// itself, if it is told of origins.
func preflight(w http.ResponseWriter, r *http.Request, c *stack.CORS) bool {
	if c == nil || r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	if allowOrigin(w, r, c) {
		h := w.Header()
		h.Set("Access-Control-Allow-Methods", strings.Join(c.AllowMethods, ","))
		h.Set("Access-Control-Allow-Headers", strings.Join(c.AllowHeaders, ","))
		h.Set("Access-Control-Max-Age", strconv.Itoa(c.MaxAge))
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

func allowOrigin(w http.ResponseWriter, r *http.Request, c *stack.CORS) bool {
	origin := r.Header.Get("Origin")
	if c == nil || origin == "" || !slices.Contains(c.AllowOrigins, origin) && !slices.Contains(c.AllowOrigins, "*") {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Vary", "Origin")
	if len(c.ExposeHeaders) > 0 {
		h.Set("Access-Control-Expose-Headers", strings.Join(c.ExposeHeaders, ","))
	}
	return true
}

// decodedPath is the path as an HTTP API shows it to a function: decoded, and cut at a question
// mark that was encoded. URLs of functions leave it as it was sent.
func decodedPath(u *url.URL) string {
	path, _, _ := strings.Cut(u.Path, "?")
	return path
}
