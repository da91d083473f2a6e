package httpapi

import "github.com/dormouse-dev/dormouse/internal/api/access"

// Route is what tests from outside see of a route.
type Route struct {
	Method, Path, Name, Tag string
	Roles                   []access.Role
	TakesBody, Link         bool
}

// Table is all routes.
func Table() []Route {
	var all []Route
	for _, rt := range (&api{}).table() {
		all = append(all, Route{Method: rt.method, Path: rt.path, Name: rt.name, Tag: rt.tag, Roles: rt.roles, TakesBody: rt.body != nil && !rt.raw, Link: rt.link})
	}
	return all
}
