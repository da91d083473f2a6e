package bounds

import (
	"strconv"
	"testing"
	"time"
)

func TestATicketIsUsedOnceAndForgottenWhenItExpires(t *testing.T) {
	now := time.Unix(1000, 0)
	u := NewTickets(func() time.Time { return now })
	use := func(id string) bool {
		first, err := u.Use(t.Context(), id, now.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return first
	}
	if !use("a") || use("a") || !use("b") || use("a") {
		t.Error("a ticket can be used more than once, or not at all")
	}
	for i := range 1000 {
		use(strconv.Itoa(i))
	}
	now = now.Add(2 * time.Minute)
	use("c")
	if len(u.until) != 1 {
		t.Errorf("%d tickets are remembered", len(u.until))
	}
}
