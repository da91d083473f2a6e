package cmdline

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The server cuts what is above its limits without a word, so that the verbs must know them.
func TestLimitsOfPagesAreThoseOfTheServer(t *testing.T) {
	raw, err := os.ReadFile("../../api/httpapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]struct {
			Get struct {
				Parameters []struct{ Name, Description string }
			}
		}
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	for path, most := range map[string]int{"/v1/runs": MostRuns, "/v1/approvals": MostApprovals, "/v1/decisions": MostDecisions} {
		found := false
		for _, p := range document.Paths[path].Get.Parameters {
			found = found || p.Name == "limit" && strings.HasSuffix(p.Description, fmt.Sprintf("Values above %[1]d count as %[1]d.", most))
		}
		if !found {
			t.Errorf("the most of a page of %s is not %d: %+v", path, most, document.Paths[path].Get.Parameters)
		}
	}
}
