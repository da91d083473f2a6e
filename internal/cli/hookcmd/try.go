package hookcmd

import (
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
)

// tried is what a delivery would do.
type tried struct {
	Ignored  string               `json:"ignored,omitempty"`
	Answer   *wire.HookAnswer     `json:"answer,omitempty"`
	Event    string               `json:"event,omitempty"`
	By       string               `json:"by,omitempty"`
	Start    *wire.StartRequest   `json:"start,omitempty"`
	Thread   string               `json:"thread,omitempty"`
	Key      string               `json:"thread_key,omitempty"`
	Message  *wire.MessageRequest `json:"message,omitempty"`
	Decision *wire.Decision       `json:"decision,omitempty"`
}

func (a *app) tryCommand() *cobra.Command {
	var body string
	var headers []string
	cmd := &cobra.Command{
		Use:   "try NAME",
		Short: "Show what a hook would do with a body",
		Long: `Show what a hook would do with the body of a delivery. It needs no server, doesn't check
the signature and has no effect. --body - reads standard input. The output is the request
that the server would make, as JSON.`,
		Example: `  dormouse hooks try github-issues --body issue.json
  dormouse hooks try orders --body order.json --header 'Webhook-Id: msg_1'`,
		Args: cmdline.Takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			hook, err := a.named(args[0])
			if err != nil {
				return err
			}
			raw, err := a.read(body)
			if err != nil {
				return err
			}
			header, err := readHeaders(headers)
			if err != nil {
				return err
			}
			would, err := try(hook, raw, header)
			if err != nil {
				return cmdline.Fail(cmdline.ExitFailed, "hook_mismatch", err.Error())
			}
			return a.printTried(would)
		},
	}
	cmd.Flags().StringVar(&body, "body", "", "`FILE` with the body of the delivery, or - for standard input (required)")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "a `NAME: VALUE` of the delivery; repeatable")
	return cmd
}

func (a *app) printTried(would tried) error {
	if a.JSON {
		return a.PrintJSON(would)
	}
	switch {
	case would.Ignored != "":
		return a.Printf("ignored: %s\n", would.Ignored)
	case would.Answer != nil:
		return a.Printf("answers the sender's check of the address\n")
	}
	return a.Print(strings.Join(display.CleanJSONLines(core.Encode(would)), "\n") + "\n")
}

func (a *app) named(name string) (hookfile.Hook, error) {
	files, err := a.load()
	if err != nil {
		return hookfile.Hook{}, err
	}
	i := slices.IndexFunc(files, func(f hookfile.File) bool { return f.Name == name })
	if i < 0 {
		return hookfile.Hook{}, cmdline.Usagef("there is no hook %s; list them with: dormouse hooks list", name)
	}
	if files[i].Err != nil {
		return hookfile.Hook{}, cmdline.Fail(cmdline.ExitFailed, "invalid_files", files[i].Err.Error())
	}
	return files[i].Hook, nil
}

func (a *app) read(file string) (raw []byte, err error) {
	switch file {
	case "":
		return nil, cmdline.Usagef("--body is missing; give the file with the body of the delivery")
	case "-":
		raw, err = io.ReadAll(a.Stdin)
	default:
		raw, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, cmdline.Usagef("cannot read the body: %v", err)
	}
	return raw, nil
}

func readHeaders(lines []string) (http.Header, error) {
	h := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, cmdline.Usagef("--header %q has no colon; write it as NAME: VALUE", line)
		}
		h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return h, nil
}

// try maps a delivery as the server does, without the signature.
func try(h hookfile.Hook, raw []byte, header http.Header) (tried, error) {
	body, err := hookfile.ReadBody(raw)
	if err != nil {
		return tried{}, err
	}
	if answer, is := h.Verify.Challenge(body); is {
		return tried{Answer: &answer}, nil
	}
	if unmet, ok := body.Unmet(h.When); !ok {
		return tried{Ignored: "the condition on " + unmet.Argument + " doesn't hold"}, nil
	}
	act, err := h.Map(hookfile.Delivery{Name: signature.Name(h.Verify.Scheme, header.Get, raw), Header: header.Get, Body: body})
	if err != nil {
		return tried{}, err
	}
	would := tried{Event: act.ID, By: h.Principal(act.By), Start: act.Start, Decision: act.Decision}
	if m := act.Message; m != nil {
		would.Thread, would.Key, would.Message = m.Thread, m.ThreadKey, &m.Request
	}
	return would, nil
}
