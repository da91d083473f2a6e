package access_test

import (
	"errors"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

var someProposal = access.Proposal{Tenant: "acme", By: "token:ann", Suspension: "sus_1_b", Shown: "v1:00", Digest: "d1", Expires: noon.Add(time.Minute)}

func TestAProposalIsReadAsItWasSignedUntilItExpires(t *testing.T) {
	signed := access.LinkKeys{oldKey}.SignProposal(someProposal)
	for name, keys := range map[string]access.LinkKeys{"the same key": {oldKey}, "a newer key beside it": {newKey, oldKey}} {
		got, err := keys.OpenProposal(signed, noon)
		if same := someProposal; err != nil || !got.Expires.Equal(same.Expires) {
			t.Errorf("%s: %+v, %v", name, got, err)
		} else if got.Expires = same.Expires; got != same {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := (access.LinkKeys{oldKey}).OpenProposal(signed, someProposal.Expires); !errors.Is(err, access.ErrExpiredLink) {
		t.Errorf("at its end: %v", err)
	}
	if _, err := (access.LinkKeys{newKey}).OpenProposal(signed, noon); !errors.Is(err, access.ErrBadLink) {
		t.Errorf("its key was taken away: %v", err)
	}
}

// A ticket has as many fields, and a state comes back by the same way.
func TestAProposalIsNothingElse(t *testing.T) {
	keys := access.LinkKeys{oldKey}
	proposal := keys.SignProposal(someProposal)
	state := keys.SignState(access.State{Tenant: "acme", By: "token:ann", Run: "run_a_0", Expires: noon.Add(time.Minute)})
	for name, other := range map[string]string{"a ticket": keys.SignTicket(someTicket), "a link": keys.Sign(someLink), "a state": state} {
		if _, err := keys.OpenProposal(other, noon); !errors.Is(err, access.ErrBadLink) {
			t.Errorf("%s as a proposal: %v", name, err)
		}
	}
	_, ticket := keys.OpenTicket(proposal, noon)
	_, run := keys.OpenState(proposal, noon)
	if !errors.Is(ticket, access.ErrBadLink) || !errors.Is(run, access.ErrBadLink) {
		t.Errorf("as a ticket: %v; as a state: %v", ticket, run)
	}
}
