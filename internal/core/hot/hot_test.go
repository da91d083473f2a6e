package hot_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/hot"
)

// TestHotMembersAreMembersOfAHead: a member that was renamed in the head alone would be stored
// twice, and read from the wrong place.
func TestHotMembersAreMembersOfAHead(t *testing.T) {
	head := jsonNames(reflect.TypeFor[core.Head]())
	for name := range jsonNames(reflect.TypeFor[hot.Members]()) {
		if !head[name] {
			t.Errorf("a head has no member %q", name)
		}
	}
}

// jsonNames are the names that a struct and those embedded in it have in JSON.
func jsonNames(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && !f.Anonymous {
			names[name] = true
		}
	}
	return names
}

func TestWhatIsHotIsNotInTheRest(t *testing.T) {
	type stored struct{ core.Head }
	rest := struct {
		stored
		hot.Members
	}{stored: stored{core.Head{Identity: core.Identity{Tenant: "acme", Thread: "thr_a", Idem: "d"}, Inbox: map[string]core.Signal{"k": {}}}}}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(core.Encode(rest), &members); err != nil {
		t.Fatal(err)
	}
	if string(members["idem"]) != `"d"` {
		t.Errorf("the rest lacks what is not hot: %v", members)
	}
	for name := range jsonNames(reflect.TypeFor[hot.Members]()) {
		if _, there := members[name]; there {
			t.Errorf("%q is in the rest", name)
		}
	}
}
