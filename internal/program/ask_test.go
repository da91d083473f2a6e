package program

import (
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

// Asks that wait are pinned to a version: one that was released stays, under its digest.
func TestTheVersionsOfTheBuiltInAgentStay(t *testing.T) {
	var got []string
	for _, d := range asking {
		got = append(got, d.Digest())
		if _, err := agent.Decode(d.Encode()); err != nil {
			t.Error(err)
		}
	}
	want := []string{"sha256:e8dee3b23fc4b185bb4864f5586aa664a3a9a4dcb4760b46a8bbcfab293db15b"}
	if !slices.Equal(got, want) {
		t.Errorf("digests %q, want %q: add a changed version in front of the others", got, want)
	}
}
