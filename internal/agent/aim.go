package agent

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// The kinds of targets that a rule can name.
const (
	aimHTTP    = "http"
	aimLambda  = "lambda"
	aimMCP     = "mcp"
	aimA2A     = kindA2A
	aimGo      = "go"
	aimCommand = "command"
)

// aim is the target of a [Rule], read. Its texts are patterns in which * matches any text; an empty
// one matches everything. The zero value is the aim of a rule without a target.
type aim struct {
	kind string

	method, host, port, path string // of http; host and port also of mcp and a2a
	// of lambda and go the function, of command the program, of mcp the server
	name string
	tool string // of mcp
}

var (
	AimForm     = lazyregexp.New(`^(http|lambda|mcp|a2a|go|command):(.*)$`)
	aimHTTPForm = lazyregexp.New(`^(?:([A-Z]+) +)?([^/ :\[\]]+|\[[0-9a-fA-F:.]+\])(?::([0-9]{1,5}))?(/[^ ?#{}]*)?$`)
	aimMCPForm  = lazyregexp.New(`^([^/ :\[\]]+|\[[0-9a-fA-F:.]+\])(?::([0-9]{1,5}))?(?:/([!-~]{1,128}))?$`)
	aimA2AForm  = lazyregexp.New(`^([^/ :\[\]]+|\[[0-9a-fA-F:.]+\])(?::([0-9]{1,5}))?$`)
	aimHost     = lazyregexp.New(`^[a-z0-9*._-]+$|^\[`)
	aimFunction = lazyregexp.New(`^[a-zA-Z0-9_*-]{1,64}$`)
	aimWord     = lazyregexp.New(`^[!-~]{1,200}$`)
)

// ReadAim reads a target, as http:POST api.example.com/pay/*, lambda:NAME, mcp:SERVER/TOOL,
// a2a:HOST, go:NAME or command:NAME.
func ReadAim(text string) (aim, error) {
	if text == "" {
		return aim{}, nil
	}
	parts := AimForm.FindStringSubmatch(text)
	if parts == nil || !aimASCII(parts[2]) {
		return aim{}, Mistake("%q is not a target; write http:METHOD HOST/PATH, lambda:FUNCTION, mcp:SERVER/TOOL, a2a:HOST, go:FUNCTION or command:PROGRAM, in plain ASCII, "+
			"with * for any text", Shorten(text, 200))
	}
	a := aim{kind: parts[1], name: parts[2]}
	switch a.kind {
	case aimHTTP:
		return a.readHTTP(parts[2])
	case aimMCP:
		return a.readMCP(parts[2])
	case aimA2A:
		return a.readA2A(parts[2])
	case aimLambda:
		if !aimFunction.MatchString(a.name) {
			return aim{}, Mistake("the target %q names no Lambda function; write its name, without the rest of its ARN", Shorten(text, 200))
		}
		a.name = strings.ToLower(a.name)
	default:
		if !aimWord.MatchString(a.name) {
			return aim{}, Mistake("the target %q names nothing; write a name or a pattern behind %s:", Shorten(text, 200), a.kind)
		}
	}
	return a, nil
}

func aimASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

func (a aim) readHTTP(text string) (aim, error) {
	parts := aimHTTPForm.FindStringSubmatch(text)
	if parts == nil || parts[1] != "" && !slices.Contains(Methods, parts[1]) {
		return aim{}, Mistake("the target %q is no request; write http:HOST, http:HOST/PATH or http:METHOD HOST/PATH, without a scheme or a query, and one of the methods %s",
			Shorten(text, 200), strings.Join(Methods, ", "))
	}
	a.name, a.method, a.path = "", parts[1], parts[4]
	if a.path == "/*" {
		a.path = ""
	}
	return a.at(parts[2], parts[3])
}

func (a aim) readMCP(text string) (aim, error) {
	parts := aimMCPForm.FindStringSubmatch(text)
	if parts == nil {
		return aim{}, Mistake("the target %q is no MCP server; write mcp:SERVER or mcp:SERVER/TOOL, with the server's name in the file or its host", Shorten(text, 200))
	}
	a.tool = parts[3]
	return a.at(parts[1], parts[2])
}

func (a aim) readA2A(text string) (aim, error) {
	parts := aimA2AForm.FindStringSubmatch(text)
	if parts == nil {
		return aim{}, Mistake("the target %q is not the host of an agent; write a2a:HOST or a2a:HOST:PORT, without a scheme or a path", Shorten(text, 200))
	}
	a.name = ""
	return a.at(parts[1], parts[2])
}

// at puts the host and the port into an aim.
func (a aim) at(host, port string) (aim, error) {
	a.host, a.port = aimedHost(host), strings.TrimLeft(port, "0")
	if a.kind == aimMCP {
		a.name = a.host
	}
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) || !aimHost.MatchString(a.host) {
		return aim{}, Mistake("%q in a target is not a host; write a name, a pattern such as *.example.com, or an address, and a port if needed", Shorten(strings.TrimSuffix(host+":"+port, ":"), 200))
	}
	return a, nil
}

// aimedHost returns the one form of all texts that mean the same host.
func aimedHost(host string) string {
	host = netguard.CanonicalHost(host)
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		a = a.Unmap()
		if a.Is6() {
			return "[" + a.String() + "]"
		}
		return a.String()
	}
	return host
}

// within reports whether a matches only what b does.
func (a aim) within(b aim) bool {
	for _, texts := range [][2]string{{b.method, a.method}, {b.host, a.host}, {b.port, a.port}, {b.path, a.path}, {b.name, a.name}, {b.tool, a.tool}} {
		if texts[0] != "" && !matchGlob(texts[0], texts[1]) {
			return false
		}
	}
	return b.kind == "" || a.kind == b.kind
}

// runs reports whether the aim names a command, by what the file has or by the program's own name.
func (a aim) runs(program string) bool {
	return a.kind == aimCommand && (matchGlob(a.name, program) || matchGlob(a.name, path.Base(program)))
}

// OnCommand is what is wrong with a rule about a command in a list; nil if nothing is. A command
// runs after a result, when no approver can be asked.
func (r Rule) OnCommand(list string) error {
	switch a, err := ReadAim(r.Target); {
	case err != nil || a.kind != aimCommand:
		return nil
	case list != "deny":
		return fmt.Errorf("%q can only be denied; move the rule to deny, or remove it", r.Target)
	case r.Tool != "*" || len(r.When) > 0:
		return fmt.Errorf("a rule about %q takes neither a tool nor conditions; remove them", r.Target)
	}
	return nil
}
