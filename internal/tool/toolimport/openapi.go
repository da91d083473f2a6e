package toolimport

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

// OpenAPIOptions say what of a document is wanted.
type OpenAPIOptions struct {
	Only   []string // operation ids; nil: all
	Server string   // in place of those that the document names
}

// OpenAPI reads a document of OpenAPI 3.0 or 3.1, JSON or YAML, as HTTP tools. What cannot be said
// in an agent file is in the fragment's LeftOut, with the operation and the reason. The error says
// why nothing at all can be read, or which operation of o.Only is not there.
func OpenAPI(text []byte, o OpenAPIOptions) (*Fragment, error) {
	d, err := readDocument(text)
	if err != nil {
		return nil, err
	}
	f := &Fragment{}
	wanted := map[string]bool{}
	for _, id := range o.Only {
		wanted[id] = true
	}
	for _, op := range d.operations() {
		if len(o.Only) > 0 && !wanted[op.name()] {
			continue
		}
		delete(wanted, op.name())
		if len(f.LeftOut) > mostLeft {
			continue
		}
		t, err := op.tool(o.Server)
		if err != nil {
			f.Leave(op.label(), err.Error())
			continue
		}
		f.Add(t)
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("the document has no operation %q; its operation ids, or method_path where one has none, are what to name",
			slices.Sorted(maps.Keys(wanted))[0])
	}
	return f, nil
}

// operation is a method of a path.
type operation struct {
	document
	method, path string
	shared, own  map[string]any // what is said of the path, and of the method
}

var verbs = []string{"get", "head", "post", "put", "patch", "delete", "options", "trace"}

// operations are those of the document, by path, and of a path as people list them.
func (d document) operations() (all []operation) {
	paths := objectOf(d.root["paths"])
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		shared, err := d.object(paths[path])
		if err != nil {
			shared = nil
		}
		for _, verb := range verbs {
			if own, ok := shared[verb].(map[string]any); ok {
				all = append(all, operation{d, strings.ToUpper(verb), path, shared, own})
			}
		}
	}
	return all
}

// name is what the tool will be called, if nothing else is.
func (op operation) name() string {
	if id := textOf(op.own["operationId"]); id != "" {
		return id
	}
	return strings.ToLower(op.method) + "_" + strings.Trim(unfit.ReplaceAllString(op.path, "_"), "_")
}

func (op operation) label() string { return op.name() + " (" + op.method + " " + op.path + ")" }

// tool is the operation as a tool.
func (op operation) tool(server string) (Tool, error) {
	if op.method == "OPTIONS" || op.method == "TRACE" {
		return Tool{}, fmt.Errorf("an agent cannot send %s", op.method)
	}
	if !strings.HasPrefix(op.path, "/") {
		return Tool{}, errors.New("its path does not begin with a slash, and would be read as a part of the server's name")
	}
	base, err := op.server(server)
	if err != nil {
		return Tool{}, err
	}
	r := &request{operation: op, x: op.expander(), http: &agent.HTTP{Method: op.method, Query: map[string]string{}, Headers: map[string]string{},
		AllowPrivate: IsPrivate(base)}, properties: map[string]any{}}
	if err := r.body(); err != nil {
		return Tool{}, err
	}
	if err := r.parameters(); err != nil {
		return Tool{}, err
	}
	if err := r.security(); err != nil {
		return Tool{}, err
	}
	r.http.URL = base + r.path
	t := Tool{Name: op.name(), Description: op.description(), HTTP: r.http, Parameters: r.schema(), Notes: r.x.notes}
	if op.method == "GET" || op.method == "HEAD" {
		yes := true
		t.ReadOnly = &yes
	}
	return t, nil
}

func (op operation) description() string {
	summary, long := strings.TrimSpace(textOf(op.own["summary"])), strings.TrimSpace(textOf(op.own["description"]))
	if summary == "" || strings.HasPrefix(long, summary) {
		return long
	}
	return strings.TrimSpace(summary + "\n" + long)
}

var variable = regexp.MustCompile(`\{([^{}]*)\}`)

// server is the beginning of the operation's address.
func (op operation) server(given string) (string, error) {
	text := given
	if text == "" {
		for _, at := range []map[string]any{op.own, op.shared, op.root} {
			if servers := listOf(at["servers"]); len(servers) > 0 {
				text = withDefaults(objectOf(servers[0]))
				break
			}
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || strings.ContainsAny(text, "{}#") {
		return "", errors.New("the document names no server with a whole address; name one, beginning with https://, with --server")
	}
	return strings.TrimRight(text, "/"), nil
}

// withDefaults is the address of a server, its variables as they are if nobody says otherwise.
func withDefaults(server map[string]any) string {
	variables := objectOf(server["variables"])
	return variable.ReplaceAllStringFunc(textOf(server["url"]), func(found string) string {
		if value := textOf(objectOf(variables[found[1:len(found)-1]])["default"]); value != "" {
			return value
		}
		return found
	})
}

// IsPrivate says whether a URL names this machine or a private address outright. A name that leads
// to one cannot be seen.
func IsPrivate(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || err == nil && (ip.IsLoopback() || ip.IsPrivate())
}
