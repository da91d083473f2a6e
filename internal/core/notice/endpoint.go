package notice

import (
	"slices"
	"strings"
)

// Source is where the target of an endpoint comes from. The strings begin ids of endpoints.
type Source string

const (
	SourceTenant Source = "wh_"    // a webhook that a tenant has added
	SourceAgent  Source = "agent/" // an agent file
	SourceRun    Source = "run/"   // the start of a run
	SourcePush   Source = "push/"  // a client of A2A that has begun a task
	SourceSink   Source = "sink/"  // the deployment, for the runs of every tenant
)

// Endpoint is the id of an endpoint, taken apart.
type Endpoint struct {
	Source Source
	Owner  string // the agent, the run or the group of a task
	Name   string // of the target or the sink; empty for a tenant's
}

// ParseEndpoint takes an id apart; false if it is not the id of an endpoint.
func ParseEndpoint(id string) (Endpoint, bool) {
	if OfTenant(id) {
		return Endpoint{Source: SourceTenant}, true
	}
	first, rest, _ := strings.Cut(id, "/")
	parts := strings.Split(rest, "/")
	switch source := Source(first + "/"); {
	case slices.Contains(parts, ""):
	case source == SourceSink && len(parts) == 1:
		return Endpoint{Source: source, Name: parts[0]}, true
	case (source == SourceAgent || source == SourceRun || source == SourcePush) && len(parts) == 2:
		return Endpoint{Source: source, Owner: parts[0], Name: parts[1]}, true
	}
	return Endpoint{}, false
}

// TenantEndpoint begins the ids of endpoints that tenants have added; the rest is random.
const TenantEndpoint = string(SourceTenant)

// AgentEndpoint is the id of an endpoint that an agent file names.
func AgentEndpoint(agent, name string) string { return string(SourceAgent) + agent + "/" + name }

// RunEndpoint is the id of an endpoint that the start of a run names.
func RunEndpoint(run, name string) string { return string(SourceRun) + run + "/" + name }

// PushEndpoint is the id of an endpoint that a client of A2A has added to a task.
func PushEndpoint(group, id string) string { return string(SourcePush) + group + "/" + id }

// SinkEndpoint is the id of an endpoint that the deployment names.
func SinkEndpoint(name string) string { return string(SourceSink) + name }

// OfTenant says whether an endpoint is one that a tenant has added.
func OfTenant(endpoint string) bool { return strings.HasPrefix(endpoint, TenantEndpoint) }

// OfAgent says whether an endpoint is one that an agent file names.
func OfAgent(endpoint string) bool { return strings.HasPrefix(endpoint, string(SourceAgent)) }

// OfRun says whether an endpoint is one that the start of a run names.
func OfRun(endpoint string) bool { return strings.HasPrefix(endpoint, string(SourceRun)) }

// OfPush says whether an endpoint is one that a client of A2A has added to a task.
func OfPush(endpoint string) bool { return strings.HasPrefix(endpoint, string(SourcePush)) }

// OfSink says whether the deployment names an endpoint.
func OfSink(endpoint string) bool { return strings.HasPrefix(endpoint, string(SourceSink)) }
