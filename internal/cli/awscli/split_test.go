package awscli

import (
	"os/exec"
	"strings"
	"testing"
)

const sdk = "github.com/aws/"

func TestOnlyTheBuildWithAWSLinksItsSDK(t *testing.T) {
	for _, tags := range []string{"", "noaws"} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags, "../../../cmd/dormouse").Output()
		if err != nil {
			t.Fatalf("go list -tags %q: %v", tags, err)
		}
		if links := strings.Contains(string(out), sdk); links != (tags == "") {
			t.Errorf("built with -tags %q, the program links %s: %v", tags, sdk, links)
		}
	}
}
