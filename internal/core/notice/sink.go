package notice

import "strings"

const sinkEndpoint = "sink/"

// SinkEndpoint is the id of an endpoint that the deployment names, for the runs of every tenant.
func SinkEndpoint(name string) string { return sinkEndpoint + name }

// OfSink says whether the deployment names an endpoint.
func OfSink(endpoint string) bool { return strings.HasPrefix(endpoint, sinkEndpoint) }
