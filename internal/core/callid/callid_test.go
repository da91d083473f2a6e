package callid_test

import (
	"reflect"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core/callid"
)

func TestARepeatedIDGetsTheNextFreeSuffix(t *testing.T) {
	used := callid.Used{Before: func(id string) bool { return id == "b" }}
	var got []string
	for _, id := range []string{"a", "a", "a_2", "a", "", "", "b"} {
		got = append(got, used.Unique(id))
	}
	if want := []string{"a", "a_2", "a_2_2", "a_3", "call", "call_2", "b_2"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
