package agent

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
)

// NoPolicy is the [PolicyDigest] of no policy.
const NoPolicy = "none"

// PolicyDigest identifies the rules over all agents and who decides about asks, so that people can
// tell whether servers and functions apply the same ones. It depends on what a policy file means,
// not on how it is written, and doesn't show its content.
func PolicyDigest(over *Permissions, asking ask.Policies) string {
	if over == nil {
		return NoPolicy
	}
	rules := core.Encode(struct {
		Over   *Permissions `json:"over"`
		Asking ask.Policies `json:"asking"`
	}{over, asking})
	return "sha256:" + core.Digest(rules)[:16]
}
