package stackdoctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
)

// policyVariable holds a function's policy.
const policyVariable = "DORMOUSE_POLICY"

// Health asks the API how it is.
type Health interface {
	Health(ctx context.Context) (client.Health, error)
}

// Policy is what a stack should apply.
type Policy struct {
	From   string // the name of a file, or of the parameter
	Digest string
}

// ReadPolicy digests the text of a policy file. An empty text is no policy.
func ReadPolicy(from, text string) (Policy, error) {
	if text == "" {
		return Policy{from, agent.NoPolicy}, nil
	}
	over, err := agentfile.ParsePolicy(from, []byte(text))
	if err != nil {
		return Policy{}, err
	}
	asking, err := agentfile.ParseAsking(from, []byte(text))
	return Policy{from, agent.PolicyDigest(&over, asking)}, err
}

// checkHealth asks the API. The digest is that of the policy it applies; empty if unknown.
func checkHealth(ctx context.Context, from Health) (digest string, found []Finding) {
	r := results{check: "api"}
	h, err := from.Health(ctx)
	switch {
	case err != nil:
		r.fail("read the log of ApiFunction; if the API has its own domain, pass it with --url", "/healthz does not answer: %v", err)
	case h.Status != client.HealthOK:
		r.fail("read the log of ApiFunction", "/healthz says %s %s", h.Status, h.Storage)
	default:
		r.ok("/healthz says %s, version %s", h.Status, h.Version)
	}
	return h.Policy, r.found
}

// checkPolicy says which policy is in force: by the API's own words, and by the settings of each
// function that has one. want is nil if only the functions can be compared.
func checkPolicy(inForce string, functions []readFunction, want *Policy) []Finding {
	r := results{check: "policy"}
	byDigest, order := map[string][]string{}, []string{}
	add := func(digest, who string) {
		if byDigest[digest] == nil {
			order = append(order, digest)
		}
		byDigest[digest] = append(byDigest[digest], who)
	}
	if inForce != "" {
		add(inForce, "the API's /healthz")
	}
	for _, f := range functions {
		text, has := f.live.Environment[policyVariable]
		if f.err != nil || !has {
			continue
		}
		p, err := ReadPolicy(f.id, text)
		if err != nil {
			r.fail("correct Policy and deploy again", "the policy of %s is invalid: %v", f.id, err)
			continue
		}
		add(p.Digest, f.id)
	}
	const do = "deploy with Policy and another Version, as make deploy does"
	for _, digest := range order {
		who := strings.Join(byDigest[digest], ", ")
		switch {
		case want != nil && digest != want.Digest:
			r.fail(do, "%s: %s is in force, but %s has %s", who, policyName(digest), want.From, policyName(want.Digest))
		case len(order) > 1 && want == nil:
			r.fail(do, "the functions differ: %s in %s", policyName(digest), who)
		case want != nil:
			r.ok("%s is in force, which %s has: %s", policyName(digest), want.From, who)
		default:
			r.ok("%s is in force: %s", policyName(digest), who)
		}
	}
	if len(order) == 0 && len(r.found) == 0 {
		r.found = append(r.found, Finding{r.check, Unchecked, "neither /healthz nor a function's settings say which policy is in force", "correct the findings about the API and the versions first"})
	}
	return r.found
}

func policyName(digest string) string {
	if digest == agent.NoPolicy {
		return "no policy"
	}
	return fmt.Sprintf("the policy %s", digest)
}
