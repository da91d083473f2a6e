package a2atool

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNoProgramLinksGRPC: the SDK also has a gRPC binding and a server. Neither is used, and a
// function loads what it links at every cold start.
func TestNoProgramLinksGRPC(t *testing.T) {
	const module, sdk = "github.com/dormouse-dev/dormouse", "github.com/a2aproject/a2a-go/v2"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"/internal/tool/a2atool", module+"/cmd/dormouse", module+"/functions/...", module+"/command").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, sdk+"/a2aclient") {
		t.Fatal("the list of packages has no A2A client")
	}
	for _, pkg := range linked {
		for _, not := range []string{"google.golang.org/grpc", "google.golang.org/protobuf", "google.golang.org/genproto", sdk + "/a2agrpc", sdk + "/a2apb", sdk + "/a2asrv", sdk + "/a2acompat"} {
			if pkg == not || strings.HasPrefix(pkg, not+"/") {
				t.Errorf("%s is linked", pkg)
			}
		}
	}
}
