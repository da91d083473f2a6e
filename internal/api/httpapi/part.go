package httpapi

// Part is the subset of the API that a server answers. In a divided deployment the gateway sends
// each request to the server that has its route.
type Part int

// The parts. Each route is in exactly one of them, beside PartAll.
const (
	PartAll       Part = iota
	PartRuns           // everything but the others
	PartDecisions      // see what waits, and answer it
	PartStreams        // streams that are opened by a ticket
	PartHooks          // receive webhooks, which needs the secrets that verify them
	PartTests          // send test notices, which needs the secrets that sign them
	PartPages          // the protocols that are given, and nothing of the API
)

func (p Part) serves(rt route) bool { return p == PartAll || p == rt.part() }

func (rt route) part() Part {
	switch {
	case rt.stream:
		return PartStreams
	case rt.tag == "decisions":
		return PartDecisions
	case rt.tag == "hooks":
		return PartHooks
	case rt.name == "testWebhook":
		return PartTests
	}
	return PartRuns
}

// RouteInfo is what a gateway in front of the API must know about a route.
type RouteInfo struct {
	Method, Path string // the path as in "/v1/runs/{id}"
	// the one that has the route. [PartStreams] has a separate address and needs no route in
	// the gateway.
	Part Part
	// the route has no authorizer: it needs no role, or a link or ticket grants access
	Public bool
}

// Routes are all routes of the API, in the order of the documents.
func Routes() []RouteInfo {
	var all []RouteInfo
	for _, rt := range (&api{}).table() {
		all = append(all, RouteInfo{Method: rt.method, Path: rt.path, Part: rt.part(), Public: len(rt.roles) == 0})
	}
	return all
}
