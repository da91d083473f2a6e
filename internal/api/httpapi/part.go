package httpapi

// Part is the subset of the API that a server answers. In a divided deployment the gateway sends
// each request to the server that has its route.
type Part int

// The parts. Each route but that of streams is in exactly one of PartRuns and PartDecisions.
const (
	PartAll       Part = iota
	PartRuns           // everything but the other two
	PartDecisions      // see what waits, and answer it
	PartStreams        // streams that are opened by a ticket
)

func (p Part) serves(rt route) bool {
	switch p {
	case PartRuns:
		return !rt.decision() && !rt.stream
	case PartDecisions:
		return rt.decision()
	case PartStreams:
		return rt.stream
	}
	return true
}

func (rt route) decision() bool { return rt.tag == "decisions" }

// RouteInfo is what a gateway in front of the API must know about a route.
type RouteInfo struct {
	Method, Path string // the path as in "/v1/runs/{id}"
	Decision     bool   // it is in [PartDecisions]
	// the route is in [PartStreams], which has a separate address and needs no route in the
	// gateway
	Stream bool
	// the route has no authorizer: it needs no role, or a link or ticket grants access
	Public bool
}

// Routes are all routes of the API, in the order of the documents.
func Routes() []RouteInfo {
	var all []RouteInfo
	for _, rt := range (&api{}).table() {
		all = append(all, RouteInfo{Method: rt.method, Path: rt.path, Decision: rt.decision(), Stream: rt.stream, Public: len(rt.roles) == 0})
	}
	return all
}
