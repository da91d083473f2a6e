package paths

import "strings"

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
