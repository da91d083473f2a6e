package agents

import (
	"context"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
	"github.com/dormouse-dev/dormouse/internal/tool/mcptool"
	"github.com/dormouse-dev/dormouse/internal/tool/toolimport"
)

// mcpFlags are the flags of tools mcp.
type mcpFlags struct {
	headers []string
	only    []string
	name    string
}

func (a *app) toolsMCPCommand() *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp URL",
		Short: "Generate tools from an MCP server",
		Long: `List the tools of an MCP server over streamable HTTP and print them as tools of an agent
file. The values of read_only and idempotent are the server's claims, so review them. A
tool that claims neither is not retried after a crash.

Refer to secrets by name: --header 'Authorization: Bearer {secret:CRM_TOKEN}' sends the
value of DORMOUSE_SECRET_CRM_TOKEN, both here and where the agent runs.`,
		Example: `  dormouse tools mcp https://tools.example.com/mcp --name crm > part.yaml
  dormouse tools mcp https://tools.example.com/mcp --header 'Authorization: Bearer {secret:CRM_TOKEN}' --only search,read`,
		Args: cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			server, err := f.server(args[0])
			if err != nil {
				return err
			}
			listed, err := a.listMCP(cmd.Context(), server)
			if err != nil {
				return err
			}
			fragment, err := f.fragment(server, listed)
			if err != nil {
				return err
			}
			return a.printFragment(fragment)
		},
	}
	cmd.Flags().StringArrayVar(&f.headers, "header", nil, "HTTP header to send, as `'Name: value'`; use {secret:NAME} for a secret; repeatable")
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "comma-separated names of the `TOOLS` to print, as on the server (default: all)")
	cmd.Flags().StringVar(&f.name, "name", "", "`NAME` of the server in the agent file (default: derived from its address)")
	return cmd
}

// server is the server that the flags describe, in the form of an agent file.
func (f *mcpFlags) server(text string) (agent.Server, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return agent.Server{}, cmdline.Usagef("%q is not a server URL; use one such as https://tools.example.com/mcp", text)
	}
	if f.name == "" {
		f.name = nameOfHost(u.Hostname())
	}
	if agentfile.CheckName(f.name) != nil {
		return agent.Server{}, cmdline.Usagef("%q is not a valid server name; use a-z, 0-9, - and _, starting with a letter or digit", f.name)
	}
	s := agent.Server{URL: text, AllowPrivate: toolimport.IsPrivate(text), Headers: map[string]string{}}
	for _, header := range f.headers {
		name, value, ok := strings.Cut(header, ":")
		if name = textproto.TrimString(name); !ok || name == "" {
			return agent.Server{}, cmdline.Usagef("a --header is not of the form 'Name: value'")
		}
		template, err := placeholder.Read(textproto.TrimString(value))
		if err != nil {
			return agent.Server{}, cmdline.Usagef("--header %s: %v", name, err)
		}
		if len(template.Secrets()) == 0 && mayBeSecret.MatchString(name) {
			return agent.Server{}, cmdline.Usagef("the value of header %s would be stored in the agent file; set the secret in the environment variable %s and write {secret:%s} instead",
				name, secret.Variable("TOKEN"), "TOKEN")
		}
		s.Headers[name] = textproto.TrimString(value)
	}
	return s, nil
}

var (
	mayBeSecret = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|password`)
	notInName   = regexp.MustCompile(`[^a-z0-9_-]+`)
)

// nameOfHost derives a server name from a host: crm for crm.example.com.
func nameOfHost(host string) string {
	first, _, _ := strings.Cut(strings.ToLower(host), ".")
	if name := strings.Trim(notInName.ReplaceAllString(first, ""), "-_"); strings.Trim(name, "0123456789") != "" {
		return name
	}
	return "server"
}

// listMCP lists the tools of the server. It may reach any address, because the caller typed it.
// What an agent may reach is decided where it runs.
func (a *app) listMCP(ctx context.Context, s agent.Server) ([]mcptool.Listed, error) {
	for _, name := range (agent.Definition{Servers: map[string]agent.Server{"server": s}}).Secrets() {
		if a.Opts.Getenv(secret.Variable(name)) == "" {
			return nil, cmdline.Usagef("secret %s is not set; set the environment variable %s", name, secret.Variable(name))
		}
	}
	tools := mcptool.New(mcptool.Options{HTTP: func(agent.Server) *http.Client { return &http.Client{} },
		Secrets: secret.Environment(a.Opts.Getenv), Clock: machine.Clock{}, Random: machine.Random{}, Version: a.Opts.Version})
	listed, err := tools.List(ctx, s)
	if err != nil && ctx.Err() == nil {
		return nil, cmdline.Fail(cmdline.ExitFailed, "not_listed", err.Error())
	}
	return listed, err
}

// fragment is the tools of the server as a part of an agent file.
func (f *mcpFlags) fragment(s agent.Server, listed []mcptool.Listed) (*toolimport.Fragment, error) {
	fragment := &toolimport.Fragment{Servers: map[string]agent.Server{f.name: s},
		Head: []string{"From the MCP server " + s.URL + ". All texts, read_only and idempotent are the server's claims.", "Remove the tools that the agent must not call."}}
	missing := slices.Clone(f.only)
	for _, l := range listed {
		if len(f.only) > 0 && !slices.Contains(f.only, l.Name) {
			continue
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == l.Name })
		t := toolimport.Tool{Name: l.Name, Description: l.Description, Parameters: l.Schema, Idempotent: l.Idempotent && !l.ReadOnly, MCP: &agent.MCP{Server: f.name}}
		if t.Description == "" {
			t.Description = l.Title
		}
		if l.ReadOnly {
			yes := true
			t.ReadOnly = &yes
		}
		fragment.Add(t)
	}
	if len(missing) > 0 {
		return nil, cmdline.Usagef("the server has no tool %q; it has: %s", missing[0], someNames(listed))
	}
	return fragment, nil
}

func someNames(listed []mcptool.Listed) string {
	var names []string
	for _, l := range listed {
		names = append(names, l.Name)
	}
	if len(names) > 20 {
		names = append(names[:20], "and others")
	}
	return strings.Join(names, ", ")
}
