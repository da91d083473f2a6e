package httpapi

// Part is what of the API a server answers. Where it is divided, what stands in front sends each
// request to the server that has its route.
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

// RouteInfo is what somebody in front of the API must know of a route.
type RouteInfo struct {
	Method, Path string // the path as in "/v1/runs/{id}"
	Decision     bool   // it is in [PartDecisions]
	// it is in [PartStreams], which is served at an address of its own and needs no route in
	// front
	Stream bool
	// it is served without an authorizer: whoever calls needs no role, or shows a link or a
	// ticket
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
