package inbox

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

func (a *app) makeLinkCommand() *cobra.Command {
	var req wire.LinkRequest
	var life time.Duration
	var public string
	cmd := &cobra.Command{
		Use:   "link RUN [TARGET]",
		Short: "Create an approval link for one person",
		Long: `Create a link that lets one person decide one call, once, without a token. TARGET is a
suspension id, as shown by approvals. You can omit it if the run has exactly one waiting
call. Anyone who has the link can use it. Requires the role link.

The link is shown only once. It stops working when the call is decided, when the call's
deadline passes, when the link expires, or when you revoke it.

The link starts with --public-url. The default is the public URL of the server; if the
server has none, it is the address of this request.`,
		Example: `  dormouse approvals link run_3k7q2_0 --for anna@example.com
  dormouse approvals link run_3k7q2_0 sus_2_x7f3 --for "Anna Berg" --expires-in 4h
  dormouse approvals link run_3k7q2_0 --for anna@example.com --public-url https://desk.example.com`,
		Args: cmdline.Takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if req.For == "" {
				return cmdline.Usagef("--for is missing; set it to the name or email address of the recipient")
			}
			if cmd.Flags().Changed("expires-in") && (life < time.Second || life%time.Second != 0) {
				return cmdline.Usagef("--expires-in is %v; it must be a whole number of seconds, such as 4h or 90s", life)
			}
			req.ExpiresIn = life.Seconds()
			base, err := cmdline.PublicURL(public)
			if err != nil {
				return err
			}
			return a.makeLink(cmd, args, req, base)
		},
	}
	cmd.Flags().StringVar(&req.For, "for", "", "`NAME` or email address of the recipient, recorded with the decision")
	cmd.Flags().DurationVar(&life, "expires-in", 0, "lifetime of the link, such as 4h (default: the maximum the server allows)")
	cmd.Flags().BoolVar(&req.Edit, "edit", false, "let the recipient edit the arguments of the call (requires the role decide too)")
	cmd.Flags().StringVar(&req.Require, "require", "", "what the recipient must show, and under whose name the decision is recorded: `WHAT` is token for an access token, sign_in for an account at the server's --oidc-issuer, or code for a one-time code that is mailed to the recipient")
	cmd.Flags().StringVar(&public, "public-url", "", "public `URL` of the server, such as https://desk.example.com/dormouse (default: the server's own --public-url)")
	return cmd
}

// linkPath is the path of every link.
const linkPath = "/v1/approvals/"

// under replaces the base of a link.
func under(base access.PublicURL, link string) string {
	at := strings.LastIndex(link, linkPath)
	if at < 0 || base.String() == "" {
		return link
	}
	return base.To(link[at:])
}

func (a *app) makeLink(cmd *cobra.Command, args []string, req wire.LinkRequest, base access.PublicURL) error {
	c, err := a.Connect()
	if err != nil {
		return err
	}
	if len(args) == 2 {
		req.Target = args[1]
	} else {
		asked, err := a.onlyPending(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		req.Target = asked.Suspension.ID
	}
	l, err := c.MakeLink(cmd.Context(), args[0], req)
	if err != nil {
		return err
	}
	l.Link = under(base, l.Link)
	if a.JSON {
		return a.PrintJSON(l)
	}
	if strings.HasPrefix(l.Link, linkPath) {
		l.Link = strings.TrimSuffix(cmdline.ShownAddress(a.Address()), "/") + l.Link
	}
	return a.Table([][]string{
		{"link", display.OneLine(l.Link)},
		{"for", display.OneLine(l.For)},
		{"until", display.Clock(l.ExpiresAt)},
		{"revoke", a.Command(fmt.Sprintf("approvals revoke %s %s", l.RunID, l.ID))},
	})
}

func (a *app) listLinksCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "links RUN",
		Short:   "List the approval links of a run",
		Long:    "List the approval links of a run, with recipient, creator, expiry and state. Requires the role link.",
		Example: "  dormouse approvals links run_3k7q2_0",
		Args:    cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			links, err := c.Links(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printLinks(wire.Page[wire.Link]{Items: links})
		},
	}
}

func (a *app) printLinks(page wire.Page[wire.Link]) error {
	if a.JSON {
		return a.PrintJSON(page)
	}
	if len(page.Items) == 0 {
		return a.Printf("no links\n")
	}
	rows := [][]string{{"LINK", "FOR", "TOOL", "SUSPENSION", "MADE BY", "UNTIL", "STATE"}}
	for _, l := range page.Items {
		rows = append(rows, []string{l.ID, display.OneLine(l.For), display.OneLine(l.Tool), l.Suspension, display.OneLine(l.CreatedBy), display.Clock(l.ExpiresAt), a.linkState(l)})
	}
	return a.Table(rows)
}

// linkState is the state of a link by time and revocation. It doesn't know whether it was used.
func (a *app) linkState(l wire.Link) string {
	switch {
	case l.RevokedAt != nil:
		return "revoked " + display.Clock(*l.RevokedAt)
	case !a.Now().Before(l.ExpiresAt.Time):
		return "expired"
	}
	return "open"
}

func (a *app) revokeLinkCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke RUN LINK",
		Short:   "Revoke an approval link",
		Long:    "Revoke an approval link. Its page can no longer be read or used. LINK is an id, as shown by\nlinks. Requires the role link.",
		Example: "  dormouse approvals revoke run_3k7q2_0 lnk_019c2a41f0bq7x2k5n8m4r6t3v",
		Args:    cmdline.Takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			l, err := c.RevokeLink(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(l)
			}
			return a.Printf("revoked: %s for %s\n", l.ID, display.OneLine(l.For))
		},
	}
}
