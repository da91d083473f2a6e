package awsenv_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

func TestARunThatACallerStartsIsCountedOnce(t *testing.T) {
	var out bytes.Buffer
	one, other := pairInto(t, &out)
	deploy(t, one)
	caller := frontend.Caller{Tenant: "acme", By: "test"}
	for range 2 { // the second is the answer to the first
		for _, f := range []*frontend.Frontend{one.Frontend, other.Frontend} {
			_, err := f.Start(t.Context(), caller, "k", wire.StartRequest{Agent: "desk", Input: core.Encode("go")})
			must(t, err)
		}
	}
	if n := strings.Count(out.String(), `"RunsStarted":1`); n != 1 {
		t.Errorf("counted %d times, want once:\n%s", n, out.String())
	}
}
