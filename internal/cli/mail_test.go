package cli

import (
	"strings"
	"testing"
)

func TestMailNeedsAServerAndAnAddress(t *testing.T) {
	for _, tt := range []struct {
		flags mailFlags
		wrong string
	}{
		{mailFlags{}, ""},
		{mailFlags{"smtp://mail.example.com", "Desk <desk@example.com>"}, ""},
		{mailFlags{"smtp://mail.example.com", ""}, "--mail-from"},
		{mailFlags{"", "desk@example.com"}, "--smtp"},
		{mailFlags{"mail.example.com", "desk@example.com"}, "--smtp: write the mail server as"},
		{mailFlags{"smtp://a:hush@mail.example.com", "desk@example.com"}, "SMTP_PASSWORD"},
		{mailFlags{"smtp://mail.example.com", "desk"}, `"desk" is not an address`},
	} {
		m, err := tt.flags.read()
		switch {
		case tt.wrong == "":
			if err != nil || (m.From.Address != "") != (tt.flags.from != "") {
				t.Errorf("%+v: %+v, %v", tt.flags, m, err)
			}
		case err == nil || !strings.Contains(err.Error(), tt.wrong) || strings.Contains(err.Error(), "hush"):
			t.Errorf("%+v: %v, want %q", tt.flags, err, tt.wrong)
		}
	}
}
