package vote_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// A token and a sign-in of the same name may be one person's, so they never count as two people.
func TestATokenAndASignInOfOneNameAreOnePerson(t *testing.T) {
	if vote.Key("token:anna") != vote.Key("person:anna") {
		t.Error("one person has two votes")
	}
	for _, other := range []string{"token:ben", "link:anna", "hook:person/anna", "anna"} {
		if vote.Key("token:anna") == vote.Key(other) {
			t.Errorf("token:anna and %s have one vote", other)
		}
	}
	for name, c := range map[string]struct {
		members []vote.Member
		size    int
	}{
		"two entries of one name": {[]vote.Member{{Is: []string{"token:anna"}}, {Is: []string{"person:anna"}}}, 1},
		"an entry and a person":   {[]vote.Member{{Person: "anna", Is: []string{"link:anna@example.com"}}, {Is: []string{"token:anna"}}}, 1},
		"two people":              {[]vote.Member{{Is: []string{"token:anna"}}, {Is: []string{"token:ben"}}}, 2},
	} {
		if size, known := (vote.Group{Members: c.members}).Size(); size != c.size || !known {
			t.Errorf("%s: %d people, %v; want %d", name, size, known, c.size)
		}
	}
}
