package webhookcmd

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// target are the flags that say where notices go.
type target struct {
	name, url, format, template, secret string
	on, agents, mail                    []string
	private                             bool
}

func (t *target) add(flags *pflag.FlagSet) {
	flags.StringVar(&t.name, "name", "", "`NAME` for people, such as pager")
	flags.StringSliceVar(&t.on, "on", nil, "comma-separated `KINDS`: suspended, reminded, deadline_near, decided, done, failed")
	flags.StringSliceVar(&t.agents, "agents", nil, "comma-separated `AGENTS` whose runs are reported (default: all)")
	flags.StringSliceVar(&t.mail, "mail", nil, "comma-separated mail `ADDRESSES`, in place of a URL")
	flags.StringVar(&t.format, "format", "", "`FORMAT` of the body: standard, slack, teams or template (default standard)")
	flags.StringVar(&t.template, "template", "", "`JSON` of the body, or @FILE, with --format template")
	flags.StringVar(&t.secret, "secret", "", "`NAME` of the server's secret that signs, such as WEBHOOK_PAGER")
	flags.BoolVar(&t.private, "allow-private", false, "allow a private address, if the operator of the server allows it too")
}

func (a *app) addCommand() *cobra.Command {
	var t target
	var key string
	cmd := &cobra.Command{
		Use:   "add [URL]",
		Short: "Add a webhook",
		Long: `Add a webhook. From now on, URL gets a POST request for each notice, signed with the secret
as Standard Webhooks define. The secret is the name of one on the server, never its value;
the names for webhooks begin with WEBHOOK_.`,
		Example: `  dormouse webhooks add https://pager.example.com/dormouse --on suspended,failed --secret WEBHOOK_PAGER
  dormouse webhooks add 'https://hooks.slack.com/services/{secret:WEBHOOK_SLACK}' --on suspended --format slack --agents refund-desk
  dormouse webhooks add --mail ops@example.com --on failed`,
		Args: cmdline.Takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && len(t.mail) == 0 {
				return cmdline.Usagef("pass a URL, or set --mail")
			}
			if len(t.on) == 0 {
				return cmdline.Usagef("--on is missing; name what is reported, such as --on suspended,failed")
			}
			template, err := cmdline.JsonOrFile("--template", t.template)
			if err != nil {
				return err
			}
			c, err := a.Connect()
			if err != nil {
				return err
			}
			req := wire.WebhookRequest{Name: t.name, Agents: t.agents, On: t.on, URL: strings.Join(args, ""), Mail: t.mail, Format: t.format,
				Template: template, Secret: t.secret, AllowPrivate: t.private}
			hook, err := c.AddWebhook(cmd.Context(), req, key)
			return a.printWebhook(hook, err)
		},
	}
	t.add(cmd.Flags())
	cmd.Flags().StringVar(&key, "key", "", "idempotency `KEY`; repeating the command with the same key adds nothing")
	return cmd
}

func (a *app) updateCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "update WEBHOOK",
		Short: "Change a webhook",
		Long: `Change what the flags name, and keep the rest. An empty value removes a member: --agents ''
reports the runs of all agents again.`,
		Example: `  dormouse webhooks update wh_4v5k7q2m --on suspended,decided
  dormouse webhooks update wh_4v5k7q2m --address https://pager.example.com/v2 --secret WEBHOOK_PAGER_2`,
		Args: cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := t.change(cmd.Flags())
			if err != nil {
				return err
			}
			c, err := a.Connect()
			if err != nil {
				return err
			}
			hook, err := c.ChangeWebhook(cmd.Context(), args[0], change)
			return a.printWebhook(hook, err)
		},
	}
	t.add(cmd.Flags())
	cmd.Flags().StringVar(&t.url, "address", "", "the `URL` that gets the requests")
	return cmd
}

// change has the members whose flags were set.
func (t *target) change(flags *pflag.FlagSet) (c wire.WebhookChange, err error) {
	set := 0
	for name, take := range map[string]func(){
		"name": func() { c.Name = &t.name }, "on": func() { c.On = &t.on }, "agents": func() { c.Agents = &t.agents }, "mail": func() { c.Mail = &t.mail },
		"format": func() { c.Format = &t.format }, "secret": func() { c.Secret = &t.secret }, "allow-private": func() { c.AllowPrivate = &t.private },
		"address":  func() { c.URL = &t.url },
		"template": func() { c.Template, err = cmdline.JsonOrFile("--template", t.template) },
	} {
		if flags.Changed(name) {
			take()
			set++
		}
	}
	if set == 0 {
		return c, cmdline.Usagef("nothing is to be changed; set at least one flag, such as --on")
	}
	return c, err
}

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List webhooks",
		Example: "  dormouse webhooks list",
		Args:    cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			all, err := c.Webhooks(cmd.Context())
			if err != nil {
				return err
			}
			return a.printWebhooks(wire.Page[wire.Webhook]{Items: all})
		},
	}
}

func (a *app) printWebhooks(page wire.Page[wire.Webhook]) error {
	if a.JSON {
		return a.PrintJSON(page)
	}
	if len(page.Items) == 0 {
		return a.Printf("no webhooks\n")
	}
	rows := [][]string{{"WEBHOOK", "NAME", "ON", "TO", "AGENTS", "STATE"}}
	for _, w := range page.Items {
		state := stateOf(w)
		if len(w.Warnings) > 0 {
			state = "unreadable"
		}
		rows = append(rows, []string{w.ID, cmp.Or(w.Name, "-"), strings.Join(w.On, ","), display.OneLine(destination(w)), display.OneLine(cmp.Or(strings.Join(w.Agents, ","), "all")), state})
	}
	return a.List(rows, 3, 4)
}

func destination(w wire.Webhook) string { return cmp.Or(w.URL, strings.Join(w.Mail, ",")) }

func stateOf(w wire.Webhook) string {
	if w.Disabled != nil {
		return "disabled"
	}
	return "enabled"
}

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show WEBHOOK",
		Short:   "Show a webhook",
		Example: "  dormouse webhooks show wh_4v5k7q2m",
		Args:    cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			hook, err := c.Webhook(cmd.Context(), args[0])
			return a.printWebhook(hook, err)
		},
	}
}

func (a *app) printWebhook(w wire.Webhook, err error) error {
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(w)
	}
	for _, why := range w.Warnings {
		a.Warn("", why)
	}
	rows := [][]string{{"webhook", w.ID}, {"name", cmp.Or(w.Name, "-")}, {"to", display.OneLine(destination(w))}, {"on", strings.Join(w.On, ", ")},
		{"agents", display.OneLine(cmp.Or(strings.Join(w.Agents, ", "), "all"))}}
	for _, row := range [][]string{{"format", w.Format}, {"template", display.OneLine(string(w.Template))}, {"secret", w.Secret}} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}
	if w.AllowPrivate {
		rows = append(rows, []string{"private", "allowed"})
	}
	rows = append(rows, []string{"revision", strconv.FormatInt(w.Revision, 10)}, []string{"added", by(w.CreatedAt, w.CreatedBy)})
	if w.ChangedAt != nil {
		rows = append(rows, []string{"changed", by(*w.ChangedAt, w.ChangedBy)})
	}
	if d := w.Disabled; d != nil {
		rows = append(rows, []string{"disabled", by(d.At, d.By) + ": " + display.OneLine(d.Reason)}, []string{"enable", a.Command("webhooks enable " + w.ID)})
	} else {
		rows = append(rows, []string{"test", a.Command("webhooks test " + w.ID)})
	}
	return a.Table(rows)
}

// by is when something was done, and by whom if callers have names.
func by(at wire.Time, who string) string {
	if who == "" {
		return display.Clock(at)
	}
	return display.Clock(at) + " by " + display.OneLine(who)
}

func (a *app) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "remove WEBHOOK",
		Short:   "Remove a webhook",
		Long:    "Remove a webhook. Notices that it hasn't received become dead deliveries.",
		Example: "  dormouse webhooks remove wh_4v5k7q2m",
		Args:    cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			return a.printDone("removed", args[0], c.RemoveWebhook(cmd.Context(), args[0]))
		},
	}
}

// printDone says that something was done, in one word.
func (a *app) printDone(word, id string, err error) error {
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(map[string]string{word: id})
	}
	return a.Printf("%s: %s\n", word, id)
}

func (a *app) testCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "test WEBHOOK",
		Short:   "Send a test notice",
		Long:    "Send one signed notice of the type test, and print what the endpoint answered. The exit code is 1\nif the endpoint didn't accept it.",
		Example: "  dormouse webhooks test wh_4v5k7q2m",
		Args:    cmdline.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Connect()
			if err != nil {
				return err
			}
			result, err := c.TestWebhook(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printTest(args[0], result)
		},
	}
}

func (a *app) printTest(id string, r wire.WebhookTest) (err error) {
	if a.JSON {
		err = a.PrintJSON(r)
	} else if r.Delivered {
		err = a.Printf("delivered to %s: status %d after %d ms\n", id, r.Status, r.DurationMS)
	}
	if err == nil && !r.Delivered {
		err = cmdline.Fail(cmdline.ExitFailed, "not_delivered", fmt.Sprintf("the endpoint didn't accept the test notice: %s", display.OneLine(r.Error)))
	}
	return err
}
