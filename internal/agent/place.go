package agent

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// subject is what rules are asked about: a tool, and where its calls go.
type subject struct {
	tool string
	to   place
}

// place is where the calls of a tool go. The zero value is nowhere that a rule could name.
type place struct {
	kind string

	method, host, port string
	path               []placeholder.Template
	// the host cannot be compared as text: a resolver may read it in several ways
	odd bool

	// of mcp the server's name in the file and the tool's there; of others the function
	name, tool string
}

// Subject is a tool of the definition.
func (d Definition) Subject(tool string) subject {
	t, _ := d.Tool(tool)
	s := subject{tool: tool}
	switch {
	case t.HTTP != nil:
		s.to = t.HTTP.place()
	case t.Lambda != nil:
		s.to = place{kind: aimLambda, name: strings.ToLower(t.Lambda.name())}
	case t.MCP != nil:
		s.to = located(aimMCP, d.Servers[t.MCP.Server].URL)
		s.to.name, s.to.tool = t.MCP.Server, cmp.Or(t.MCP.Tool, t.Name)
	case t.Agent != nil && t.Agent.A2A != nil:
		s.to = located(aimA2A, t.Agent.A2A.URL)
	case t.Go != "":
		s.to = place{kind: aimGo, name: t.Go}
	}
	return s
}

func (h HTTP) place() place {
	target, err := ReadTarget(h.URL)
	p := placed(target.Scheme, target.Host)
	p.kind, p.method, p.path = aimHTTP, h.RequestMethod(), target.Path
	p.odd = p.odd || err != nil
	return p
}

// located is the place of an address without placeholders.
func located(kind, address string) place {
	u, err := url.Parse(address)
	if err != nil {
		return place{kind: kind, odd: true}
	}
	p := placed(u.Scheme, u.Host)
	p.kind = kind
	return p
}

// redirected is where a redirect leads.
func redirected(method string, to *url.URL) place {
	p := placed(to.Scheme, to.Host)
	p.kind, p.method = aimHTTP, method
	for i, segment := range strings.Split(to.EscapedPath(), "/") {
		if i > 0 {
			p.path = append(p.path, placeholder.Template{{Text: segment}})
		}
	}
	return p
}

// placed is the host and the port of an authority. Names beyond ASCII and other texts than a
// resolver can read in one way only are odd.
func placed(scheme, authority string) place {
	host, port := netguard.SplitAuthority(scheme, authority)
	p := place{host: aimedHost(host), port: strconv.Itoa(int(port))}
	if a, err := netip.ParseAddr(host); err == nil {
		p.odd = a.Zone() != ""
		return p
	}
	last := p.host[strings.LastIndexByte(p.host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	p.odd = err == nil || !aimASCII(p.host) || p.host == ""
	return p
}

// aims reports whether a rule with this target applies to a call with these arguments that goes to
// the place. If the arguments don't decide that, the answer is untold and counts against the call.
func (a aim) aims(to place, args arguments) truth {
	switch {
	case a.kind == "":
		return Yes
	case a.kind != to.kind:
		return no
	case a.kind == aimHTTP:
		return a.requests(to, args)
	case a.kind == aimA2A:
		return a.hosts(to)
	case a.kind == aimMCP:
		if a.tool != "" && !matchGlob(a.tool, to.tool) {
			return no
		}
		if a.port == "" && matchGlob(a.name, to.name) {
			return Yes
		}
		return a.hosts(to)
	}
	return truthOf(matchGlob(a.name, to.name))
}

func (a aim) hosts(to place) truth {
	switch {
	case a.port != "" && a.port != to.port:
		return no
	case a.host == "*" || !to.odd && matchGlob(a.host, to.host):
		return Yes
	case to.odd:
		return untold
	}
	return no
}

func (a aim) requests(to place, args arguments) truth {
	if a.method != "" && a.method != to.method {
		return no
	}
	answer := a.hosts(to)
	if answer == no || a.path == "" {
		return answer
	}
	return min(answer, a.leads(to.filled(args)))
}

// mostPath is how long a path may be to be compared: more than that a rule is taken to be about.
const mostPath = 2 << 10

// leads compares paths. What only a server can tell, as whether /Pay is /pay or %70ay, is untold;
// so is a path of which an argument is missing, and one with dots that a server may resolve.
func (a aim) leads(path string) truth {
	other := alike(path)
	switch {
	case dotSegment.MatchString(other):
		return untold
	case matchGlob(a.path, path):
		return Yes
	case len(path) > mostPath || overlap(alike(a.path), other):
		return untold
	}
	return no
}

// filled is the path with the arguments in it, and * for one that is not there.
func (p place) filled(args arguments) string {
	var path strings.Builder
	for _, segment := range p.path {
		path.WriteByte('/')
		for _, piece := range segment {
			path.WriteString(piece.Text)
			if piece.Argument == "" {
				continue
			}
			switch v := args[piece.Argument]; v.(type) {
			case nil, map[string]any, []any:
				path.WriteByte('*')
			default:
				path.WriteString(url.PathEscape(fmt.Sprint(v)))
			}
		}
	}
	return cmp.Or(path.String(), "/")
}

// pathParameters are what some servers leave out of a path: ;a=b behind a segment.
var pathParameters = lazyregexp.New(`;[^/*]*`)

// dotSegment is a segment that a server may resolve: /x/../pay is /pay to many. URLs are resolved
// before they come here, but not one that is escaped, as %2e%2e, or that has a parameter, as
// ..;a=b.
var dotSegment = lazyregexp.New(`/\.{1,2}(/|$)`)

// alike is the same text for paths that some server takes for one.
func alike(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	path = strings.ToLower(strings.ReplaceAll(pathParameters.ReplaceAllString(path, ""), `\`, "/"))
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return strings.TrimSuffix(path, "/")
}

// overlap reports whether some text fits both patterns.
func overlap(a, b string) bool {
	row := make([]bool, len(b)+1) // row[j]: what is left of a overlaps b[j:]
	for i := len(a); i >= 0; i-- {
		next := make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				next[j] = true
			case i < len(a) && a[i] == '*':
				next[j] = row[j] || j < len(b) && next[j+1]
			case j < len(b) && b[j] == '*':
				next[j] = next[j+1] || i < len(a) && row[j]
			case i < len(a) && j < len(b):
				next[j] = a[i] == b[j] && row[j+1]
			}
		}
		row = next
	}
	return row[0]
}

// aimed is whether the rule is about a call, its conditions aside.
func (r Rule) aimed(s subject, args arguments) truth {
	if !matchGlob(r.Tool, s.tool) {
		return no
	}
	a, err := ReadAim(r.Target)
	if err != nil {
		return untold
	}
	return a.aims(s.to, args)
}

// Reaches reports whether some call of the definition can be what the rule is about. Of a target
// that cannot be read that was said already.
func (d Definition) Reaches(r Rule) bool {
	return slices.ContainsFunc(d.Tools, func(t Tool) bool { return r.aimed(d.Subject(t.Name), nil) != no })
}

// Targeted reports whether some rule names a target.
func (r *Rules) Targeted() bool {
	return slices.ContainsFunc(r.gate.all(), func(l lists) bool {
		l = l.targeted()
		return len(l.block)+len(l.deny)+len(l.ask) > 0
	})
}

// Redirect says why a call may not follow a redirect of its service; nil if it may. Rules about the
// redirect's target apply as if the tool called it directly. A rule that asks about the target
// refuses the redirect, unless the same rule already asked about the call.
func (r *Rules) Redirect(call core.ToolCall, method string, to *url.URL) error {
	from := r.gate.subject(call.Name)
	next := subject{call.Name, redirected(method, to)}
	args := readArguments(call.Arguments)
	for _, l := range r.gate.all() {
		l = l.targeted()
		if v, refused := l.refusal(next, args); refused {
			return fmt.Errorf("it redirected to %s: %s", to.Host, v.Reason)
		}
		for _, m := range l.ask {
			if m.matches(next, args) >= untold && m.matches(from, args) < untold {
				return fmt.Errorf("it redirected to %s, which needs a separate approval", to.Host)
			}
		}
	}
	return nil
}
