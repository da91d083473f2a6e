package cmdline

import (
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

func TestAQuestionSaysHowFarTheVotesAre(t *testing.T) {
	votes := wire.Votes{Stage: 2, Stages: 3, Group: "finance", Need: 2, Deny: 2, Yes: 1, No: 1, Voters: []wire.Voter{
		{By: "token:ann", Via: "api", Action: "resume", Edited: true}, {By: "token:ben", Via: "api", Action: "cancel"}}}
	facts := mayApprove(wire.Pending{Votes: &votes})
	want := []string{"1 of 2 approved, 1 denied, group finance, stage 2 of 3", callerWords("token:ann", "api") + " approved with edited arguments",
		callerWords("token:ben", "api") + " denied"}
	if len(facts) != 1 || !slices.Equal(votesIn(votes), want) {
		t.Errorf("%q", votesIn(votes))
	}
}
