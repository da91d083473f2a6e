package cli

import (
	"net/mail"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/notify/smtp"
)

// mailFlags say how notices are sent as mail.
type mailFlags struct{ server, from string }

func (f *mailFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.server, "smtp", "", "mail server for notices, as `URL`: smtp://user@mail.example.com:587 (STARTTLS) or smtps://user@mail.example.com:465; "+
		"the secret "+smtp.PasswordSecret+" has the user's password")
	cmd.Flags().StringVar(&f.from, "mail-from", "", "the `ADDRESS` that sends these mails, such as 'Refund desk <desk@example.com>'")
}

func (f *mailFlags) read() (m local.Mail, err error) {
	switch {
	case f.server == "" && f.from == "":
		return m, nil
	case f.server == "":
		return m, cmdline.Usagef("--mail-from needs --smtp, the server that sends the mails")
	case f.from == "":
		return m, cmdline.Usagef("--smtp needs --mail-from, the address that sends the mails")
	}
	if m.Server, err = smtp.ParseServer(f.server); err != nil {
		return m, cmdline.Usagef("--smtp: %v", err)
	}
	from, err := mail.ParseAddress(f.from)
	if err != nil {
		return m, cmdline.Usagef("--mail-from: %q is not an address; write it as desk@example.com or 'Refund desk <desk@example.com>'", f.from)
	}
	m.From = *from
	return m, nil
}
