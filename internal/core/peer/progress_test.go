package peer_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core/peer"
)

const day = 24 * 60 * 60_000

func TestAnAgentThatDoesNotAnswerIsGivenUpInTime(t *testing.T) {
	const began, until = 1_000_000, 1_000_000 + 60*60_000
	for _, tt := range []struct {
		name string
		work peer.Work
		now  int64
		lost bool
	}{
		{"it answers, and takes its time", peer.Work{Until: until}, until, false},
		{"it is silent, and there is time", peer.Work{Until: until, Silent: began}, until - 60_000, false},
		{"it is silent, and the call is about to stop waiting", peer.Work{Until: until, Silent: until - 30_000}, until - 10_000, true},
		{"it is silent, and the call waits for ever", peer.Work{Silent: began}, began + day - 1, false},
		{"it has been silent for a day", peer.Work{Silent: began}, began + day, true},
	} {
		if lost := tt.work.Lost(tt.now, day); lost != tt.lost {
			t.Errorf("%s: lost %v", tt.name, lost)
		}
	}
}

func TestTheLastLookIsBeforeTheCallStopsWaiting(t *testing.T) {
	const now, until = 1_000_000, 1_000_000 + 120_000
	silent := peer.Work{Until: until, Silent: now}
	next := silent.Next(now, 5*60_000)
	if next >= until || next <= now {
		t.Errorf("the next look is %d ms from now, and the call waits for %d more", next-now, until-now)
	}
	if !silent.Lost(next, day) {
		t.Error("at that look it is not given up")
	}
	if got := (peer.Work{Until: until}).Next(now, 5*60_000); got != now+5*60_000 {
		t.Errorf("an agent that answers is looked at after %d ms", got-now)
	}
}

func TestLooksBecomeRarer(t *testing.T) {
	w, pushing := peer.Work{}, peer.Work{Task: peer.Task{Pushes: true}}
	last := int64(0)
	for looks := range 30 {
		w.Looks, pushing.Looks = looks, looks
		if w.Pause() < last || w.Pause() > 5*60_000 || pushing.Pause() < w.Pause() || pushing.Pause() > 60*60_000 {
			t.Fatalf("after %d looks: %d and %d ms, %d before", looks, w.Pause(), pushing.Pause(), last)
		}
		last = w.Pause()
	}
	pushing.Silent = 1
	if pushing.Pause() != w.Pause() {
		t.Error("one that is silent says nothing of news either")
	}
}

func TestWhatIsOwedToAnAgent(t *testing.T) {
	sent := peer.Work{Sent: 3}
	for _, tt := range []struct {
		name string
		work peer.Work
		owed bool
	}{
		{"nothing was sent", peer.Work{}, false},
		{"it may have been sent", sent, true},
		{"no answer came", sent.Unheard(5), true},
		{"it works", sent.Heard(peer.Report{Task: peer.Task{ID: "t"}}), true},
		{"it is done", sent.Heard(peer.Report{State: peer.Done}), false},
		{"it failed", sent.Heard(peer.Report{State: peer.Failed}), false},
		{"it waits for input", sent.Heard(peer.Report{State: peer.Failed, Open: true}), true},
		{"it may have begun", sent.Heard(peer.Report{State: peer.Unclear}), true},
	} {
		if tt.work.Owed() != tt.owed {
			t.Errorf("%s: owed %v", tt.name, tt.work.Owed())
		}
	}
	if w := sent.Unheard(5).Unheard(9); w.Silent != 5 || w.Looks != 2 {
		t.Errorf("%+v", w)
	}
	if w := sent.Heard(peer.Report{Task: peer.Task{ID: "t"}}).Heard(peer.Report{}); w.ID != "t" {
		t.Errorf("the task is forgotten: %+v", w)
	}
}
