package agentfile

import (
	"maps"
	"net/textproto"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// httpCheck checks the parts of a request against the parameters.
type httpCheck struct {
	*source
	tool       *object
	t          agent.Tool
	at         *yaml.Node // the http mapping
	properties map[string]any
	required   []any
	used       map[string]bool
}

func (c *httpCheck) check() {
	if c.tool.Member("parameters") == nil {
		c.Refuse(c.at, "an http tool needs parameters: the JSON Schema of its arguments; write {type: object} if it takes none")
		return
	}
	schema, _ := agent.DecodeValue(c.t.Parameters).(map[string]any)
	c.properties, _ = schema["properties"].(map[string]any)
	c.required, _ = schema["required"].([]any)
	c.url()
	c.headers()
	c.body()
	c.leftOver()
}

// member is the node of a part of the request.
func (c *httpCheck) member(names ...string) *yaml.Node {
	n := c.at
	for _, name := range names {
		if n = memberOf(n, name); n.Line == 0 {
			return c.at
		}
	}
	return n
}

func (c *httpCheck) url() {
	if c.t.HTTP.URL == "" {
		return // reported already
	}
	target, err := agent.ReadTarget(c.t.HTTP.URL)
	if err != nil {
		c.Refuse(c.member("url"), "%v", err)
		return
	}
	for _, segment := range target.Path {
		c.inPath(segment)
	}
	for _, f := range target.Query {
		c.place(c.member("url"), f.Value, true)
		c.written(c.member("url"), "the query of url", f.Value, keyQuery.MatchString(f.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(c.t.HTTP.Query)) {
		at := c.member("query", name)
		if value, err := placeholder.Read(c.t.HTTP.Query[name]); err != nil {
			c.Refuse(at, "%v", err)
		} else {
			c.place(at, value, true)
			c.written(at, name+" in query", value, keyQuery.MatchString(name))
		}
	}
	if target.Scheme == "http" && !c.t.HTTP.AllowPrivate && len(c.t.HTTP.Secrets()) > 0 {
		c.Refuse(c.member("url"), "a secret would be sent unencrypted; use https, or allow_private for a service on a private address")
	}
}

// inPath refuses arguments in the path that can be missing or are not plain values.
func (c *httpCheck) inPath(segment placeholder.Template) {
	c.place(c.member("url"), segment, false)
	for _, name := range segment.Arguments() {
		property, known := c.properties[name].(map[string]any)
		switch {
		case !known:
		case !slices.Contains(c.required, any(name)):
			c.Refuse(c.member("url"), "the argument %q is in the path of url but not required; name it under required in the parameters", name)
		case slices.ContainsFunc(agent.TypesOf(property["type"]), func(t string) bool { return t == "object" || t == "array" || t == "null" }):
			c.Refuse(c.member("url"), "the argument %q is in the path of url but can be an object, a list or null; make it text, a number or a boolean", name)
		}
	}
}

// place checks the placeholders of one text against the parameters.
func (c *httpCheck) place(at *yaml.Node, value placeholder.Template, secrets bool) {
	for _, name := range value.Arguments() {
		c.used[name] = true
		if _, known := c.properties[name]; !known {
			c.Refuse(at, "the tool has no argument {%s}; describe %q under properties in the parameters, or remove it", name, name)
		}
	}
	if !secrets && len(value.Secrets()) > 0 {
		c.Refuse(at, "a secret is only allowed in headers and in the query; move it there")
	}
}

// ours are the headers that this program or the connection sets.
var ours = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade", "Expect", "Proxy-Authorization",
	"Proxy-Connection", "Idempotency-Key", "Accept-Encoding", "Content-Encoding"}

var headerName = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (c *httpCheck) headers() {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.t.HTTP.Headers)) {
		at := c.member("headers", name)
		c.place(at, c.header(at, name, c.t.HTTP.Headers[name], ours, seen), true)
	}
}

// header reads a header. It refuses those that this program sets, and those already seen.
func (s *source) header(at *yaml.Node, name, text string, set []string, seen map[string]bool) placeholder.Template {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	value, err := placeholder.Read(text)
	switch {
	case !headerName.MatchString(name):
		s.Refuse(at, "%q is not a valid header name; correct it", name)
	case slices.Contains(set, canonical):
		s.Refuse(at, "the header %s is set by this program; remove it", canonical)
	case seen[canonical]:
		s.Refuse(at, "the header %s is set twice; keep one", canonical)
	case err != nil:
		s.Refuse(at, "%v", err)
	case strings.ContainsFunc(value.Fixed(), func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }):
		s.Refuse(at, "the header %s can only hold one line of plain ASCII text", canonical)
	default:
		s.written(at, "the header "+canonical, value, keyHeader.MatchString(name))
	}
	seen[canonical] = true
	return value
}

func (c *httpCheck) body() {
	named, template := c.t.HTTP.Payload()
	if (named != agent.BodyNone || template != nil) && c.t.HTTP.Safe() {
		c.Refuse(c.member("body"), "%s sends no body; remove body, or use POST", c.t.HTTP.RequestMethod())
	}
	c.inside(agent.DecodeValue(template))
}

// inside checks every text in the template of a body.
func (c *httpCheck) inside(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if name, err := placeholder.Read(key); err == nil && len(name.Arguments())+len(name.Secrets()) > 0 {
				c.Refuse(c.member("body"), "%q in body is the name of a member; use placeholders only in values", key)
			}
			c.inside(v[key])
		}
	case []any:
		for _, item := range v {
			c.inside(item)
		}
	case string:
		value, err := placeholder.Read(v)
		if err != nil {
			c.Refuse(c.member("body"), "body: %v", err)
			return
		}
		c.place(c.member("body"), value, false)
	}
}

// leftOver refuses arguments that are sent nowhere: the model would have to give them, and an
// approver would see them, for nothing.
func (c *httpCheck) leftOver() {
	if named, _ := c.t.HTTP.Payload(); named == agent.BodyJSON || named == agent.BodyForm {
		return
	}
	names := slices.Sorted(maps.Keys(c.properties))
	for _, required := range c.required {
		if name, ok := required.(string); ok {
			names = agent.AddName(names, name)
		}
	}
	for _, name := range names {
		if !c.used[name] {
			c.Refuse(c.tool.Member("parameters"), "the argument %q is sent nowhere: put {%s} into url, query, headers or body, or remove it", name, name)
		}
	}
}
