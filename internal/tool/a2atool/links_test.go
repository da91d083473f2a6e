package a2atool

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/dormouse-dev/dormouse"
	sdk    = "github.com/a2aproject/a2a-go/v2"
)

// TestNoProgramLinksGRPC: the SDK also has a gRPC binding, which isn't used, and a function loads
// what it links at every cold start.
func TestNoProgramLinksGRPC(t *testing.T) {
	linkNone(t, []string{"/internal/tool/a2atool", "/cmd/dormouse", "/functions/...", "/command"},
		"google.golang.org/grpc", "google.golang.org/protobuf", "google.golang.org/genproto", sdk+"/a2agrpc", sdk+"/a2apb", sdk+"/a2acompat")
}

// TestOnlyTheAPILinksTheServer: agents are served where the API is.
func TestOnlyTheAPILinksTheServer(t *testing.T) {
	linkNone(t, []string{"/internal/tool/a2atool", "/functions/step", "/functions/notify", "/functions/sweep"}, sdk+"/a2asrv")
}

// linkNone demands that these packages link the SDK's client, and nothing of not.
func linkNone(t *testing.T, packages []string, not ...string) {
	t.Helper()
	args := []string{"list", "-deps"}
	for _, p := range packages {
		args = append(args, module+p)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, sdk+"/a2aclient") {
		t.Fatal("the list of packages has no A2A client")
	}
	for _, pkg := range linked {
		for _, prefix := range not {
			if pkg == prefix || strings.HasPrefix(pkg, prefix+"/") {
				t.Errorf("%s is linked", pkg)
			}
		}
	}
}
