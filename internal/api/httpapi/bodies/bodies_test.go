package bodies

import (
	"errors"
	"strings"
	"testing"
)

// While too many bytes are on their way, large bodies have to come again; small ones are taken, and
// what was counted is given back.
func TestLargeBodiesAreRefusedWhileTooManyComeAtOnce(t *testing.T) {
	small, large := `{"a":1}`, `{"a":"`+strings.Repeat("x", 2*smallBody)+`"}`
	read := func(text string) error {
		before := inFlight.Load()
		_, err := ReadAll(strings.NewReader(text))
		if now := inFlight.Load(); now != before {
			t.Errorf("%d bytes are counted, %d before", now, before)
		}
		return err
	}
	if err := errors.Join(read(small), read(large)); err != nil {
		t.Fatal(err)
	}
	inFlight.Add(allBodies)
	defer inFlight.Add(-allBodies)
	if err := read(small); err != nil {
		t.Errorf("a small body: %v", err)
	}
	if err := read(large); !errors.Is(err, errCrowded) {
		t.Errorf("a large body: %v, want it refused", err)
	}
}
