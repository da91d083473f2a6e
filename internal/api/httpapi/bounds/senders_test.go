package bounds

import (
	"strconv"
	"testing"
	"time"
)

func TestEachAddressHasARateOfItsOwn(t *testing.T) {
	s, now := NewSenders(), time.Unix(1, 0)
	taken := 0
	for range 1000 {
		if s.Take("a", now) == 0 {
			taken++
		}
	}
	if taken != sentAtOnce {
		t.Errorf("%d at once", taken)
	}
	if s.Take("b", now) != 0 {
		t.Error("another address has to wait")
	}
	if wait := s.Take("a", now); wait <= 0 || wait > time.Second {
		t.Errorf("wait %v", wait)
	} else if s.Take("a", now.Add(wait)) != 0 {
		t.Error("it waited, and has to wait again")
	}
	for i := range 3 * mostSenders {
		s.Take(strconv.Itoa(i), now)
	}
	if len(s.sent) > mostSenders {
		t.Errorf("%d addresses are remembered", len(s.sent))
	}
}
