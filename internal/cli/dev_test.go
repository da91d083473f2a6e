package cli

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/local"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestDevNamesTheAddressThatWasAskedFor(t *testing.T) {
	for asked, tt := range map[string]struct{ listens, line, url string }{
		"127.0.0.1:8420":    {"127.0.0.1:8420", "at http://127.0.0.1:8420, data", `"url":"http://127.0.0.1:8420"`},
		"127.0.0.1:0":       {"127.0.0.1:40123", "at http://127.0.0.1:40123, data", `"url":"http://127.0.0.1:40123"`},
		"localhost:0":       {"127.0.0.1:40123", "at http://localhost:40123, data", `"url":"http://127.0.0.1:40123"`},
		"0.0.0.0:18437":     {"[::]:18437", "at http://0.0.0.0:18437, data", `"url":"http://127.0.0.1:18437"`},
		":18437":            {"[::]:18437", "at http://0.0.0.0:18437, data", `"url":"http://127.0.0.1:18437"`},
		"[::]:0":            {"[::]:18437", "at http://[::]:18437, data", `"url":"http://127.0.0.1:18437"`},
		"[fd00::1]:http":    {"[fd00::1]:80", "at http://[fd00::1]:80, data", `"url":"http://[fd00::1]:80"`},
		"10.1.2.3:00008420": {"10.1.2.3:8420", "at http://10.1.2.3:8420, data", `"url":"http://10.1.2.3:8420"`},
	} {
		for _, asJSON := range []bool{false, true} {
			var out strings.Builder
			a := &app{&cmdline.App{Stdout: &out, JSON: asJSON}}
			if err := a.announce(tt.listens, nil, nil, local.Options{Addr: asked, Agents: "agents", Data: "data"}, "the agents of agents"); err != nil {
				t.Fatal(err)
			}
			want := map[bool]string{false: tt.line, true: tt.url}[asJSON]
			if !strings.Contains(out.String(), want) {
				t.Errorf("asked for %s: %s, want %s", asked, out.String(), want)
			}
		}
	}
}
