package program

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// countingDefinitions counts the versions that are read from the store.
type countingDefinitions struct {
	Definitions
	read int
}

func (c *countingDefinitions) Definition(ctx context.Context, tenant, name, digest string) (engine.Definition, error) {
	c.read++
	return c.Definitions.Definition(ctx, tenant, name, digest)
}

// Every message to a run asks for the starters, and every entry of the inbox for its tool.
func TestWhatTheAPINeedsOfAVersionIsReadOnce(t *testing.T) {
	a, pin := resolver(t, allowed+"starters: ['token:shop*']\n")
	stored := &countingDefinitions{Definitions: a.stored}
	a.stored = stored
	version := engine.Definition{Tenant: pin.Tenant, Name: pin.Name, Digest: pin.Version}
	for range 3 {
		if starters, err := a.Starters(t.Context(), version); err != nil || !slices.Equal(starters, []string{"token:shop*"}) {
			t.Fatalf("%q, %v", starters, err)
		}
		if d, err := a.Tool(t.Context(), pin.Tenant, core.Record{Agent: pin.Name, Version: pin.Version}, "pay"); err != nil || d.Description == "" {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	if stored.read != 1 {
		t.Errorf("the version was read %d times", stored.read)
	}
	version.Digest = "sha256:none"
	if _, err := a.Starters(t.Context(), version); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a version that is not there: %v", err)
	}
}
