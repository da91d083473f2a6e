package agent

import (
	"cmp"
	"strings"
)

// The kinds of tools beside those that a rule can name as a target.
const (
	KindClient   = "client"
	kindRecorded = "recorded"
)

// Reach says in words for an approver what runs the calls of a tool and where they go: the kind as
// agent files write it, and the target. A target is a method and a host, the name of a function, a
// server and its tool, the name of an agent, or the host of one that runs elsewhere. Paths,
// queries, headers and user names are left out, since an author may have written a secret into one
// of them. ok is false if the definition has no such tool.
func (d Definition) Reach(tool string) (kind, target string, ok bool) {
	t, ok := d.Tool(tool)
	switch {
	case !ok:
		return "", "", false
	case t.HTTP != nil:
		return aimHTTP, t.HTTP.reach(), true
	case t.Lambda != nil:
		return aimLambda, t.Lambda.name(), true
	case t.MCP != nil:
		return aimMCP, t.MCP.Server + "/" + cmp.Or(t.MCP.Tool, t.Name), true
	case t.Go != "":
		return aimGo, t.Go, true
	case t.Agent != nil && t.Agent.A2A != nil:
		return kindA2A, t.Agent.A2A.Host(), true
	case t.Agent != nil:
		return kindAgent, t.Agent.Name, true
	case t.Client:
		return KindClient, "", true
	}
	return kindRecorded, "", true
}

// reach is the method and the host with a port that was written. A stored URL that cannot be read
// has calls that fail, so the method alone is shown.
func (h HTTP) reach() string {
	target, err := ReadTarget(h.URL)
	if err != nil {
		return h.RequestMethod()
	}
	return h.RequestMethod() + " " + shownHost(target.Scheme, target.Host)
}

// shownHost is a host with its port if that is not the usual one.
func shownHost(scheme, host string) string {
	return strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[scheme])
}
