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

// OpenAPIOptions select what is imported from a document.
type OpenAPIOptions struct {
	Only   []string // operation ids; nil selects all
	Server string   // replaces the servers of the document
}

// OpenAPI imports the operations of an OpenAPI 3.0 or 3.1 document, in JSON or YAML, as HTTP tools.
// What an agent file cannot express is listed in the fragment's LeftOut, with the operation and the
// reason. It returns an error if nothing can be imported, or if an operation of o.Only does not
// exist.
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
		return nil, fmt.Errorf("the document has no operation %q; use its operation ids, or method_path for an operation without one",
			slices.Sorted(maps.Keys(wanted))[0])
	}
	return f, nil
}

// operation is a method of a path.
type operation struct {
	document
	method, path string
	shared, own  map[string]any // what the document says about the path, and about the method
}

var verbs = []string{"get", "head", "post", "put", "patch", "delete", "options", "trace"}

// operations returns the operations of the document, ordered by path and, within a path, in the
// usual order of methods.
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

// name is the tool's name unless it is already taken.
func (op operation) name() string {
	if id := textOf(op.own["operationId"]); id != "" {
		return id
	}
	return strings.ToLower(op.method) + "_" + strings.Trim(unfit.ReplaceAllString(op.path, "_"), "_")
}

func (op operation) label() string { return op.name() + " (" + op.method + " " + op.path + ")" }

// tool converts the operation to a tool.
func (op operation) tool(server string) (Tool, error) {
	if op.method == "OPTIONS" || op.method == "TRACE" {
		return Tool{}, fmt.Errorf("HTTP tools do not support the method %s", op.method)
	}
	if !strings.HasPrefix(op.path, "/") {
		return Tool{}, errors.New("its path must begin with a slash, or it would become part of the server's name")
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

// server is the base address of the operation.
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
		return "", errors.New("the document has no server with an absolute URL; set one that begins with https://, with --server")
	}
	return strings.TrimRight(text, "/"), nil
}

// withDefaults returns the URL of a server with the default values of its variables.
func withDefaults(server map[string]any) string {
	variables := objectOf(server["variables"])
	return variable.ReplaceAllStringFunc(textOf(server["url"]), func(found string) string {
		if value := textOf(objectOf(variables[found[1:len(found)-1]])["default"]); value != "" {
			return value
		}
		return found
	})
}

// IsPrivate reports whether the host of a URL is this machine or a private address. It cannot see
// where a host name leads.
func IsPrivate(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || err == nil && (ip.IsLoopback() || ip.IsPrivate())
}
