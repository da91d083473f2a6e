package cli_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

const goodToken = "dmt_Zm9vYmFy"

// sentTokens is a server that notes the Authorization of each request.
func sentTokens(t *testing.T) (s *server, sent *[]string) {
	t.Helper()
	sent = new([]string)
	return newServer(t, map[string]http.HandlerFunc{"GET /v1/runs": func(w http.ResponseWriter, r *http.Request) {
		*sent = append(*sent, r.Header.Get("Authorization"))
		answer(200, wire.Page[wire.Run]{Items: []wire.Run{}})(w, r)
	}}), sent
}

func TestWhatIsNoTokenIsRefusedBeforeItIsSent(t *testing.T) {
	const grant = "ci default start,read sha256:00ff\n"
	for name, tt := range map[string]struct {
		env, file string
		wants     []string
	}{
		"the server's file":           {"", "# ours\n" + grant + grant, []string{"does not hold one token (it has 3 lines; is it the server's file of tokens?)"}},
		"the server's file of one":    {"", grant, []string{"does not hold one token", "is it the server's file of tokens?"}},
		"an empty file":               {"", "", []string{"is empty; write into it what dormouse tokens add printed"}},
		"a blank file":                {"", " \r\n\n", []string{"is empty"}},
		"a variable of two lines":     {"secret1\nsecret2", "", []string{"$DORMOUSE_TOKEN does not hold one token (it has 2 lines"}},
		"a variable with a blank":     {"secret1 secret2", "", []string{"$DORMOUSE_TOKEN does not hold one token"}},
		"a variable with an escape":   {"secret1\x1b[1m", "", []string{"$DORMOUSE_TOKEN does not hold one token"}},
		"a variable that is no ASCII": {"secret1\u00e9", "", []string{"$DORMOUSE_TOKEN does not hold one token"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, sent := sentTokens(t)
			args, wants := []string{"runs"}, tt.wants
			if tt.env == "" {
				file := filepath.Join(t.TempDir(), "x.token")
				if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
				args, wants = append(args, "--token-file", file), append(wants, file)
			}
			out := dormouseWith(t, s, "", map[string]string{"DORMOUSE_TOKEN": tt.env}, args...)
			out.wantExit(t, cli.ExitUsage)
			contains(t, out.stderr, wants...)
			if strings.Contains(out.stderr, "secret") || strings.Contains(out.stderr, "sha256:") || len(*sent) > 0 {
				t.Errorf("sent %q, and said %s", *sent, out.stderr)
			}
		})
	}
}

func TestBlanksAroundATokenAreNotSent(t *testing.T) {
	s, sent := sentTokens(t)
	file := filepath.Join(t.TempDir(), "x.token")
	if err := os.WriteFile(file, []byte(goodToken+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dormouseWith(t, s, "", map[string]string{"DORMOUSE_TOKEN": " " + goodToken + "\n"}, "runs").wantExit(t, cli.ExitOK)
	dormouseWith(t, s, "", nil, "runs", "--token-file", file).wantExit(t, cli.ExitOK)
	dormouseWith(t, s, "", map[string]string{"DORMOUSE_TOKEN": "\n"}, "runs").wantExit(t, cli.ExitOK)
	if got := strings.Join(*sent, "|"); got != "Bearer "+goodToken+"|Bearer "+goodToken+"|" {
		t.Errorf("sent %s", got)
	}
}
