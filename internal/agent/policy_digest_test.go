package agent_test

import (
	"regexp"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
)

func TestTheDigestOfAPolicyDependsOnWhatItMeans(t *testing.T) {
	digest := func(text string) string {
		t.Helper()
		over, err := agentfile.ParsePolicy("policy.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		asking, err := agentfile.ParseAsking("policy.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return agent.PolicyDigest(&over, asking)
	}
	plain := digest("deny: [pay]\n")
	if !regexp.MustCompile(`^sha256:[0-9a-f]{16}$`).MatchString(plain) {
		t.Errorf("its form: %q", plain)
	}
	if other := digest("# no payments\ndeny:\n  - pay\n"); other != plain {
		t.Errorf("the same policy, written differently: %s and %s", plain, other)
	}
	for _, other := range []string{"deny: [refund]\n", "block: [pay]\n", "deny: [pay]\ngroups: {ops: [token:anna]}\n"} {
		if digest(other) == plain {
			t.Errorf("%q has the digest of another policy", other)
		}
	}
	if none := agent.PolicyDigest(nil, ask.Policies{}); none != agent.NoPolicy {
		t.Errorf("no policy: %s", none)
	}
}
