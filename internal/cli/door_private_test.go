package cli

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// TestBehindAGatewayOfAWSNoTokenIsMadeByThisProgram: the functions behind it may refuse with the
// same codes as a server of one's own.
func TestBehindAGatewayOfAWSNoTokenIsMadeByThisProgram(t *testing.T) {
	for _, tt := range []struct {
		url, code string
		status    int
		token     string
		says      string
		add       bool // tokens add is named
	}{
		{"https://abc.execute-api.eu-central-1.amazonaws.com", "unauthorized", 401, "t", "the token has expired, or has another issuer", false},
		{"https://abc.execute-api.eu-central-1.amazonaws.com/prod", "unauthorized", 401, "", "a token from the issuer that this server trusts", false},
		{"https://abc.execute-api.eu-central-1.amazonaws.com", "role_required", 403, "t", "from the issuer that the stack trusts", false},
		{"https://abc.execute-api.eu-central-1.amazonaws.com", "", 401, "t", "the token has expired, or has another issuer", false},
		{"https://abc.execute-api.eu-central-1.amazonaws.com", "", 403, "", "add --aws-iam", false},
		{"https://dormouse.example.com", "", 401, "t", "the token has expired, or has another issuer", false},
		{"https://dormouse.example.com", "unauthorized", 401, "t", "set $DORMOUSE_TOKEN or --token-file", true},
		{"https://dormouse.example.com", "role_required", 403, "t", "use a token with this role", true},
	} {
		a := &app{&cmdline.App{Opts: cmdline.Options{Getenv: func(name string) string { return map[string]string{"DORMOUSE_TOKEN": tt.token}[name] }}}}
		a.root()
		a.URL = tt.url // the flags begin with their defaults
		got := a.Refused(&client.Error{Status: tt.status, Code: tt.code, Title: "x"}).Detail
		if !strings.Contains(got, tt.says) || strings.Contains(got, "tokens add") != tt.add {
			t.Errorf("%s %d %s: %s", tt.url, tt.status, tt.code, got)
		}
	}
}

func TestAnAddressElsewhereThatDoesNotAnswerIsDoubted(t *testing.T) {
	lookup := &url.Error{Op: "Get", URL: "https://desk.example.com/v1/runs", Err: errors.New("dial tcp: no such\nhost")}
	for err, says := range map[error]string{
		fmt.Errorf("client: %w", lookup):              "check the server URL and the network (dial tcp: no such host)",
		fmt.Errorf("client: %w", io.ErrUnexpectedEOF): "check the server URL and the network",
	} {
		a := &app{&cmdline.App{Started: true, URL: "https://anna:secret@desk.example.com", Opts: cmdline.Options{Getenv: func(string) string { return "" }}}}
		got := a.Failure(err)
		if want := "no server answers at https://desk.example.com; " + says; got.Exit != cmdline.ExitUnreachable || got.Detail != want {
			t.Errorf("exit %d: %s\nwant %s", got.Exit, got.Detail, want)
		}
	}
}
