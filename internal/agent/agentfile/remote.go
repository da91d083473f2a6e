package agentfile

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

var qualified = lazyregexp.New(`(?:^|:function:)[a-zA-Z0-9_-]+:[a-zA-Z0-9$_-]+$`)

// lambda reads a tool that is a Lambda function; nil if there is none.
func (s *source) lambda(n *yaml.Node) *agent.Lambda {
	if n == nil {
		return nil
	}
	o, ok := s.Object(n, "lambda")
	if !ok {
		return nil
	}
	defer o.Close()
	l := &agent.Lambda{Function: o.Text("function"), Qualifier: o.Text("qualifier"), Timeout: s.callTime(o.Take("timeout"), "lambda"),
		MaxBytes: s.bytes(o.Take("max_bytes"), "max_bytes")}
	switch at := o.Member("function"); {
	case at == nil:
		s.Refuse(n, "lambda needs a function: its name, or its ARN")
	case qualified.MatchString(l.Function):
		s.Refuse(at, "%q ends with a version or an alias; write that as qualifier", agent.Shorten(l.Function, 200))
	case !form.FunctionName.MatchString(l.Function) && !form.FunctionARN.MatchString(l.Function):
		s.Refuse(at, "%q is not a Lambda function; write its name (letters, digits, - and _, at most 64) or its ARN", agent.Shorten(l.Function, 200))
	}
	if at := o.Member("qualifier"); at != nil && !form.Qualifier.MatchString(l.Qualifier) {
		s.Refuse(at, "qualifier must be a version in quotes, or an alias; remove it for the latest version")
	}
	return l
}

// mcp reads a tool of an MCP server; nil if there is none.
func (s *source) mcp(n *yaml.Node) *agent.MCP {
	if n == nil {
		return nil
	}
	o, ok := s.Object(n, "mcp")
	if !ok {
		return nil
	}
	defer o.Close()
	m := &agent.MCP{Server: o.Text("server"), Tool: o.Text("tool"), Timeout: s.callTime(o.Take("timeout"), "mcp"),
		MaxBytes: s.bytes(o.Take("max_bytes"), "max_bytes")}
	if at := o.Member("server"); at == nil || m.Server == "" {
		s.Refuse(n, "mcp needs server: a name under servers")
	}
	if at := o.Member("tool"); at != nil && at.ShortTag() == "!!str" && !form.RemoteName.MatchString(m.Tool) {
		s.Refuse(at, "%q is not a valid tool name; write the server's name for it, at most 128 characters without blanks", agent.Shorten(m.Tool, 100))
	}
	return m
}

func (s *source) finishRemote(o *object, t *agent.Tool) {
	if o.Member("parameters") == nil {
		s.Refuse(o.Member(t.Remote()), "a tool with %s needs parameters: the JSON Schema of its arguments; write {type: object} if it takes none", t.Remote())
	}
	deliver(o, t)
}

// deliver sets the delivery that the file omits, as for HTTP tools: tools that only read may be
// repeated, others may not. Only the file says which kind something is that runs elsewhere.
func deliver(o *object, t *agent.Tool) {
	switch {
	case t.Delivery != core.DeliveryDefault || t.Idempotent:
	case t.ReadOnly && o.Member("idempotent") == nil:
		t.Idempotent = true
	default:
		t.Delivery = core.AtMostOnce
	}
}

// servers reads the MCP servers, by the names that tools use.
func (s *source) servers(n *yaml.Node) map[string]agent.Server {
	if n == nil {
		return nil
	}
	o, ok := s.Object(n, "servers")
	if !ok {
		return nil
	}
	servers := map[string]agent.Server{}
	for _, key := range o.Keys {
		if !agent.AgentName.MatchString(key.Value) {
			s.Refuse(key, "%q is not a valid server name; use a-z, 0-9, - and _, at most 64, beginning with a letter or digit", key.Value)
		}
		servers[key.Value] = s.server(o.Take(key.Value))
	}
	return servers
}

func (s *source) server(n *yaml.Node) agent.Server {
	o, ok := s.Object(n, "a server")
	if !ok {
		return agent.Server{}
	}
	defer o.Close()
	server := s.service(o, "Mcp-")
	if o.Member("url") == nil {
		s.Refuse(n, "a server needs a url, as in https://tools.example.com/mcp")
	}
	return server
}

// service reads where a server or an agent elsewhere is, and the headers for it. Those of its
// protocol begin with a prefix that no other header has.
func (s *source) service(o *object, protocol string) agent.Server {
	server := agent.Server{URL: o.Text("url"), Headers: s.texts(o.Take("headers"), "headers"), AllowPrivate: o.Flag("allow_private")}
	s.fixedHeaders(o.Member("headers"), server.Headers, slices.Concat(ours, []string{"Accept", "Content-Type"}))
	for _, name := range slices.Sorted(maps.Keys(server.Headers)) {
		if strings.HasPrefix(strings.ToLower(name), strings.ToLower(protocol)) {
			s.Refuse(memberOf(o.Member("headers"), name), "headers that begin with %s are set by this program; remove %s", protocol, name)
		}
	}
	at := o.Member("url")
	if at == nil {
		return server
	}
	switch t, err := readEndpoint("url", server.URL); {
	case err != nil:
		s.Refuse(at, "%v", err)
	case t.Scheme == "http" && !t.Loopback() && !server.AllowPrivate && len(agent.SecretsIn(server.Headers)) > 0:
		s.Refuse(at, "a secret would be sent unencrypted; use https, or allow_private for a service on a private address")
	default:
		s.writtenIn(at, "url", server.URL)
	}
	return server
}

// fixedHeaders checks headers whose only placeholders are secrets.
func (s *source) fixedHeaders(n *yaml.Node, headers map[string]string, set []string) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		at := memberOf(n, name)
		value := s.header(at, name, headers[name], set, seen)
		for _, argument := range value.Arguments() {
			s.Refuse(at, "{%s} is a placeholder for an argument, which is not allowed here; write {secret:NAME}, or {{ and }} for braces", argument)
		}
	}
}

// serving refuses tools of undefined servers, and servers that no tool uses: either name is a typo.
func (s *source) serving(d agent.Definition, servers *yaml.Node, tools []*yaml.Node) {
	used := map[string]bool{}
	for i, t := range d.Tools {
		if t.MCP == nil || t.MCP.Server == "" {
			continue
		}
		used[t.MCP.Server] = true
		if _, there := d.Servers[t.MCP.Server]; !there {
			s.Refuse(memberOf(memberOf(tools[i], "mcp"), "server"), "the agent has no server %q; %s", t.MCP.Server, instead(d.Servers))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Servers)) {
		if !used[name] {
			s.Refuse(memberOf(servers, name), "no tool uses the server %q; remove it, or name it under mcp in a tool", name)
		}
	}
}

func instead(servers map[string]agent.Server) string {
	if len(servers) == 0 {
		return "list it under servers"
	}
	return "it is one of " + strings.Join(slices.Sorted(maps.Keys(servers)), ", ")
}

// readEndpoint reads the address of an endpoint. It contains no placeholders and no secrets.
func readEndpoint(name, text string) (agent.Target, error) {
	parts := agent.Authority.FindStringSubmatch(text)
	if parts == nil {
		return agent.Target{}, agent.Mistake("%s must be absolute, as in https://api.example.com/v1", name)
	}
	t := agent.Target{Scheme: strings.ToLower(parts[1]), Host: parts[2]}
	switch {
	case t.Scheme != "http" && t.Scheme != "https":
		return t, agent.Mistake("%s begins with %q; it must be http or https", name, agent.Shorten(parts[1], 20))
	case strings.Contains(t.Host, "@"):
		return t, agent.Mistake("%s holds a user name or password; remove them, and send a secret", name)
	case strings.ContainsAny(text, "{}"):
		return t, agent.Mistake("%s holds a brace, and nothing is put into it; write it out, and put a secret into a header", name)
	case parts[5] != "":
		return t, agent.Mistake("a service never receives what follows # in %s; remove it", name)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }):
		return t, agent.Mistake("%s can only hold plain ASCII without blanks; escape what is meant", name)
	}
	if _, err := url.Parse(text); err != nil {
		return t, agent.Mistake("%s is not escaped correctly; write %% as %%25", name)
	}
	return t, agent.CheckHost(t)
}
