package agent

import (
	"strings"
	"time"
)

// Lambda is a tool that is a Lambda function. It is invoked with the arguments as its event and
// waited for.
type Lambda struct {
	Function  string `json:"function"` // its name, or its ARN
	Qualifier string `json:"qualifier,omitempty"`
	Timeout   int64  `json:"timeout,omitempty"` // ms
	MaxBytes  int64  `json:"max_bytes,omitempty"`
}

// Server is an MCP server, spoken to over streamable HTTP. {secret:NAME} in a header is a secret.
type Server struct {
	URL          string            `json:"url"`
	Headers      map[string]string `json:"headers,omitempty"`
	AllowPrivate bool              `json:"allow_private,omitempty"`
}

// MCP is a tool of an MCP server.
type MCP struct {
	Server string `json:"server"` // as the agent calls it
	// as the server calls it; as the agent does, if empty
	Tool     string `json:"tool,omitempty"`
	Timeout  int64  `json:"timeout,omitempty"` // ms
	MaxBytes int64  `json:"max_bytes,omitempty"`
}

// name is the function's name alone.
func (l Lambda) name() string {
	if _, name, arn := strings.Cut(l.Function, ":function:"); arn {
		return name
	}
	return l.Function
}

// Limit is how long a call may take: 30 s if nothing was said.
func (l Lambda) Limit() time.Duration { return limitOf(l.Timeout) }

// Most is how many bytes of an answer are read: 256 KiB if nothing was said.
func (l Lambda) Most() int64 { return mostOf(l.MaxBytes) }

// Limit is as for [Lambda].
func (m MCP) Limit() time.Duration { return limitOf(m.Timeout) }

// Most is as for [Lambda].
func (m MCP) Most() int64 { return mostOf(m.MaxBytes) }

// Remote is the kind of a tool that another process runs, other than by an HTTP request: "lambda"
// or "mcp". It is empty for other tools.
func (t Tool) Remote() string {
	switch {
	case t.Lambda != nil:
		return "lambda"
	case t.MCP != nil:
		return "mcp"
	}
	return ""
}

func limitOf(ms int64) time.Duration {
	if ms == 0 {
		return 30 * time.Second
	}
	return time.Duration(ms) * time.Millisecond
}

func mostOf(bytes int64) int64 {
	if bytes == 0 {
		return 256 << 10
	}
	return bytes
}

// forwards reports whether the arguments leave the run as they are, for another program or
// another agent to read.
func (t Tool) forwards() bool {
	return t.HTTP != nil || t.Lambda != nil || t.MCP != nil || t.Agent != nil
}
