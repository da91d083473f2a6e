package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

func at(t *testing.T, text string) int64 {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when.UnixMilli()
}

const hour = int64(time.Hour / time.Millisecond)

func TestTimesPassOnlyWhilePeopleWork(t *testing.T) {
	berlin := &vote.Hours{Zone: "Europe/Berlin", Days: []int{1, 2, 3, 4, 5}, From: 9 * 60, To: 17 * 60}
	for name, c := range map[string]struct {
		hours     *vote.Hours
		now       string
		within    int64
		wantAfter string
	}{
		"all hours":                        {nil, "2026-11-27T16:00:00+01:00", 2 * hour, "2026-11-27T18:00:00+01:00"},
		"within the day":                   {berlin, "2026-11-27T14:00:00+01:00", 2 * hour, "2026-11-27T16:00:00+01:00"},
		"until the end of the day":         {berlin, "2026-11-27T15:00:00+01:00", 2 * hour, "2026-11-27T17:00:00+01:00"},
		"over the weekend":                 {berlin, "2026-11-27T16:00:00+01:00", 2 * hour, "2026-11-30T10:00:00+01:00"},
		"asked on Sunday":                  {berlin, "2026-11-29T12:00:00+01:00", 1 * hour, "2026-11-30T10:00:00+01:00"},
		"asked before work":                {berlin, "2026-11-27T06:00:00+01:00", 1 * hour, "2026-11-27T10:00:00+01:00"},
		"asked after work":                 {berlin, "2026-11-26T18:00:00+01:00", 1 * hour, "2026-11-27T10:00:00+01:00"},
		"two weeks":                        {berlin, "2026-11-27T09:00:00+01:00", 80 * hour, "2026-12-10T17:00:00+01:00"},
		"clocks are set back":              {&vote.Hours{Zone: "Europe/Berlin", Days: []int{0}, From: 0, To: 24 * 60}, "2026-10-24T12:00:00+02:00", 4 * hour, "2026-10-25T03:00:00+01:00"},
		"in the zone, not in the caller's": {berlin, "2026-11-27T08:30:00Z", 8 * hour, "2026-11-30T09:30:00+01:00"},
		"no time at all":                   {berlin, "2026-11-27T18:00:00+01:00", 0, "2026-11-30T09:00:00+01:00"},
	} {
		clock, err := clockOf(c.hours)
		if err != nil {
			t.Fatal(err)
		}
		if got := clock.after(at(t, c.now), c.within); got != at(t, c.wantAfter) {
			t.Errorf("%s: %s, want %s", name, time.UnixMilli(got).UTC(), c.wantAfter)
		}
	}
}

func TestWhatAPolicySaysOfTimes(t *testing.T) {
	p := &vote.Policy{Deadline: &vote.Limit{Within: 48 * hour}, Stages: []vote.Stage{
		{Remind: &vote.Reminders{After: hour, Every: 2 * hour, Most: 3}, Escalate: &vote.Escalation{After: 4 * hour}},
		{Remind: &vote.Reminders{After: hour}},
	}}
	want := core.Times{Deadline: 48*hour + 7, Moments: core.Moments{{At: hour + 7, What: "remind"}, {At: 3*hour + 7, What: "remind"}, {At: 5*hour + 7, What: "remind"}, {At: 4*hour + 7, What: "escalate"}}}
	if diff := cmp.Diff(want, (&Rules{}).Times(p, 0, 7)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (&Rules{}).Times(p, 1, 7).Moments; len(got) != 1 || got[0].At != hour+7 {
		t.Errorf("the second stage: %+v", got)
	}
	p.Hours = &vote.Hours{Zone: "Nowhere/Here", Days: []int{1}, To: 60}
	if got := (&Rules{}).Times(p, 0, 7); got.Deadline != 0 || len(got.Moments) != 4 {
		t.Errorf("without its hours: %+v", got)
	}
}

func TestHoursInWhichNoOneWorksAreRefused(t *testing.T) {
	for _, h := range []vote.Hours{
		{Zone: "", Days: []int{1}, From: 0, To: 60}, {Zone: "Local", Days: []int{1}, From: 0, To: 60}, {Zone: "Mars/Base", Days: []int{1}, From: 0, To: 60},
		{Zone: "UTC", From: 0, To: 60}, {Zone: "UTC", Days: []int{7}, From: 0, To: 60}, {Zone: "UTC", Days: []int{1}, From: 60, To: 60},
		{Zone: "UTC", Days: []int{1}, From: 600, To: 300}, {Zone: "UTC", Days: []int{1}, From: 0, To: 24*60 + 1},
	} {
		if err := CheckHours(h); err == nil {
			t.Errorf("%+v is accepted", h)
		}
	}
}
