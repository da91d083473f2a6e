package access_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

func TestKeysAreFetchedWhenTheyAreTooOldAndNotBefore(t *testing.T) {
	now, fetched := noon, 0
	var lost error
	ring := access.NewRing(func(context.Context) (access.LinkKeys, error) {
		fetched++
		return access.LinkKeys{{byte(fetched)}}, lost
	}, func() time.Time { return now })
	ask := func(age time.Duration, want int) {
		t.Helper()
		keys, err := ring.Keys(t.Context(), age)
		if err != nil || len(keys) != 1 || int(keys[0][0]) != want {
			t.Errorf("got %v, %v, want those of fetch %d", keys, err, want)
		}
	}
	ask(time.Minute, 1)
	now = now.Add(10 * time.Second)
	ask(time.Minute, 1)
	ask(5*time.Second, 2)
	ask(5*time.Second, 2)
	now, lost = now.Add(2*time.Minute), errors.New("the table is not there")
	if keys, err := ring.Keys(t.Context(), time.Minute); !errors.Is(err, lost) || keys != nil {
		t.Errorf("old keys stand in: %v, %v", keys, err)
	}
	lost = nil
	ask(time.Minute, 4)
}
