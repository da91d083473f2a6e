package access_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

var someTicket = access.Ticket{Tenant: "acme", Name: "ann", Fingerprint: "f00", Roles: []access.Role{access.Read}, Run: "run_a_0", Expires: noon.Add(time.Minute)}

func TestATicketIsReadAsItWasSignedUntilItExpires(t *testing.T) {
	signed := access.LinkKeys{oldKey}.SignTicket(someTicket)
	for name, keys := range map[string]access.LinkKeys{"the same key": {oldKey}, "a newer key beside it": {newKey, oldKey}} {
		got, err := keys.OpenTicket(signed, noon)
		if err != nil || got.Tenant != "acme" || got.Name != "ann" || got.Fingerprint != "f00" || got.Run != "run_a_0" || !slices.Equal(got.Roles, someTicket.Roles) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if p := got.Principal(); !p.May(access.Read) || p.May(access.Decide, access.Start, access.Admin) || p.Tenant != "acme" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if _, err := (access.LinkKeys{oldKey}).OpenTicket(signed, someTicket.Expires); !errors.Is(err, access.ErrExpiredLink) {
		t.Errorf("at its end: %v", err)
	}
	if _, err := (access.LinkKeys{newKey}).OpenTicket(signed, noon); !errors.Is(err, access.ErrBadLink) {
		t.Errorf("its key was taken away: %v", err)
	}
}

// Both are signed with the same keys and have as many fields: what tells them apart is the first
// word.
func TestALinkIsNoTicketAndATicketNoLink(t *testing.T) {
	keys := access.LinkKeys{oldKey}
	if _, err := keys.OpenTicket(keys.Sign(someLink), noon); !errors.Is(err, access.ErrBadLink) {
		t.Errorf("a link as a ticket: %v", err)
	}
	if _, err := keys.Open(keys.SignTicket(someTicket), noon); !errors.Is(err, access.ErrBadLink) {
		t.Errorf("a ticket as a link: %v", err)
	}
}

// What a ticket of the earlier version's function opens during a rollout.
func TestATicketOfTheEarlierFormIsRead(t *testing.T) {
	once := someTicket
	once.ID, once.Query = "abc", "follow=true&view=x"
	keys := access.LinkKeys{oldKey}
	if got, err := keys.OpenTicket(keys.SignTicket(once), noon); err != nil || got.ID != "abc" || got.Query != once.Query || got.Run != "run_a_0" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := keys.OpenTicket(keys.SignTicket(someTicket), noon); err != nil || got.ID != "" || got.Query != "" || got.Run != "run_a_0" {
		t.Errorf("%+v, %v", got, err)
	}
}
