package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

const insideAgent = `
model: {provider: scripted, turns: [{say: hi}]}
tools:
  - {name: ask, http: {url: "http://localhost:9000/", allow_private: true}, parameters: {type: object}}
`

func TestDevIsToldWhichPrivateHostsToolsMayReach(t *testing.T) {
	out := dormouse(t, nil, "dev", "--data", t.TempDir(), "--allow-private-hosts", "10.0.0.0/8,http://localhost")
	out.wantExit(t, cmdline.ExitUsage)
	contains(t, out.stderr, `--allow-private-hosts: "http://localhost" is not a host; use a name, an address or a network`)

	agents := t.TempDir()
	if err := os.WriteFile(filepath.Join(agents, "inside.yaml"), []byte(insideAgent), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, allowed := range []string{"localhost:9001", "10.0.0.1:9001"} {
		out = dormouse(t, nil, "dev", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--agents", agents, "--strict", "--allow-private-hosts", allowed)
		out.wantExit(t, cmdline.ExitFailed)
		contains(t, out.stderr, "tool ask sets allow_private, but the operator does not allow localhost:9000", "--allow-private-hosts localhost:9000")
	}
}
