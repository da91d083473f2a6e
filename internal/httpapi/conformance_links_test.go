package httpapi_test

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// linkTo is the link that answers a suspension.
func linkTo(run, suspension string) string {
	return "/v1/approvals/" + access.LinkKeys{linkKey}.Sign(access.Link{Tenant: access.Tenant, Run: run, Suspension: suspension,
		Expires: frontendtest.NewClock().Now().Add(time.Hour)})
}

func TestALinkToWhatDoesNotWaitAnyMore(t *testing.T) {
	s := newServer(t, settings{options: withLinks})
	approval := func(id string) frontendtest.Call {
		return frontendtest.Call{ID: id, Tool: "refund", Kind: core.KindApproval}
	}
	yes := func(run, sus string, status int, code string) {
		t.Helper()
		s.posts(posted{linkTo(run, sus), `{"action":"resume"}`, "", status, code})
	}
	late, over, again, left := s.start(), s.start(), s.start(), s.start()
	due := approval("c1")
	due.Deadline = 1
	sus := s.worker.Suspend(late.ID, due)["c1"]
	s.worker.TimeOut(late.ID, "c1")
	yes(late.ID, sus, 409, "late_decision")

	sus = s.worker.Suspend(over.ID, approval("c1"))["c1"]
	s.posts(posted{"/v1/runs/" + over.ID + "/cancel", "", "", 202, ""})
	s.worker.End(over.ID, core.Reason{Kind: core.Cancelled}, "")
	yes(over.ID, sus, 409, "run_done")

	both := s.worker.Suspend(again.ID, approval("c1"), approval("c2"))
	yes(again.ID, both["c2"], 202, "")
	s.worker.Resuspend(again.ID, approval("c1"))
	yes(again.ID, both["c1"], 409, "stale_suspension")

	sus = s.worker.Suspend(left.ID, approval("c1"))["c1"]
	s.posts(posted{"/v1/threads/" + left.ThreadID + "/messages", `{"input":"never mind","on_pending":"abandon"}`, "", 202, ""})
	s.worker.Drain(left.ID)
	yes(left.ID, sus, 409, "not_suspended")
}

func TestASecondClickOnALinkIsAPageToo(t *testing.T) {
	s := newServer(t, settings{options: withLinks})
	run := s.start()
	link := linkTo(run.ID, s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"])
	for _, want := range []int{202, 200} {
		got := s.send("POST", link, "action=resume", header("Accept", "text/html"), header("Content-Type", "application/x-www-form-urlencoded"))
		if got.StatusCode != want {
			t.Errorf("got %d %s, want %d", got.StatusCode, got.text, want)
		}
	}
}
