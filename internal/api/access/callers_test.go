package access_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

func TestCallersAreListedByNameOrByRole(t *testing.T) {
	decider := []access.Role{access.Decide}
	for _, tt := range []struct {
		entry, by string
		roles     []access.Role
		want      bool
	}{
		{"token:anna", "token:anna", nil, true},
		{"token:anna", "token:annabel", nil, false},
		{"token:an*", "token:annabel", nil, true},
		{"link:*@example.com", "link:anna@example.com", nil, true},
		{"link:*@example.com", "link:anna@example.com.evil.test", nil, false},
		{"link:*@example.com", "token:anna@example.com", nil, false},
		{"token:a*b*c", "token:a-b-c", nil, true},
		{"token:a*b*c", "token:a-c", nil, false},
		{"token:a*a", "token:a", nil, false}, // the same letter doesn't count twice
		{"*", "token:anna", nil, true},
		{"*", "", nil, false},
		{"role:decide", "token:anna", decider, true},
		{"role:decide", "", decider, true},
		{"role:decide", "role:decide", nil, false},
		{"role:decide", "token:root", []access.Role{access.Admin}, false},
		{"role:*", "token:anna", decider, false},
	} {
		if got := access.Listed([]string{"token:other", tt.entry}, tt.by, tt.roles); got != tt.want {
			t.Errorf("%s lists %q with %v: %v", tt.entry, tt.by, tt.roles, got)
		}
	}
	if access.Listed(nil, "token:anna", decider) {
		t.Error("an empty list lists a caller")
	}
}
